import type { Database } from 'better-sqlite3'
import type { Application, ApplicationKey } from '../../domain/application.ts'
import type { Registry } from '../../domain/store.ts'
import type { Suite } from '../../domain/suite.ts'
import { createBatch } from '../batch.ts'
import { type CachedLookup, type CacheOptions, cacheLookup } from '../cache.ts'
import type { RetryLocked } from './retry-locked.ts'
import * as sql from './statements/database.ts'
import * as hot from './statements/tokens.ts'

/** What is cached: of the registry (applications, suites, secrets, approvals), or tokens. */
export type Subject = 'registry' | 'tokens'

/** The row of the table `changes`. */
interface Counts {
  registry: number
  revocations: number
}

export type ChangeDetector = ReturnType<typeof createChangeDetector>

/**
 * Caches look-ups for as long as nobody changes what they found (docs/adr/0009). The caches are right as of the last
 * `refresh`: read them by a `Reader`, which begins with one. This connection's own changes are not noticed there:
 * `invalidate` what they touch.
 */
export function createChangeDetector(db: Database, { assertUsable }: { assertUsable: () => void }) {
  const dataVersion = db.prepare('PRAGMA data_version').pluck()
  const selectCounts = db.prepare(sql.countChanges)
  const caches: Record<Subject, { clear: () => void }[]> = { registry: [], tokens: [] }
  let version = dataVersion.get()
  let counts = selectCounts.get() as Counts

  /**
   * Asks SQLite whether another connection has committed since the last time and, if so, the table `changes` what has to
   * be looked up again. Throws what `assertUsable` throws, or an SqliteError where the database cannot be read.
   */
  function refresh(): void {
    assertUsable()
    const versionNow = dataVersion.get()
    if (versionNow === version) return
    const countsNow = selectCounts.get() as Counts
    if (countsNow.registry !== counts.registry) invalidate('registry')
    if (countsNow.revocations !== counts.revocations) invalidate('tokens')
    counts = countsNow
    version = versionNow
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
    return lookup
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
      cache ??= { value: read() }
      return cache.value
    }
  }

  function invalidate(subject: Subject): void {
    for (const cache of caches[subject]) cache.clear()
  }

  return { refresh, cached, cachedValue, invalidate }
}

/** Makes a read of what may be cached keep the promise of the port. Rejects with StoreUnavailable. */
export type Reader = <Key, Result>(read: (key: Key) => Result) => (key: Key) => Promise<Result>

interface Read {
  read: (key: never) => unknown
  key: unknown
}

/**
 * Cached reads of one turn of the event loop are made together at its end, after one look at what other processes have
 * changed. Each of them, and so the request that it is for, began before that look (docs/adr/0009).
 */
export function createReader(changes: ChangeDetector, retryLocked: RetryLocked): Reader {
  const add = createBatch<Read, unknown>(
    (take) =>
      retryLocked(() => {
        changes.refresh()
        return take().map(({ read, key }) => read(key as never))
      }),
    { maxTurns: 1 },
  )

  function reader<Key, Result>(read: (key: Key) => Result): (key: Key) => Promise<Result> {
    return (key) => add({ read, key }) as Promise<Result>
  }
  return reader
}

/** What requests for tokens and checks need of the registry, from a cache. */
export function createCachedRegistry({
  db,
  changes,
  reader,
}: {
  db: Database
  changes: ChangeDetector
  reader: Reader
}) {
  const find = <Row>(statement: string) => {
    const select = db.prepare<[string], string>(statement).pluck()
    return changes.cached('registry', (id: string): Row | undefined => {
      const json = select.get(id)
      return json === undefined ? undefined : JSON.parse(json)
    })
  }
  const findApplication = find<Application>(hot.findApplication)
  const findSuite = find<Suite>(hot.findSuite)
  const findClientId = db.prepare<[ApplicationKey], string>(hot.findClientId).pluck()
  const applicationOf = changes.cached('registry', (key: ApplicationKey) => {
    const clientId = findClientId.get(key)
    return clientId === undefined ? undefined : findApplication(clientId)
  })
  const selectImportedSecrets = db.prepare<[], number>(hot.mostImportedSecrets).pluck()
  const mostImportedSecrets = changes.cachedValue('registry', () => selectImportedSecrets.get() as number)
  const readImportedSecrets = reader((_: undefined) => mostImportedSecrets())

  const registry: Pick<Registry, 'findApplication' | 'findSuite' | 'mostImportedSecrets'> = {
    findApplication: reader(findApplication),
    findSuite: reader(findSuite),
    mostImportedSecrets: () => readImportedSecrets(undefined),
  }
  /** `applicationOf` finds an application by the key that its tokens have; throws an SqliteError. */
  return { registry, applicationOf }
}
