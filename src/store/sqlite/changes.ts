import type { Database } from 'better-sqlite3'
import { type CachedLookup, type CacheOptions, cacheLookup } from '../cache.ts'
import * as sql from './statements.ts'

/** What is cached: of the registry (applications, suites, secrets, approvals), or tokens. */
export type Subject = 'registry' | 'tokens'

/** The row of the table `changes`. */
interface Counts {
  registry: number
  revocations: number
}

export type ChangeDetector = ReturnType<typeof createChangeDetector>

/**
 * Caches look-ups for as long as nobody changes what they found (docs/adr/0009). Once in every turn of the event loop,
 * before anything is read from a cache, `assertUsable` is called and SQLite is asked whether another connection has
 * committed; if so, the table `changes` tells what has to be looked up again. So the caches must be read by a `Reader`, at
 * the end of a turn. This connection's own changes do not show there: `invalidate` what they touch.
 */
export function createChangeDetector(db: Database, { assertUsable }: { assertUsable: () => void }) {
  const dataVersion = db.prepare('PRAGMA data_version').pluck()
  const selectCounts = db.prepare(sql.countChanges)
  const caches: Record<Subject, { clear: () => void }[]> = { registry: [], tokens: [] }
  let version = dataVersion.get()
  let counts = selectCounts.get() as Counts
  let isCurrent = false

  /** Throws what `assertUsable` throws, or an SqliteError where the database cannot be read. */
  function assertCurrent(): void {
    if (isCurrent) return
    assertUsable()
    const versionNow = dataVersion.get()
    if (versionNow !== version) {
      const countsNow = selectCounts.get() as Counts
      if (countsNow.registry !== counts.registry) invalidate('registry')
      if (countsNow.revocations !== counts.revocations) invalidate('tokens')
      counts = countsNow
      version = versionNow
    }
    isCurrent = true
    setImmediate(() => {
      isCurrent = false
    })
  }

  /** A look-up that is cached. Misses too, but for tokens: one that is not there may be issued at any moment. */
  function cached<Key, Value>(
    subject: Subject,
    lookUp: (key: Key) => Value | undefined,
    { capacity }: Pick<CacheOptions, 'capacity'> = {},
  ): (key: Key) => Value | undefined {
    const options = { ...(capacity && { capacity }), ...(subject === 'tokens' && { missCapacity: 0 }) }
    const lookup: CachedLookup<Key, Value> = cacheLookup(lookUp, options)
    caches[subject].push(lookup)
    return (key) => {
      assertCurrent()
      return lookup(key)
    }
  }

  /** One value that is cached. */
  function cachedValue<Value>(subject: Subject, read: () => Value): () => Value {
    let cache: { value: Value } | undefined
    caches[subject].push({
      clear() {
        cache = undefined
      },
    })
    return () => {
      assertCurrent()
      cache ??= { value: read() }
      return cache.value
    }
  }

  function invalidate(subject: Subject): void {
    for (const cache of caches[subject]) cache.clear()
  }

  return { cached, cachedValue, invalidate }
}
