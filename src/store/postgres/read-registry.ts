import type { Application, ApplicationKey } from '../../domain/application.ts'
import type { Suite } from '../../domain/suite.ts'
import type { Ask } from './connection.ts'
import type { RegistryView } from './registry-cache.ts'
import type { Session } from './session.ts'
import * as sql from './statements/tokens.ts'
import { arrayOf, textArrayOf } from './values.ts'

/** What is to be read of the registry. */
export interface Wanted {
  clientIds: Set<string>
  keys: Set<ApplicationKey>
  suiteIds: Set<string>
}

type Row = [kind: 'changes' | 'application' | 'suite', json: string]

/** Reads a part of the registry, and puts it into the session's cache. Rejects with StoreUnavailable. */
export async function readRegistry({ cache }: Session, ask: Ask, wanted: Wanted): Promise<RegistryView> {
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
