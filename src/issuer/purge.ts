import type { Clock } from '../domain/clock.ts'
import type { Store } from '../domain/store.ts'
import { firstTokenIdAt, TOKEN_LIFETIME } from '../domain/token.ts'

/** How many expired tokens one step deletes: about a millisecond's work. */
const STEP = 500

/** Deletes some expired tokens. Resolves to whether there may be more. Throws StoreUnavailable. */
export async function purge({ store, now }: { store: Store; now: Clock }): Promise<boolean> {
  const firstAlive = firstTokenIdAt(now() - TOKEN_LIFETIME + 1)
  return (await store.purgeTokens(firstAlive, STEP)) === STEP
}
