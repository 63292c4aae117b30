import type { PostgresLocation } from '../../domain/database-location.ts'
import { createSharedInspector, type Inspector, judgeSchema } from '../inspect.ts'
import { readMigrations } from '../migrations.ts'
import { singleValue } from '../shared/work.ts'
import { askWithin } from './connection.ts'
import { PostgresUnavailable } from './errors.ts'
import { findPrimary, riskySettings } from './find-primary.ts'
import { MIGRATIONS, schemaVersion } from './migrate.ts'
import { assertNotStuck } from './session.ts'
import * as sql from './statements/session.ts'

const STATEMENT_TIMEOUT_MS = 5000

/** Connects to the primary for a read-only view. Rejects with StoreUnavailable or OperatorError. */
export async function inspectPostgres(location: PostgresLocation): Promise<Inspector> {
  const { connection } = await findPrimary(location)
  const askNow = askWithin(connection, STATEMENT_TIMEOUT_MS)
  /** The connection runs one statement at a time, and doctor's checks run at the same time. */
  let last: Promise<unknown> = Promise.resolve()
  const ask: typeof askNow = (...statement) => {
    const answer = last.then(() => askNow<never>(...statement))
    last = answer.catch(() => {})
    return answer
  }

  return {
    software: async () => `PostgreSQL ${await singleValue<string>(ask("SELECT current_setting('server_version')"))}`,

    async schema() {
      const version = await schemaVersion(ask)
      const oldestProgram = version === undefined ? undefined : await singleValue<string>(ask(sql.oldestProgram))
      const isForeign = version === undefined && (await singleValue(ask(sql.countTables))) !== 0
      const latest = readMigrations(MIGRATIONS).length
      return judgeSchema({ version: version ?? 0, latest, oldestProgram }, { isForeign })
    },

    assertNotStuck: () => assertNotStuck(ask),
    move: async () => undefined,

    async clockOffset() {
      const before = Date.now()
      const time = await singleValue<number>(ask('SELECT extract(epoch FROM clock_timestamp()) * 1000'))
      return time - (before + Date.now()) / 2
    },

    riskySettings: () => riskySettings(ask, location),
    ...createSharedInspector(ask),
    lastBackupAt: async () => undefined,
    close: () => connection.destroy(new PostgresUnavailable('the inspection has ended')),
  }
}
