import cluster, { type Worker } from 'node:cluster'
import type { Readable } from 'node:stream'
import type { Observer } from '../domain/events.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { onWorkerMessage, tellWorker } from './messages.ts'

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

interface Handle {
  close(): void
}

/**
 * Mends what Node.js leaves open: it hands a connection to a worker and keeps its own handle until the worker says that it
 * has got it. Where a worker ends before that, the handle stays in the leader, open and unanswered for ever. Here such a
 * connection goes to another worker, as one does that a worker gives back; nobody has read from it. Where there is no other
 * worker, it is closed.
 *
 * This knows the messages of Node.js's cluster module (lib/internal/cluster). Where they change, nothing is found here, and
 * such connections stay open as before.
 */
function passOnLostConnections(worker: Worker, isAnotherListening: () => boolean): void {
  const { process: child } = worker
  const handed = new Map<number, Handle>()

  const send = child.send as (...args: unknown[]) => boolean
  child.send = (...args: unknown[]) => {
    const [message, handle] = args as [{ act?: unknown; seq?: unknown }, Handle | undefined]
    if (message.act === 'newconn' && typeof message.seq === 'number' && handle) handed.set(message.seq, handle)
    return send.apply(child, args)
  }
  child.on('internalMessage', ({ ack }: { ack?: number }) => {
    if (ack !== undefined) handed.delete(ack)
  })

  // By then all that it had said is read. Not 'disconnect', which does not come while a connection is on its way.
  child.once('close', () => {
    // Otherwise it may get connections still.
    worker.disconnect()
    for (const [seq, handle] of handed) {
      if (isAnotherListening()) child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack: seq, accepted: false })
      else handle.close()
    }
  })
}

/** How much of it is kept, in characters: the beginning, where the reason is. */
const LIMIT = 2000

/** How long a worker that has written something may take to end of it. */
const QUIET_MS = 1000

/**
 * Gathers what a worker writes to standard error, where it tells people why it did not start, Node.js why it died, and
 * libraries what they please. It is text, so it is said within a line of the log: that of the worker's end, or a line of its
 * own (`say`) if the worker goes on after it and `isReady`.
 */
function gatherOutput(
  stream: Readable | null | undefined,
  { say, isReady }: { say: (text: string) => void; isReady: () => boolean },
) {
  let text = ''
  let timer: NodeJS.Timeout | undefined

  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(0, LIMIT)
    if (isReady()) timer ??= setTimeout(() => say(take()), QUIET_MS).unref()
  })

  /** What was written and not said yet. */
  function take(): string {
    clearTimeout(timer)
    timer = undefined
    const taken = text.trim()
    text = ''
    return taken
  }

  return { take }
}
