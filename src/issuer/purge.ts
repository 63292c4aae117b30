import type { Clock } from '../domain/clock.ts'
import type { Store } from '../domain/store.ts'
import { firstTokenIdAt, TOKEN_LIFETIME } from '../domain/token.ts'
import { hourOf } from '../domain/usage.ts'

/** How many expired tokens one step deletes: about a millisecond's work. */
const STEP = 500

/** Counts of tokens are kept for two days. */
const KEEP_COUNTS_HOURS = 48

/** Deletes some expired tokens and old counts. Resolves to whether there may be more. Throws StoreUnavailable. */
export async function purge({ store, now }: { store: Store; now: Clock }): Promise<boolean> {
  // Not before the epoch, from which a clock that was never set begins to count.
  const firstAlive = firstTokenIdAt(Math.max(now() - TOKEN_LIFETIME + 1, 0))
  const tokens = await store.purgeTokens(firstAlive, STEP)
  const counts = await store.purgeTokenCounts(hourOf(now()) - KEEP_COUNTS_HOURS, STEP)
  return tokens === STEP || counts === STEP
}
