import type { Sample } from '../telemetry/metrics/fleet.ts'
import type { Numbers } from '../telemetry/metrics/numbers.ts'
import { tellLeader } from './messages.ts'
import { type Load, startSampling } from './sampler.ts'

/**
 * Tells the leader once a second what this worker has counted and how it is doing, until it is stopped, and then once more.
 * Without numbers there is nothing to tell.
 */
export function startReporting(numbers: Numbers | undefined, load: () => Load): { stop: () => Promise<void> } {
  if (!numbers) return { stop: async () => {} }
  const { take } = numbers
  const tell = (sample: Sample, onSent?: () => void) =>
    tellLeader({ type: 'report', report: { counted: take(), sample } }, onSent)
  const sampling = startSampling(load, tell)
  return {
    /** Resolves when the leader can be told no more. */
    async stop(): Promise<void> {
      const last = sampling.stop()
      await new Promise<void>((resolve) => tell(last, resolve))
    },
  }
}
