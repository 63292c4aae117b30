import { type Application, type ApplicationNames, TEXT_FIELDS } from '../../domain/application.ts'
import type { AuditHead } from '../../domain/audit-chain.ts'
import type { Operator } from '../../domain/operator.ts'
import type { HandOverLink, OwnedSecret } from '../../domain/secret.ts'
import type { EndingSecret } from '../../domain/statistics.ts'
import type { Figures, FoundHandOver, Operators, Registry, Usage } from '../../domain/store.ts'
import type { Suite } from '../../domain/suite.ts'
import {
  countKey,
  DAY,
  type KeyCounts,
  type SecretUse,
  type SpanCounts,
  type TokenCount,
  type TokenUse,
} from '../../domain/usage.ts'
import { createAuditTrail } from './audit.ts'
import { createChanges } from './changes.ts'
import { createIssuers } from './issuers.ts'
import { createNotices } from './notices.ts'
import { createRefusals } from './refusals.ts'
import { findAuditHead } from './statements/audit.ts'
import * as figures from './statements/figures.ts'
import * as operators from './statements/operators.ts'
import * as registry from './statements/registry.ts'
import { ask, type Database, END, namesJson, rowsJson, singleValue, toObjects } from './work.ts'

/** The parts that are the same for every store. */
export const createSharedParts = (database: Database) => ({
  ...createRegistryLists(database),
  ...createChanges(database),
  ...createOperators(database),
  ...createAuditTrail(database),
  ...createUsage(database),
  ...createRefusals(database),
  ...createNotices(database),
  ...createIssuers(database),
  ...createFigures(database),
})

/** Comes before every key: ids begin at 1. */
const BEGINNING = 0

/** The lists and counts of the registry, for operators. Each store caches the other reads in its own way. */
function createRegistryLists({ ask, askPrimary }: Database) {
  async function list<Item>(statement: string, values: unknown[]): Promise<Item[]> {
    const rows = await ask<[json: string]>(statement, values)
    return rows.map(([json]) => JSON.parse(json))
  }

  return {
    listApplications: ({ after = BEGINNING, limit }) => list<Application>(registry.listApplications, [after, limit]),
    listApplicationsOf: (keys) => list<Application>(registry.listApplicationsOf, [JSON.stringify(keys)]),
    listApprovedApplications: (suiteId, { after = BEGINNING, limit }) =>
      list<Application>(registry.listApprovedApplications, [suiteId, after, limit]),
    async countApproved(suiteIds, limit) {
      const asked = rowsJson(suiteIds.map((suiteId) => ({ suiteId })))
      return (await ask<[count: number]>(registry.countApproved, [asked, limit])).map(([count]) => count)
    },
    async listNames({ after = END, limit, suite }) {
      const rows = await ask(registry.listNames, [after, limit, suite])
      const names = ['key', 'clientId', 'status', ...TEXT_FIELDS, 'labels', 'lastTokenAt', 'isApproved'] as const
      return toObjects<ApplicationNames>(rows, ...names)
    },
    findNamesakes: (names) => list<Application>(registry.findNamesakes, [namesJson(names)]),
    countApplications: () => singleValue(ask(registry.countApplications)),
    async listOwnedSecrets({ after = BEGINNING, limit, federated = false }) {
      const rows = await ask(registry.listOwnedSecrets, [after, limit, federated])
      const secret = ['id', 'origin', 'federated', 'createdAt', 'endsAt', 'revokedAt'] as const
      const more = ['lastUsedAt', 'lastUsedFrom', 'kind', 'owner', 'name'] as const
      const secrets = toObjects<OwnedSecret>(rows, ...secret, ...more)
      return secrets.map((one) => ({ ...one, federated: one.federated && JSON.parse(String(one.federated)) }))
    },
    async findHandOverLink(digest) {
      const rows = await askPrimary(registry.findHandOverLink, [digest])
      return toObjects<FoundHandOver>(rows, 'madeBy', 'overlapSeconds', 'clientId', 'name', 'status')[0]
    },
    listHandOverLinks: async (clientId) => (await list<HandOverLink[]>(registry.listHandOverLinks, [clientId])).flat(),
    listSuites: ({ after = BEGINNING, limit }) => list<Suite>(registry.listSuites, [after, limit]),
  } satisfies Partial<Registry>
}

