import type { Clock } from '../domain/clock.ts'

interface Options {
  /** How long an answer is good enough, from when it came. Milliseconds. */
  maxAge: number
  /** How long an answer is waited for. Milliseconds. */
  patience: number
  /** Milliseconds of a clock that nobody sets. */
  monotonic: Clock
}

/**
 * Returns a function that resolves soon to a figure, whatever becomes of the question for it: all share one question, and
 * there is no other one before it is answered, or has failed. `isFresh`: whether the last question was answered, and in time.
 */
export function shareFigure<Figure>(ask: () => Promise<Figure>, { maxAge, patience, monotonic }: Options) {
  let known: Figure | undefined
  let answeredAt = Number.NEGATIVE_INFINITY
  let isFresh = false
  let asking: Promise<void> | undefined

  async function question(): Promise<void> {
    isFresh = false
    try {
      known = await ask()
      answeredAt = monotonic()
      isFresh = true
    } catch {
      // Whoever needs it next asks again, and until then it is what it was.
    }
    asking = undefined
  }

  async function waitFor(answer: Promise<void>): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, patience)
    await Promise.race([answer, late])
    clearTimeout(timer)
  }

  return async (): Promise<{ figure: Figure | undefined; isFresh: boolean }> => {
    if (!asking && monotonic() - answeredAt >= maxAge) asking = question()
    if (asking) await waitFor(asking)
    return { figure: known, isFresh }
  }
}
