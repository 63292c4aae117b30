import type { Sample } from '../telemetry/metrics/fleet.ts'
import type { Numbers } from '../telemetry/metrics/numbers.ts'
import { tellLeader } from './messages.ts'

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

/** What a process that answers requests has to do at the moment. */
export type Load = Pick<Sample, 'requestsInFlight' | 'connections' | 'scryptRunning' | 'scryptWaiting'>

const INTERVAL_MS = 1000

/** How often it is seen whether the event loop is late. Milliseconds. */
const LOOK_MS = 20

/** Tells once a second how this process is doing, until it is stopped: then the last sample is returned. */
export function startSampling(load: () => Load, tell: (sample: Sample) => void): { stop: () => Sample } {
  let cpu = { user: 0, system: 0 }
  // Not Node.js's own histogram of delays, which does not see one that begins right after it was reset.
  let expected = performance.now() + LOOK_MS
  let late = 0
  function look(): void {
    const now = performance.now()
    late = Math.max(late, now - expected)
    expected = now + LOOK_MS
  }

  function sample(): Sample {
    const before = cpu
    cpu = process.cpuUsage()
    const cpuSeconds = (cpu.user - before.user + cpu.system - before.system) / 1e6
    const lagSeconds = late / 1000
    late = 0
    return { ...load(), cpuSeconds, residentBytes: process.memoryUsage.rss(), lagSeconds }
  }

  const looking = setInterval(look, LOOK_MS).unref()
  const telling = setInterval(() => tell(sample()), INTERVAL_MS).unref()
  return {
    stop(): Sample {
      clearInterval(looking)
      clearInterval(telling)
      return sample()
    },
  }
}
