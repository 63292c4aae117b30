import type { Database } from 'better-sqlite3'
import type { Application, ApplicationKey } from '../../domain/application.ts'
import type { Suite } from '../../domain/suite.ts'
import { createBatch } from '../batch.ts'
import { cacheLookup } from '../cache.ts'
import type { RetryLocked } from './retry-locked.ts'
import * as sql from './statements/tokens.ts'

/** What a cache contains: tokens, or the registry (applications, suites, secrets, approvals). */
type Subject = 'registry' | 'tokens'

type Counts = Record<'registry' | 'revocations', number>

export type ChangeDetector = ReturnType<typeof createChangeDetector>

/**
 * Caches look-ups until their results change (docs/adr/0009). The caches are current as of the last `refresh`, so read
 * them through a `Reader`, which refreshes first. This connection's own changes are not detected: call `invalidate`.
 */
export function createChangeDetector(db: Database, { assertUsable }: { assertUsable: () => void }) {
  const dataVersion = db.prepare('PRAGMA data_version').pluck()
  const selectCounts = db.prepare('SELECT registry, revocations FROM changes')
  const caches: Record<Subject, { clear: () => void }[]> = { registry: [], tokens: [] }
  let version = dataVersion.get()
  let counts = selectCounts.get() as Counts

  /**
   * Clears the caches of what other connections have changed. Reads the table `changes` only if another connection has
   * committed since the last call. Throws the error of `assertUsable`, or an SqliteError.
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

  /** Caches a look-up. Caches misses, too, except for tokens: a missing one may be issued at any moment. */
  function cached<Key, Value>(subject: Subject, lookUp: (key: Key) => Value | undefined) {
    const lookup = cacheLookup(lookUp, subject === 'tokens' ? { missCapacity: 0 } : {})
    caches[subject].push(lookup)
    return lookup
  }

  function invalidate(subject: Subject): void {
    for (const cache of caches[subject]) cache.clear()
  }

  return { refresh, cached, invalidate }
}

/** Turns a cached look-up into a method of the store. It rejects with StoreUnavailable. */
export type Reader = <Key, Result>(read: (key: Key) => Result) => (key: Key) => Promise<Result>

/**
 * Runs the cached reads of one turn of the event loop together at its end, after one refresh. Each of them, and its
 * request, began before that refresh (docs/adr/0009).
 */
export function createReader(changes: ChangeDetector, retryLocked: RetryLocked): Reader {
  const { add } = createBatch<{ read: (key: never) => unknown; key: unknown }, unknown>(
    (take) =>
      retryLocked(() => {
        changes.refresh()
        return take().map(({ read, key }) => read(key as never))
      }),
    { maxTurns: 1 },
  )

  return (read) => (key) => add({ read, key }) as Promise<never>
}

export function createCachedRegistry(db: Database, changes: ChangeDetector, reader: Reader) {
  const find = <Row>(statement: string) => {
    const select = db.prepare<[string], string>(statement).pluck()
    return changes.cached('registry', (id: string): Row | undefined => {
      const json = select.get(id)
      return json === undefined ? undefined : JSON.parse(json)
    })
  }
  const findApplication = find<Application>(sql.findApplication)
  const findClientId = db.prepare<[ApplicationKey], string>(sql.findClientId).pluck()
  const selectImportedSecrets = db.prepare<[], number>(sql.mostImportedSecrets).pluck()
  const mostImportedSecrets = reader(changes.cached('registry', (_: undefined) => selectImportedSecrets.get()))
  const selectUrls = db.prepare<[], [string, string]>(sql.suiteUrls).raw()
  const suiteUrls = reader(changes.cached('registry', (_: undefined) => new Map(selectUrls.all())))

  return {
    registry: {
      findApplication: reader(findApplication),
      recallApplication: () => undefined,
      findSuite: reader(find<Suite>(sql.findSuite)),
      mostImportedSecrets: () => mostImportedSecrets(undefined) as Promise<number>,
      suiteUrls: () => suiteUrls(undefined) as Promise<Map<string, string>>,
    },
    /** Finds an application by the key in its tokens; throws an SqliteError. */
    applicationOf: changes.cached('registry', (key: ApplicationKey) => {
      const clientId = findClientId.get(key)
      return clientId === undefined ? undefined : findApplication(clientId)
    }),
  }
}
