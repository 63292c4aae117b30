import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../domain/clock.ts'

interface Options {
  /** How long an answer is good enough. Milliseconds. */
  maxAge: number
  /** How long an answer is waited for. Milliseconds. */
  patience: number
  /** Milliseconds of a clock that nobody sets. */
  monotonic: Clock
}

/**
 * Returns a function that resolves soon to a figure, whatever becomes of the question for it: all share one question, and
 * there is no other one before it is answered. `isFresh`: whether the last question was answered, and in time.
 */
export function shareFigure<Figure>(ask: () => Promise<Figure>, { maxAge, patience, monotonic }: Options) {
  let known: Figure | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  let isFresh = false
  let asking: Promise<void> | undefined

  async function question(): Promise<void> {
    isFresh = false
    try {
      known = await ask()
      isFresh = true
    } catch {
      // It is asked for again, and until then it is what it was.
    }
    asking = undefined
  }

  return async (): Promise<{ figure: Figure | undefined; isFresh: boolean }> => {
    if (!asking && monotonic() - askedAt >= maxAge) {
      askedAt = monotonic()
      asking = question()
    }
    if (asking) await Promise.race([asking, sleep(patience)])
    return { figure: known, isFresh }
  }
}
