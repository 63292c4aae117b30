import type { Application, ApplicationKey } from '../../domain/application.ts'
import type { Suite } from '../../domain/suite.ts'
import { createCache, isLong, MISS_CAPACITY, onItsOwn } from '../cache.ts'
import { type Ask, arrayOf, textArrayOf } from './connection.ts'
import * as sql from './statements/tokens.ts'

/** A part of the registry as somebody has read it. Null: there is none of this name. Undefined: that was not read. */
export interface RegistryView {
  application(clientId: string): Application | null | undefined
  applicationOf(key: ApplicationKey): Application | null | undefined
  suite(suiteId: string): Suite | null | undefined
}

/** What a session has read of one version of the registry. */
export interface RegistryCache extends RegistryView {
  /** Forgets everything, unless it is of this version. */
  moveTo(version: number): void
  mostImportedSecrets: number | undefined
  addApplication(application: Application): void
  addSuite(suite: Suite): void
  /** There is no application, or suite, of this name. */
  addMissing(kind: 'application' | 'suite', name: string): void
}

/** An empty cache, for one session: what it has of a version is not what another server may call by the same number. */
export function createRegistryCache(): RegistryCache {
  let version: number | undefined
  const applications = createCache<string, Application>()
  const clientIds = createCache<ApplicationKey, string>()
  const suites = createCache<string, Suite>()
  const missing = {
    application: createCache<string, true>(MISS_CAPACITY),
    suite: createCache<string, true>(MISS_CAPACITY),
  }

  const cache: RegistryCache = {
    moveTo(newVersion) {
      if (version === newVersion) return
      version = newVersion
      cache.mostImportedSecrets = undefined
      for (const part of [applications, clientIds, suites, missing.application, missing.suite]) part.clear()
    },
    application: (clientId) => applications.get(clientId) ?? (missing.application.get(clientId) && null),
    applicationOf(key) {
      const clientId = clientIds.get(key)
      return clientId === undefined ? undefined : applications.get(clientId)
    },
    suite: (suiteId) => suites.get(suiteId) ?? (missing.suite.get(suiteId) && null),
    mostImportedSecrets: undefined,
    addApplication(application) {
      applications.set(application.clientId, application)
      clientIds.set(application.key, application.clientId)
    },
    addSuite(suite) {
      suites.set(suite.suiteId, suite)
    },
    addMissing(kind, name) {
      if (!isLong(name)) missing[kind].set(onItsOwn(name), true)
    },
  }
  return cache
}

/** What is to be read of the registry. */
export interface Wanted {
  clientIds: Set<string>
  keys: Set<ApplicationKey>
  suiteIds: Set<string>
}

type Row = [kind: 'changes' | 'application' | 'suite', json: string]

/** Reads a part of the registry, and puts it into the cache. Rejects with StoreUnavailable. */
export async function readRegistry(cache: RegistryCache, ask: Ask, wanted: Wanted): Promise<RegistryView> {
  const values = [textArrayOf(wanted.clientIds), arrayOf([...wanted.keys]), textArrayOf(wanted.suiteIds)]
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
  for (const name of wanted.clientIds) if (!applications.has(name)) cache.addMissing('application', name)
  for (const name of wanted.suiteIds) if (!suites.has(name)) cache.addMissing('suite', name)
  return {
    application: (clientId) => applications.get(clientId) ?? null,
    applicationOf: (key) => byKey.get(key) ?? null,
    suite: (suiteId) => suites.get(suiteId) ?? null,
  }
}
