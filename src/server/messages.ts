import cluster, { type Worker } from 'node:cluster'
import type { Report } from '../telemetry/metrics/fleet.ts'

/**
 * Asks workers every `interval` milliseconds whether they are alive, and calls `onSilent` once for each that has left so many
 * questions in a row unanswered. Questions are counted and not time: a leader that was stopped itself, or a machine that
 * slept, finds nobody silent.
 */
export function createHeartbeat(
  { interval, questions }: { interval: number; questions: number },
  onSilent: (worker: Worker) => void,
) {
  const unanswered = new Map<Worker, number>()

  const timer = setInterval(() => {
    for (const [worker, count] of unanswered) {
      if (count < questions) {
        unanswered.set(worker, count + 1)
        tellWorker(worker, { type: 'ping' })
      } else {
        unanswered.delete(worker)
        onSilent(worker)
      }
    }
  }, interval).unref()

  return {
    /** Asks this worker too, until it is gone. */
    watch(worker: Worker): void {
      unanswered.set(worker, 0)
      onWorkerMessage(worker, { pong: () => unanswered.has(worker) && unanswered.set(worker, 0) })
      worker.once('exit', () => unanswered.delete(worker))
    },

    /** Stops asking. */
    stop(): void {
      clearInterval(timer)
    },
  }
}

/** What a leader tells a worker: to close now, to say when no connection needs it any more, or that it is alive. */
export type ToWorker = { type: 'close' } | { type: 'retire' } | { type: 'ping' }

/** What a worker tells its leader: that it listens, that no connection needs it any more, that it is alive, what it counted. */
export type ToLeader =
  | { type: 'listening'; address: string }
  | { type: 'retired' }
  | { type: 'pong' }
  | { type: 'report'; report: Report }

/** Sends a worker a message, if it can still be reached. */
export function tellWorker(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message)
}

/** Sends this worker's leader a message, if it can still be reached. Calls back when it is on its way, or cannot be. */
export function tellLeader(message: ToLeader, onSent: () => void = () => {}): void {
  if (cluster.worker?.isConnected()) cluster.worker.send(message, onSent)
  else onSent()
}

/** What a message says to those who know its type; others, a library's say, are ignored. */
type Handlers<Message extends { type: string }> = {
  [Type in Message['type']]?: (message: Extract<Message, { type: Type }>) => void
}

/** Calls the handler for each message of a known type that a worker sends. */
export function onWorkerMessage(worker: Worker, handlers: Handlers<ToLeader>): void {
  worker.on('message', (message) => dispatch(message, handlers))
}

/** Calls the handler for each message of a known type that the leader sends. */
export function onLeaderMessage(handlers: Handlers<ToWorker>): void {
  process.on('message', (message) => dispatch(message, handlers))
}

function dispatch(message: unknown, handlers: Record<string, ((message: never) => void) | undefined>): void {
  const type = (message as { type?: unknown } | null)?.type
  if (typeof type === 'string' && Object.hasOwn(handlers, type)) handlers[type]?.(message as never)
}
