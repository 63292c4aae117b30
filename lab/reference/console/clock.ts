import { setTimeout as sleep } from 'node:timers/promises'

/** A replaced setInterval. Times in milliseconds. */
interface Interval {
  callback: () => void
  every: number
  dueAt: number
}

const SECOND_MS = 1000

/** Replaces the clocks and intervals of this process by ones that start at `start` and can be advanced at will. */
export function controlClocks(start: number) {
  const intervals = new Set<Interval>()
  const [realNow, realMonotonic] = [Date.now, performance.now.bind(performance)]
  let ahead = start - realNow()
  let heldSince: number | undefined
  const held = () => (heldSince === undefined ? 0 : realMonotonic() - heldSince)
  Date.now = () => Math.floor(realNow() + ahead - held())
  performance.now = () => realMonotonic() + ahead - held()
  globalThis.setInterval = ((callback: () => void, every: number) => {
    const interval = { callback, every, dueAt: Date.now() + every }
    intervals.add(interval)
    return { unref() {} }
  }) as unknown as typeof setInterval

  /** Advances time without running the intervals in between. */
  function skip(ms: number): void {
    ahead += ms
    for (const interval of intervals) interval.dueAt += ms
  }

  /** Waits in real time while these clocks stand still, for timers that do not use them. */
  async function hold(ms: number): Promise<void> {
    heldSince = realMonotonic()
    await sleep(ms)
    ahead -= held()
    heldSince = undefined
  }

  /** Advances time by a second and runs the intervals that fall due. */
  function tick(): void {
    const end = Date.now() + SECOND_MS
    for (let next = first(); next && next.dueAt <= end; next = first()) {
      ahead += Math.max(0, next.dueAt - Date.now())
      next.dueAt += next.every
      next.callback()
    }
    ahead += Math.max(0, end - Date.now())
  }

  const first = () => [...intervals].sort((one, other) => one.dueAt - other.dueAt)[0]

  return { skip, hold, tick }
}
