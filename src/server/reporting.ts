import type { Numbers } from '../telemetry/metrics/numbers.ts'
import { tellLeader } from './messages.ts'
import { createSampler, type Load } from './sampler.ts'

const INTERVAL_MS = 1000

/**
 * Tells the leader once a second what this worker has counted and how it is doing, until it is stopped, and then once more.
 * Without numbers there is nothing to tell.
 */
export function startReporting(numbers: Numbers | undefined, load: () => Load): { stop: () => Promise<void> } {
  if (!numbers) return { stop: async () => {} }
  const { take } = numbers
  const sample = createSampler(load)
  const tell = (onSent?: () => void) =>
    tellLeader({ type: 'report', report: { counted: take(), sample: sample() } }, onSent)
  const timer = setInterval(tell, INTERVAL_MS).unref()
  return {
    /** Resolves when the leader can be told no more. */
    async stop(): Promise<void> {
      clearInterval(timer)
      await new Promise<void>((resolve) => tell(resolve))
    },
  }
}
