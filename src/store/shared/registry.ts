import type { Application, ApplicationKey, ApplicationNames } from '../../domain/application.ts'
import type { Registry } from '../../domain/store.ts'
import type { Suite } from '../../domain/suite.ts'
import * as sql from './statements/registry.ts'
import { type Database, namesJson, rowsJson } from './work.ts'

/** Keys that no row has: ids begin with 1. */
const BEFORE_THE_FIRST = 0
const AFTER_THE_LAST = Number.MAX_SAFE_INTEGER

type NamesRow = [
  key: ApplicationKey,
  clientId: string,
  name: string,
  developerEmail: string,
  status: Application['status'],
]

/** What each store reads by its cache: requests for tokens and checks wait for it. */
type Cached = 'findApplication' | 'findSuite' | 'mostImportedSecrets'

/** The lists and counts of the registry, for operators. */
export function createRegistryLists({ ask }: Database): Omit<Registry, Cached> {
  async function list<Row>(statement: string, values: unknown[]): Promise<Row[]> {
    const rows = await ask<[json: string]>(statement, values)
    return rows.map(([json]) => JSON.parse(json))
  }

  return {
    listApplications: ({ after = BEFORE_THE_FIRST, limit }) => list<Application>(sql.listApplications, [after, limit]),
    listApplicationsOf: (keys) => list<Application>(sql.listApplicationsOf, [JSON.stringify(keys)]),
    listApprovedApplications: (suiteId, { after = BEFORE_THE_FIRST, limit }) =>
      list<Application>(sql.listApprovedApplications, [suiteId, after, limit]),
    async countApproved(suiteIds, limit) {
      const asked = rowsJson(suiteIds.map((suiteId) => ({ suiteId })))
      return (await ask<[count: number]>(sql.countApproved, [asked, limit])).map(([count]) => count)
    },
    listNames: async ({ after = AFTER_THE_LAST, limit }) =>
      (await ask<NamesRow>(sql.listNames, [after, limit])).map(toNames),
    findNamesakes: (names) => list<Application>(sql.findNamesakes, [namesJson(names)]),
    async countApplications() {
      const [row] = await ask<[count: number]>(sql.countApplications)
      return (row as [number])[0]
    },
    listSuites: ({ after = BEFORE_THE_FIRST, limit }) => list<Suite>(sql.listSuites, [after, limit]),
  }
}

function toNames([key, clientId, name, developerEmail, status]: NamesRow): ApplicationNames {
  return { key, clientId, name, developerEmail, status }
}
