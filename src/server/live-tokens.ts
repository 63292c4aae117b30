import type { LiveTokens } from '../domain/statistics.ts'
import type { Figures } from '../domain/store.ts'
import { firstTokenIdAt, TOKEN_LIFETIME } from '../domain/token.ts'
import { HOUR, hourOf } from '../domain/usage.ts'

/** Up to this number, tokens are counted exactly: about 50 ms of work, in steps of less than a millisecond. */
const MAX_COUNTED = 100_000

/**
 * Counts the tokens that a check would find active. Above MAX_COUNTED it estimates them from the hourly counts of issued
 * tokens. Throws StoreUnavailable.
 */
export async function countLiveTokens(
  store: Pick<Figures, 'countLiveTokens' | 'countIssued'>,
  now: number,
): Promise<LiveTokens> {
  const count = await store.countLiveTokens(firstTokenIdAt(now - TOKEN_LIFETIME + 1), MAX_COUNTED)
  if (count !== undefined) return { count, isExact: true }
  const hour = hourOf(now)
  const [previous, current] = [await store.countIssued(hour - 1), await store.countIssued(hour)]
  const elapsed = now / HOUR - hour
  return { count: Math.max(MAX_COUNTED, Math.round(previous * (1 - elapsed) + current)), isExact: false }
}
