import cluster, { type Worker } from 'node:cluster'
import type { Observer } from '../domain/events.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { passOnLostConnections } from './lost-connections.ts'
import { onWorkerMessage, tellWorker } from './messages.ts'
import { gatherOutput } from './worker-output.ts'

/** How a worker ended, and what it said of that. */
export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
  err?: Error
}

interface StartOptions {
  /** How long it may take, in milliseconds; then it is killed. */
  timeout: number
  isAnotherListening: () => boolean
  /** Called when it exits after it listened. */
  onExit: (worker: Worker, exit: Exit) => void
}

/** Starts a worker. Resolves when it listens; throws OperatorError where it does not, with the reason that it gave. */
export function startWorker(
  observe: Observer,
  { timeout, isAnotherListening, onExit }: StartOptions,
): Promise<{ worker: Worker; address: string }> {
  // Its standard error is read here, for that is text for people. Its log is its own.
  cluster.setupPrimary({ stdio: ['ignore', 'inherit', 'pipe', 'ipc'] })
  const worker = cluster.fork()
  const { process: child } = worker
  let isReady = false
  const output = gatherOutput(child.stderr, {
    say: (text) => observe({ type: 'worker printed', worker: child.pid, text }),
    isReady: () => isReady,
  })
  passOnLostConnections(worker, isAnotherListening)

  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      reject(failure(`it was not ready after ${timeout / 1000} seconds. ${output.take()}`))
      child.kill('SIGKILL')
    }, timeout)

    onWorkerMessage(worker, {
      listening: ({ address }) => {
        isReady = true
        clearTimeout(late)
        resolve({ worker, address })
      },
      retired: () => tellWorker(worker, { type: 'close' }),
    })
    // It could not be started, or was told something when it was gone already.
    worker.on('error', reject)
    // Not 'exit', which may come before the last of its output.
    child.once('close', (code, signal) => {
      clearTimeout(late)
      const text = output.take()
      reject(failure(text || `it ended with ${signal ?? `status ${code}`}.`))
      if (isReady) onExit(worker, { code, signal, ...(text && { err: withoutStack(new Error(text)) }) })
    })
  })
}

function failure(reason: string): OperatorError {
  return withoutStack(new OperatorError(`A worker did not start: ${reason.trim()}`))
}

/** What happened is in another process. The stack says only where the leader heard of it. */
function withoutStack<E extends Error>(error: E): E {
  error.stack = ''
  return error
}
