import type { Operator } from '../../domain/operator.ts'
import type { Operators } from '../../domain/store.ts'
import * as sql from './statements/operators.ts'
import { type Database, namesJson, toObjects } from './work.ts'

/** Operators and their credentials. Nothing is cached, so that a revoked credential is refused from the next request on. */
export function createOperators({ ask, askPrimary, askInBackground }: Database): Operators {
  async function findCredential(statement: string, digest: string) {
    const [row] = await askPrimary<[id: number, json: string]>(statement, [digest])
    return row && { id: row[0], operator: JSON.parse(row[1]) as Operator }
  }

  return {
    async findOperator(name) {
      const [row] = await ask<[name: string, json: string]>(sql.readOperators, [namesJson([name])])
      return row && JSON.parse(row[1])
    },
    listOperators: async () => (await ask<[json: string]>(sql.listOperators)).map(([json]) => JSON.parse(json)),
    findAdminKey: (digest) => findCredential(sql.findAdminKey, digest),
    findSession: (digest) => findCredential(sql.findSession, digest),
    async findLoginCode(digest) {
      type LoginCode = { operator: string; createdAt: number; endsAt: number }
      const rows = await askPrimary(sql.findLoginCode, [digest])
      return toObjects<LoginCode>(rows, 'operator', 'createdAt', 'endsAt')[0]
    },
    recordAdminKeyUse: async (id, at) => void (await askInBackground(sql.recordAdminKeyUse, [id, at])),
    recordSessionUse: async ({ id, lastSeenAt, endsAt }) =>
      void (await askInBackground(sql.recordSessionUse, [id, lastSeenAt, endsAt])),
    recordRefusedSignIn: async (at, why) => void (await askInBackground(sql.recordRefusedSignIn, [at, why])),
  }
}
