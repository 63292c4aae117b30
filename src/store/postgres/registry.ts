import type { Application, ApplicationKey } from '../../domain/application.ts'
import type { Suite } from '../../domain/suite.ts'
import { detachText } from '../../domain/text.ts'
import { createCache, isLong, MISS_CAPACITY } from '../cache.ts'
import type { Ask } from '../shared/work.ts'
import { arrayOf } from './connection.ts'
import * as sql from './statements/tokens.ts'

/** The part of the registry that was read: null if it does not exist, undefined if it was not read. */
export interface RegistryView {
  application(clientId: string): Application | null | undefined
  applicationOf(key: ApplicationKey): Application | null | undefined
  suite(suiteId: string): Suite | null | undefined
}

/** What concerns the registry as a whole. */
export interface Summary {
  mostImportedSecrets: number
  suiteUrls: ReadonlyMap<string, string>
}

type RegistryCache = ReturnType<typeof createRegistryCache>

/** Creates the cache of one session. On another server, the same number may mean another version. */
export function createRegistryCache() {
  let state: { readonly version: number } | undefined
  const applications = createCache<string, Application>()
  const clientIds = createCache<ApplicationKey, string>()
  const suites = createCache<string, Suite>()
  const missing = {
    application: createCache<string, true>(MISS_CAPACITY),
    suite: createCache<string, true>(MISS_CAPACITY),
  }

  const cache = {
    summary: undefined as Summary | undefined,
    /** Undefined until something was read. */
    state: () => state,
    /** Forgets everything that belongs to another version. */
    moveTo(version: number): void {
      if (state?.version === version) return
      state = { version }
      cache.summary = undefined
      for (const part of [applications, clientIds, suites, missing.application, missing.suite]) part.clear()
    },
    application: (clientId: string) => applications.get(clientId) ?? (missing.application.get(clientId) && null),
    applicationOf(key: ApplicationKey): Application | undefined {
      const clientId = clientIds.get(key)
      return clientId === undefined ? undefined : applications.get(clientId)
    },
    suite: (suiteId: string) => suites.get(suiteId) ?? (missing.suite.get(suiteId) && null),
    addApplication(application: Application): void {
      applications.set(application.clientId, application)
      clientIds.set(application.key, application.clientId)
    },
    addSuite: (suite: Suite) => suites.set(suite.suiteId, suite),
    /** Remembers that no application, or suite, has this id. */
    addMissing(kind: 'application' | 'suite', id: string): void {
      if (!isLong(id)) missing[kind].set(detachText(id), true)
    },
  }
  return cache satisfies RegistryView
}

export interface Wanted {
  clientIds: Set<string>
  keys: Set<ApplicationKey>
  suiteIds: Set<string>
}

type Row = [kind: 'changes' | 'application' | 'suite', json: string]

/** Reads parts of the registry and adds them to the cache. Rejects with StoreUnavailable. */
export async function readRegistry(cache: RegistryCache, ask: Ask, wanted: Wanted): Promise<RegistryView> {
  const values = [storableNames(wanted.clientIds), arrayOf([...wanted.keys]), storableNames(wanted.suiteIds)]
  const rows = await ask<Row>(sql.readRegistry, values)
  const applications = new Map<string, Application>()
  const byKey = new Map<ApplicationKey, Application>()
  const suites = new Map<string, Suite>()
  for (const [kind, json] of rows) {
    const row = JSON.parse(json)
    if (kind === 'changes') cache.moveTo(row)
    else if (kind === 'suite') suites.set(row.suiteId, row)
    else {
      applications.set(row.clientId, row)
      byKey.set(row.key, row)
    }
  }
  for (const application of applications.values()) cache.addApplication(application)
  for (const suite of suites.values()) cache.addSuite(suite)
  for (const id of wanted.clientIds) if (!applications.has(id)) cache.addMissing('application', id)
  for (const id of wanted.suiteIds) if (!suites.has(id)) cache.addMissing('suite', id)
  return {
    application: (clientId) => applications.get(clientId) ?? null,
    applicationOf: (key) => byKey.get(key) ?? null,
    suite: (suiteId) => suites.get(suiteId) ?? null,
  }
}

/** Leaves out names that contain NUL, which PostgreSQL cannot store: no row has one. */
function storableNames(names: Iterable<string>): string[] {
  return [...names].filter((name) => !name.includes('\0'))
}
