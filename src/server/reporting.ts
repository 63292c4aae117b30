import type { Counters } from '../telemetry/metrics/counters.ts'
import type { Report, Sample } from '../telemetry/metrics/fleet.ts'

/** The work of a process that answers requests. */
export type Load = Pick<Sample, 'requestsInFlight' | 'connections' | 'scryptRunning' | 'scryptWaiting'>

const INTERVAL_MS = 1000

const LAG_INTERVAL_MS = 20

/** Reports once a second what this process has counted, and its state, until it is stopped. `send` calls `onSent` when done. */
export function startReporting(
  counters: Pick<Counters, 'take'>,
  load: () => Load,
  send: (report: Report, onSent?: () => void) => void,
) {
  let cpu = { user: 0, system: 0 }
  // Not Node.js's own histogram of delays, which misses a delay that begins right after a reset.
  let expected = performance.now() + LAG_INTERVAL_MS
  let lag = 0
  let residentBytes = 0

  function measureLag(): void {
    const now = performance.now()
    lag = Math.max(lag, now - expected)
    expected = now + LAG_INTERVAL_MS
  }

  function report(onSent?: () => void): void {
    const before = cpu
    cpu = process.cpuUsage()
    const cpuSeconds = (cpu.user - before.user + cpu.system - before.system) / 1e6
    try {
      residentBytes = process.memoryUsage.rss()
    } catch {
      // This fails without /proc or a free file descriptor; the last figure remains.
    }
    const sample = { ...load(), cpuSeconds, residentBytes, lagSeconds: lag / 1000 }
    lag = 0
    send({ counted: counters.take(), sample }, onSent)
  }

  const timers = [setInterval(measureLag, LAG_INTERVAL_MS), setInterval(() => report(), INTERVAL_MS)]
  for (const timer of timers) timer.unref()
  return {
    /** Resolves when a last report is sent. */
    stop(): Promise<void> {
      for (const timer of timers) clearInterval(timer)
      return new Promise((resolve) => report(resolve))
    },
  }
}
