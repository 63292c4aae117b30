import type { PostgresLocation } from '../../domain/database-location.ts'
import { createSharedInspector, type Inspector, judgeSchema } from '../inspect.ts'
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

  /** The only value of the only row; undefined: there is no row. */
  async function value<Value>(statement: string): Promise<Value | undefined> {
    const [row] = await connection.ask<[Value]>(statement, [], TIMEOUT_MS)
    return row?.[0]
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

    ...createSharedInspector((statement, values = []) => connection.ask(statement, values, TIMEOUT_MS)),
    lastBackupAt: async () => undefined,
    close: () => connection.destroy(ENDED),
  }
}
