import type { Audit } from '../../domain/audit-event.ts'
import type { Event } from '../../domain/events.ts'
import { CLOCKS_APART, type Operator } from '../../domain/operator.ts'
import type { Operators } from '../../domain/store.ts'
import { ofOperator } from '../audited.ts'
import type { AuditedChange } from './audit.ts'
import type { Commands } from './commands.ts'
import * as sql from './statements/operators.ts'
import { textArrayOf } from './values.ts'

type CredentialRow = [id: number, operator: string]

/** Operators in PostgreSQL. Nothing is cached, so that a revoked credential is refused from the next request on. */
export function createOperators({ commands, audited }: { commands: Commands; audited: AuditedChange }): Operators {
  const { ask, askPrimary, askInBackground } = commands

  async function findCredential(statement: string, digest: string) {
    const [row] = await askPrimary<CredentialRow>(statement, [digest])
    return row && { id: row[0], operator: JSON.parse(row[1]) as Operator }
  }

  /** Runs one statement whose first value is the operator's name. Resolves to the id that it returns. */
  function change<Id>(audit: Audit, type: Event['type'], statement: string, values: [name: string, ...unknown[]]) {
    return audited(audit, ofOperator(type, values[0]), async (ask) => (await ask<[Id]>(statement, values))[0]?.[0])
  }

  const isChanged = async (...rest: Parameters<typeof change>) => (await change(...rest)) !== undefined

  return {
    async findOperator(name) {
      const [row] = await ask<[string]>(sql.findOperator, [textArrayOf([name])])
      return row && JSON.parse(row[0])
    },
    listOperators: async () => (await ask<[string]>(sql.listOperators)).map(([json]) => JSON.parse(json)),
    findAdminKey: (digest) => findCredential(sql.findAdminKey, digest),
    findSession: (digest) => findCredential(sql.findSession, digest),
    async findLoginCode(digest) {
      const [row] = await askPrimary<[string, number, number]>(sql.findLoginCode, [digest])
      return row && { operator: row[0], createdAt: row[1], endsAt: row[2] }
    },

    addOperator: ({ name, role, createdAt }, audit) =>
      isChanged(audit, 'operator added', sql.insertOperator, [name, role, createdAt]),
    removeOperator: (name, audit) => isChanged(audit, 'operator removed', sql.deleteOperator, [name]),
    addAdminKey: (name, { digest, createdAt, endsAt }, audit) =>
      change<number>(audit, 'operator key added', sql.insertAdminKey, [name, digest, createdAt, endsAt]),
    revokeAdminKey: (name, id, at, audit) =>
      isChanged(audit, 'operator key revoked', sql.revokeAdminKey, [name, id, at]),
    addLoginCode: (name, { digest, createdAt, endsAt }, audit) =>
      isChanged(audit, 'login link made', sql.insertLoginCode, [name, digest, createdAt, endsAt]),

    beginSession: (name, codeDigest, { digest, createdAt, endsAt, remoteAddress, userAgent }, audit) =>
      change<number>(audit, 'operator logged in', sql.beginSession, [
        name,
        codeDigest,
        digest,
        createdAt,
        endsAt,
        remoteAddress,
        userAgent,
      ]),

    endSession: (name, id, audit) => isChanged(audit, 'session ended', sql.deleteSession, [name, id]),

    recordAdminKeyUse: async (id, at) => void (await askInBackground(sql.recordAdminKeyUse, [id, at])),
    recordSessionUse: async ({ id, lastSeenAt, endsAt }) =>
      void (await askInBackground(sql.recordSessionUse, [id, lastSeenAt, endsAt])),
    purgeSignIns: async (now) => void (await askInBackground(sql.purgeSignIns, [now, now + CLOCKS_APART])),
  }
}
