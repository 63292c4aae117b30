import cluster, { type Worker } from 'node:cluster'
import type { Observer } from '../domain/events.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { CATALOGUE_ID, CATALOGUE_OF_LEADER, onMessage, sendToWorker, type ToLeader } from './messages.ts'

/** How much of a worker's standard error is kept: the beginning, which has the reason. Characters. */
const MAX_OUTPUT = 2000

/** How long after its first output a listening worker's standard error is logged. Milliseconds. */
const OUTPUT_DELAY_MS = 1000

/** How a worker ended. `err`: its last output. */
export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
  err?: Error
}

interface StartOptions {
  /** Milliseconds until a worker that does not listen is killed. */
  timeout: number
  isAnotherListening: () => boolean
  /** Called when a worker that has listened exits. */
  onExit: (worker: Worker, exit: Exit) => void
}

/**
 * Starts a worker. Resolves when it listens; throws OperatorError with its standard error if it does not. What the
 * worker writes later is logged in a line of its own, or with its exit.
 */
export function startWorker(
  observe: Observer,
  { timeout, isAnotherListening, onExit }: StartOptions,
): Promise<{ worker: Worker; address: string }> {
  // Only standard error is read here, which is text. A worker writes its log itself.
  cluster.setupPrimary({ stdio: ['ignore', 'inherit', 'pipe', 'ipc'] })
  const worker = cluster.fork({ [CATALOGUE_OF_LEADER]: CATALOGUE_ID })
  const { process: child } = worker
  let isListening = false
  let output = ''
  let outputTimer: NodeJS.Timeout | undefined
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    output = (output + chunk).slice(0, MAX_OUTPUT)
    const log = () => observe({ type: 'worker printed', worker: child.pid, text: takeOutput() })
    if (isListening) outputTimer ??= setTimeout(log, OUTPUT_DELAY_MS).unref()
  })
  passOnLostConnections(worker, isAnotherListening)

  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      reject(failure(`it was not ready after ${timeout / 1000} seconds. ${takeOutput()}`))
      child.kill('SIGKILL')
    }, timeout)

    onMessage<ToLeader>(worker, {
      listening: ({ address }) => {
        isListening = true
        clearTimeout(late)
        resolve({ worker, address })
      },
      retired: () => sendToWorker(worker, { type: 'close' }),
    })
    // It could not be started, or a message could not be sent because it had exited.
    worker.on('error', reject)
    // Not 'exit', which may come before the end of its output.
    child.once('close', (code, signal) => {
      clearTimeout(late)
      const text = takeOutput()
      reject(failure(text || `it ended with ${signal ?? `status ${code}`}.`))
      if (isListening) onExit(worker, { code, signal, ...(text && { err: withoutStack(new Error(text)) }) })
    })
  })

  function takeOutput(): string {
    clearTimeout(outputTimer)
    outputTimer = undefined
    const text = output.trim()
    output = ''
    return text
  }
}

function failure(reason: string): OperatorError {
  return withoutStack(new OperatorError(`A worker did not start: ${reason.trim()}`))
}

/** The error happened in another process, so the stack of the leader is no help. */
function withoutStack<E extends Error>(error: E): E {
  error.stack = ''
  return error
}

interface Handle {
  close(): void
}

/**
 * Works around a leak in Node.js: the leader hands a connection to a worker, and keeps its own handle until the worker
 * acknowledges it. If the worker exits before that, the connection stays open in the leader, and is never answered. Here such a
 * connection goes to another worker, like one that a worker gives back; nothing was read from it. If there is no other worker,
 * it is closed.
 *
 * This depends on the messages of Node.js's cluster module (lib/internal/cluster). If they change, nothing is found here, and
 * such connections stay open.
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

  // By then all its messages are read. Not 'disconnect', which does not come while a connection is on its way.
  child.once('close', () => {
    // Otherwise it might still get connections.
    worker.disconnect()
    for (const [seq, handle] of handed) {
      if (isAnotherListening()) child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack: seq, accepted: false })
      else handle.close()
    }
  })
}
