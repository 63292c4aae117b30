import type { Worker } from 'node:cluster'
import { onWorkerMessage, tellWorker } from './messages.ts'

/**
 * Asks workers every `interval` milliseconds whether they are alive, and calls `onSilent` once for each that has left
 * `limit` questions in a row unanswered. Questions are counted and not time: a leader that was stopped itself, or a machine
 * that slept, finds nobody silent.
 */
export function createHeartbeat({
  interval,
  limit,
  onSilent,
}: {
  interval: number
  limit: number
  onSilent: (worker: Worker) => void
}) {
  const unanswered = new Map<Worker, number>()

  const timer = setInterval(() => {
    for (const [worker, count] of unanswered) {
      if (count < limit) {
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

    /** Asks nobody any more. */
    stop(): void {
      clearInterval(timer)
    },
  }
}
