import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../../domain/operator-error.ts'
import { VERSION } from '../../version.ts'
import { assertMayRun, readMigrations } from '../migrations.ts'
import type { Connection } from './connection.ts'
import { isLockedOut } from './explain.ts'
import * as sql from './statements.ts'

const FOLDER = new URL('../../../migrations/postgres/', import.meta.url)

/** How long one of the steps may take: a table may have many rows. */
const TIMEOUT_MS = 30 * 60_000

/**
 * How long it is waited for those who use a table that is to be changed, such as a pg_dump. All who come later wait behind it:
 * shorter than they wait for an answer, but longer than the second after which an autovacuum makes way.
 */
const LOCK_TIMEOUT = '1200ms'

/** How often it is tried to lock the tables that change, and the pause between two tries: all in all a minute. */
const MAX_TRIES = 12
const PAUSE_MS = 4000

/**
 * Brings a database to this program's version: each migrations/postgres/NNNN_name.sql once, in order, all in one transaction
 * behind a lock, so of several nodes one migrates and the others find it done. A database that a newer program has migrated
 * stays as it is. Rejects with OperatorError where that needs a newer program than this one, where it is another program's,
 * and where it is empty and nothing is to be made; then the connection may be in a transaction still.
 */
export async function migrate(
  connection: Connection,
  { folder = FOLDER, program = VERSION, create = true, maxTries = MAX_TRIES } = {},
): Promise<{ from: number; to: number }> {
  const ask = <Row extends unknown[]>(statement: string, values: unknown[] = []) =>
    connection.ask<Row>(statement, values, TIMEOUT_MS)
  const migrations = readMigrations(folder)
  const latest = migrations.length
  const found = await versionOf()
  if (found >= latest) return stayAt(found)

  if (found === 0 && !create) {
    throw new OperatorError('There is no store in the database yet: run migrate, or look at DATABASE_URL.')
  }
  for (let tries = 1; ; tries++) {
    try {
      return await migrateOnce()
    } catch (error) {
      if (!isLockedOut(error) || tries === maxTries) throw error
      await ask(sql.rollback)
      await sleep(PAUSE_MS)
    }
  }

  async function migrateOnce(): Promise<{ from: number; to: number }> {
    await ask(sql.begin)
    await ask(sql.lockMigrations)
    await ask(sql.setLockTimeout, [LOCK_TIMEOUT])
    const current = await versionOf()
    if (current === 0) {
      await assertEmpty()
      await ask(sql.createMigrations)
    }
    for (const [at, { name, sql: statements }] of migrations.entries()) {
      if (at < current) continue
      await ask(statements)
      await ask(sql.insertMigration, [at + 1, name])
    }
    await ask(sql.commit)
    return current >= latest ? stayAt(current) : { from: current, to: latest }
  }

  async function versionOf(): Promise<number> {
    const isThere = await one<boolean>(sql.findMigrations)
    return isThere ? one<number>(sql.schemaVersion) : 0
  }

  async function one<Value>(statement: string): Promise<Value> {
    const [row] = await ask<[Value]>(statement)
    return (row as [Value])[0]
  }

  async function stayAt(version: number) {
    if (version > latest) {
      assertMayRun({ version, latest, oldestProgram: await one<string>(sql.oldestProgram), program })
    }
    return { from: version, to: version }
  }

  async function assertEmpty(): Promise<void> {
    if ((await one<number>(sql.countTables)) === 0) return
    throw new OperatorError('The database has tables of another program: name another database in DATABASE_URL.')
  }
}
