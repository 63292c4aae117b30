import type { ApplicationKey } from '../../src/domain/application.ts'
import type { Store } from '../../src/domain/store.ts'

/** When an application last got a token; undefined: never yet. */
export async function lastTokenAt(store: Store, key: ApplicationKey): Promise<number | undefined> {
  return (await store.listTokenCounts([key], 0))[0]?.lastTokenAt ?? undefined
}

/** How many tokens an application was issued in an hour. */
export async function countTokens(store: Store, key: ApplicationKey, hour: number): Promise<number> {
  return (await store.listTokenCounts([key], hour))[0]?.issued ?? 0
}
