import type { PostgresLocation } from '../../domain/database-location.ts'
import { type Inspector, judgeSchema, type SecretOwner } from '../inspect.ts'
import * as shared from '../shared/statements/figures.ts'
import { PostgresUnavailable } from './explain.ts'
import { findPrimary } from './find-primary.ts'
import { latestVersion } from './migrate.ts'
import * as sql from './statements/session.ts'

/** How long a statement may take, in milliseconds. */
const TIMEOUT_MS = 5000

const ENDED = new PostgresUnavailable('the examination has ended')

/** Connects to the primary to look at it. Rejects with StoreUnavailable or OperatorError. */
export async function inspectPostgres(location: PostgresLocation): Promise<Inspector> {
  const { connection } = await findPrimary(location)

  async function row<Row extends unknown[]>(statement: string, values: unknown[] = []): Promise<Row | undefined> {
    const [first] = await connection.ask<Row>(statement, values, TIMEOUT_MS)
    return first
  }

  /** The only value of the only row; undefined: there is no row. */
  async function value<Value>(statement: string, values: unknown[] = []): Promise<Value | undefined> {
    return (await row<[Value]>(statement, values))?.[0]
  }

  return {
    software: async () => `PostgreSQL ${await value<string>(sql.serverVersion)}`,

    async schema() {
      const isThere = await value<boolean>(sql.findMigrations)
      const version = isThere ? ((await value<number>(sql.schemaVersion)) as number) : 0
      const oldestProgram = isThere ? await value<string>(sql.oldestProgram) : undefined
      const theirs = !isThere && (await value<number>(sql.countTables)) !== 0
      return judgeSchema({ version, latest: latestVersion(), oldestProgram }, { theirs })
    },

    move: async () => undefined,

    async clockOffset() {
      const before = Date.now()
      const theirs = (await value<number>(sql.clock)) as number
      return theirs - (before + Date.now()) / 2
    },

    async tokens() {
      const oldestAt = await value<number>(shared.oldestTokenAt)
      const newestAt = await value<number>(shared.newestTokenAt)
      return oldestAt === undefined || newestAt === undefined ? undefined : { oldestAt, newestAt }
    },

    async ownersWithoutSecret(at) {
      type Row = [kind: SecretOwner['kind'], id: string, name: string, endsAt: number | null]
      const rows = await connection.ask<Row>(shared.listOwnersWithoutSecret, [at], TIMEOUT_MS)
      return rows.map(([kind, id, name, endsAt]) => ({ kind, id, name, endsAt }))
    },

    async operators() {
      const rows = await connection.ask<[name: string, lastKeyEndsAt: number | null]>(
        shared.listOperatorKeys,
        [],
        TIMEOUT_MS,
      )
      return rows.map(([name, lastKeyEndsAt]) => ({ name, lastKeyEndsAt }))
    },

    lastBackupAt: async () => undefined,
    close: () => connection.destroy(ENDED),
  }
}
