import { type Application, type ApplicationNames, TEXT_FIELDS } from '../../domain/application.ts'
import type { HandOverLink } from '../../domain/hand-over.ts'
import type { OwnedSecret } from '../../domain/secret.ts'
import type { FoundHandOver, Registry } from '../../domain/store.ts'
import type { Suite } from '../../domain/suite.ts'
import * as handOvers from './statements/hand-overs.ts'
import * as sql from './statements/registry.ts'
import { type Database, END, namesJson, rowsJson, singleValue, toObjects } from './work.ts'

/** Before every key: ids begin at 1. */
const BEGINNING = 0

/** The lists and counts of the registry, for operators. Each store caches the other reads in its own way. */
export function createRegistryLists({ ask, askPrimary }: Database) {
  async function list<Item>(statement: string, values: unknown[]): Promise<Item[]> {
    const rows = await ask<[json: string]>(statement, values)
    return rows.map(([json]) => JSON.parse(json))
  }

  return {
    listApplications: ({ after = BEGINNING, limit }) => list<Application>(sql.listApplications, [after, limit]),
    listApplicationsOf: (keys) => list<Application>(sql.listApplicationsOf, [JSON.stringify(keys)]),
    listApprovedApplications: (suiteId, { after = BEGINNING, limit }) =>
      list<Application>(sql.listApprovedApplications, [suiteId, after, limit]),
    async countApproved(suiteIds, limit) {
      const asked = rowsJson(suiteIds.map((suiteId) => ({ suiteId })))
      return (await ask<[count: number]>(sql.countApproved, [asked, limit])).map(([count]) => count)
    },
    async listNames({ after = END, limit, suite }) {
      const rows = await ask(sql.listNames, [after, limit, suite])
      const names = ['key', 'clientId', 'status', ...TEXT_FIELDS, 'labels', 'isApproved'] as const
      return toObjects<ApplicationNames>(rows, ...names)
    },
    findNamesakes: (names) => list<Application>(sql.findNamesakes, [namesJson(names)]),
    countApplications: () => singleValue(ask(sql.countApplications)),
    async listOwnedSecrets({ after = BEGINNING, limit }) {
      const rows = await ask(sql.listOwnedSecrets, [after, limit])
      const secret = ['id', 'origin', 'createdAt', 'endsAt', 'revokedAt', 'lastUsedAt'] as const
      return toObjects<OwnedSecret>(rows, ...secret, 'kind', 'owner', 'name')
    },
    async findHandOverLink(digest) {
      const rows = await askPrimary(handOvers.findHandOverLink, [digest])
      return toObjects<FoundHandOver>(rows, 'madeBy', 'overlapSeconds', 'clientId', 'name', 'status')[0]
    },
    listHandOverLinks: async (clientId) => (await list<HandOverLink[]>(handOvers.listHandOverLinks, [clientId])).flat(),
    listSuites: ({ after = BEGINNING, limit }) => list<Suite>(sql.listSuites, [after, limit]),
  } satisfies Partial<Registry>
}