/** Operators and their credentials. Nothing is cached, so that a revoked credential is refused from the next request on. */
function createOperators({ ask, askPrimary, askInBackground }: Database): Operators {
  async function findCredential(statement: string, digest: string) {
    const [row] = await askPrimary<[id: number, json: string]>(statement, [digest])
    return row && { id: row[0], operator: JSON.parse(row[1]) as Operator }
  }

  return {
    async findOperator(name) {
      const [row] = await ask<[name: string, json: string]>(operators.readOperators, [namesJson([name])])
      return row && JSON.parse(row[1])
    },
    listOperators: async () => (await ask<[json: string]>(operators.listOperators)).map(([json]) => JSON.parse(json)),
    findAdminKey: (digest) => findCredential(operators.findAdminKey, digest),
    findSession: (digest) => findCredential(operators.findSession, digest),
    async findLoginCode(digest) {
      type LoginCode = { operator: string; createdAt: number; endsAt: number }
      const rows = await askPrimary(operators.findLoginCode, [digest])
      return toObjects<LoginCode>(rows, 'operator', 'createdAt', 'endsAt')[0]
    },
    recordAdminKeyUse: async (id, at) => void (await askInBackground(operators.recordAdminKeyUse, [id, at])),
    recordSessionUse: async ({ id, lastSeenAt, endsAt }) =>
      void (await askInBackground(operators.recordSessionUse, [id, lastSeenAt, endsAt])),
    recordRefusedSignIn: async (at, why) => void (await askInBackground(operators.recordRefusedSignIn, [at, why])),
  }
}

export function createUsage({ ask: read, askInBackground, transactInBackground, lockOwners }: Database): Usage {
  const recordApplicationUses = figures.recordUses('application', lockOwners)
  const recordSecretUses = figures.recordUses('secret', lockOwners)

  return {
    async addTokenCounts(changes) {
      const uses = changes.map(({ applicationKey, lastTokenAt }) => ({ id: applicationKey, at: lastTokenAt }))
      const rows = await transactInBackground(function* () {
        yield* ask(recordApplicationUses, [rowsJson(uses)])
        return yield* ask(figures.addTokenCounts, [rowsJson(changes)])
      })
      const counts = toObjects<TokenCount>(rows, 'applicationKey', 'hour', 'issued', 'refused')
      const sums = new Map(counts.map((sum) => [countKey(sum), sum]))
      return changes.map((change) => sums.get(countKey(change)) as TokenCount)
    },

    async listTokenCounts(keys, hour) {
      const rows = await read(figures.listTokenCounts, [JSON.stringify(keys), hour])
      return toObjects<TokenUse>(rows, 'applicationKey', 'hour', 'issued', 'refused', 'lastTokenAt')
    },

    async recordSecretUses(uses) {
      const rows = uses.map(({ secretId: id, lastUsedAt: at, lastUsedFrom: from }) => ({ id, at, from }))
      await transactInBackground(() => ask(recordSecretUses, [rowsJson(rows)]))
    },

    async listSecretUses(ids) {
      const rows = await read(figures.listSecretUses, [JSON.stringify(ids)])
      return toObjects<SecretUse>(rows, 'secretId', 'lastUsedAt', 'lastUsedFrom')
    },

    addUsage: async (counts, at) =>
      void (await transactInBackground(() => ask(figures.addUsage, [rowsJson(counts), at]))),

    async listUsage(clientIds, span, beginnings) {
      const values = [namesJson(clientIds), span, ...beginnings]
      const rows = await askInBackground(figures.listUsage(beginnings.length), values)
      return toObjects<SpanCounts>(rows, 'clientId', 'since', 'tokens', 'checks', 'refusals')
    },

    async sumUsage(keys, span, beginnings) {
      const values = [keys.at(-1), keys[0], span, ...beginnings]
      const rows = await askInBackground(figures.sumUsage(beginnings.length), values)
      return toObjects<KeyCounts>(rows, 'key', 'tokens', 'checks', 'refusals')
    },

    listBusy: async (since, tokens) =>
      (await askInBackground<[clientId: string]>(figures.listBusy, [since, tokens])).map(([clientId]) => clientId),
  }
}

type Row = [oldestTokenAt: number | null, lastBackupAt: number | null, inADay: number, inAWeek: number]

/** The figures that every store measures in the same way, in the background. */
function createFigures({ askInBackground, size }: Database): Omit<Figures, 'countLiveTokens'> {
  return {
    async measure(now) {
      const [row] = await askInBackground<Row>(figures.measure, [now, now + 7 * DAY, now + DAY])
      const [oldestTokenAt, lastBackupAt, inADay, inAWeek] = row as Row
      const [auditHead] = toObjects<AuditHead>(await askInBackground(findAuditHead), 'id', 'at', 'hash')
      return {
        size: await size(),
        oldestTokenAt: oldestTokenAt ?? undefined,
        lastBackupAt: lastBackupAt ?? undefined,
        ending: { inADay, inAWeek },
        auditHead,
      }
    },

    async listEndingSecrets(now, before, limit) {
      const rows = await askInBackground(figures.listEndingSecrets, [now, before, limit])
      const owner = ['kind', 'id', 'name'] as const
      const more = ['secretId', 'endsAt', 'lastUsedAt', 'developerEmail', 'what', 'newerId'] as const
      return toObjects<EndingSecret>(rows, ...owner, ...more)
    },
  }
}
