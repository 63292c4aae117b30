import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../../domain/operator-error.ts'
import { programFile } from '../../program-files.ts'
import { VERSION } from '../../version.ts'
import { assertMayRun, readMigrations, readViews } from '../migrations.ts'
import { StoreMissing } from '../opened.ts'
import { type Ask, singleValue } from '../shared/work.ts'
import { askWithin, type Connection } from './connection.ts'
import { isLockedOut } from './errors.ts'
import * as sql from './statements/session.ts'

export const MIGRATIONS = programFile('../migrations/postgres/')

/** Long enough for tables with many rows. */
const STATEMENT_TIMEOUT_MS = 30 * 60_000

/**
 * How long an attempt waits for others that use a table, such as a pg_dump. All later statements on the table queue behind it.
 * So the wait is shorter than the time-out of requests, but longer than the second after which an autovacuum gives way.
 */
const LOCK_TIMEOUT = '1200ms'

/** How many times it tries to lock the tables that change, and the pause in between: about a minute in total. */
const MAX_TRIES = 12
const PAUSE_MS = 4000

/**
 * Migrates a database to this program's version: each migrations/postgres/NNNN_name.sql once, in order, and then the views, all in one
 * transaction under a lock, so that one of several nodes migrates and the others find it done. A database that a newer program has migrated
 * stays as it is. Rejects with OperatorError if it requires a newer program than this one, belongs to another program, or is
 * empty and `create` is false. The connection may then still be in a transaction.
 */
export async function migrate(
  connection: Connection,
  { folder = MIGRATIONS, program = VERSION, create = true, place = 'that was opened', maxTries = MAX_TRIES } = {},
): Promise<{ from: number; to: number }> {
  const ask = askWithin(connection, STATEMENT_TIMEOUT_MS)
  const migrations = readMigrations(folder)
  const latest = migrations.length
  const found = (await schemaVersion(ask)) ?? 0
  if (found >= latest) {
    await assertAllowed(found)
    return { from: found, to: found }
  }
  let tries = 0
  for (;;) {
    try {
      return await migrateOnce()
    } catch (error) {
      tries++
      if (!isLockedOut(error) || tries === maxTries) throw error
    }
    await ask('ROLLBACK')
    await sleep(PAUSE_MS)
  }

  async function migrateOnce(): Promise<{ from: number; to: number }> {
    await ask(sql.begin)
    await ask(sql.lockMigrations)
    await ask(sql.prepareTransaction, [LOCK_TIMEOUT])
    // Another node, maybe a newer one, may have been faster.
    const current = (await schemaVersion(ask)) ?? 0
    await assertAllowed(current)
    if (current === 0) {
      if ((await singleValue(ask(sql.countTables))) !== 0) {
        throw new OperatorError('The database has tables of another program: name another database in DATABASE_URL.')
      }
      if (!create) throw new StoreMissing(`The database ${place} is empty`)
      await ask(sql.createMigrations)
    } else if (current < latest) await ask(sql.lockInOrder)
    for (const [index, { name, sql: statements }] of migrations.entries()) {
      if (index < current) continue
      await ask(statements)
      await ask('INSERT INTO migrations (number, name) VALUES ($1, $2)', [index + 1, name])
    }
    if (current < latest) await makeViews(ask, readViews(folder))
    await ask('COMMIT')
    return { from: current, to: Math.max(current, latest) }
  }

  async function assertAllowed(version: number): Promise<void> {
    if (version <= latest) return
    assertMayRun({ version, latest, oldestProgram: await singleValue<string>(ask(sql.oldestProgram)), program })
  }
}

/** Runs the statements in views.sql, except for views that would stay the same: replacing a view blocks its readers. */
async function makeViews(ask: Ask, views: string): Promise<void> {
  for (const statement of views.split(/;\s*/).filter((text) => text !== '')) {
    const [, name] = /CREATE OR REPLACE VIEW (\w+) AS/.exec(statement) ?? []
    if (!name || (await isNewView(ask, name, statement))) await ask(statement)
  }
}

async function isNewView(ask: Ask, name: string, statement: string): Promise<boolean> {
  await ask(statement.replace(`VIEW ${name} AS`, `VIEW new_${name} AS`))
  const isNew = await singleValue<boolean>(ask(sql.isNewView, [name]))
  await ask(`DROP VIEW new_${name}`)
  return isNew
}

/** The version of a database's schema. Undefined if it has none. */
export async function schemaVersion(ask: Ask): Promise<number | undefined> {
  if (!(await singleValue<boolean>(ask(sql.findMigrations)))) return undefined
  return singleValue(ask('SELECT coalesce(max(number), 0) FROM migrations'))
}
