import type { LiveTokens } from '../domain/statistics.ts'
import type { Figures } from '../domain/store.ts'
import { firstTokenIdAt, TOKEN_LIFETIME } from '../domain/token.ts'
import { HOUR, hourOf } from '../domain/usage.ts'

/** How many tokens are counted one by one: some 50 ms of work, in steps of less than a millisecond. */
const MAX_COUNTED = 100_000

/**
 * How many tokens a check would find active. Where there are very many it is about as many as were issued within the time that
 * a token lives, by the counts of the hours. Rejects with StoreUnavailable.
 */
export async function countLiveTokens(
  store: Pick<Figures, 'countLiveTokens' | 'countIssued'>,
  now: number,
): Promise<LiveTokens> {
  const count = await store.countLiveTokens(firstTokenIdAt(now - TOKEN_LIFETIME + 1), MAX_COUNTED)
  if (count !== undefined) return { count, isExact: true }
  const hour = hourOf(now)
  const [before, present] = [await store.countIssued(hour - 1), await store.countIssued(hour)]
  const past = now / HOUR - hour
  return { count: Math.max(MAX_COUNTED, Math.round(before * (1 - past) + present)), isExact: false }
}
