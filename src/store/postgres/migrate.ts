import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../../domain/operator-error.ts'
import { VERSION } from '../../version.ts'
import { assertMayRun, readMigrations } from '../migrations.ts'
import { NoStore } from '../opened.ts'
import type { Connection } from './connection.ts'
import { isLockedOut } from './explain.ts'
import * as sql from './statements/session.ts'
import { begin, commit, rollback, setLockTimeout } from './statements/session.ts'

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
  { folder = FOLDER, program = VERSION, create = true, place = 'that was opened', maxTries = MAX_TRIES } = {},
): Promise<{ from: number; to: number }> {
  const ask = <Row extends unknown[]>(statement: string, values: unknown[] = []) =>
    connection.ask<Row>(statement, values, TIMEOUT_MS)
  const migrations = readMigrations(folder)
  const latest = migrations.length
  const found = await versionOf()
  if (found < latest) {
    if (found === 0 && !create) {
      await assertEmpty()
      throw new NoStore(`The database ${place} is empty`)
    }
    return tryAgain(migrateOnce, () => ask(rollback), maxTries)
  }
  await assertAllowed(found)
  return { from: found, to: found }

  async function migrateOnce(): Promise<{ from: number; to: number }> {
    await ask(begin)
    await ask(sql.lockMigrations)
    await ask(setLockTimeout, [LOCK_TIMEOUT])
    // Another node may have been faster, also a newer one.
    const current = await versionOf()
    await assertAllowed(current)
    if (current === 0) {
      await assertEmpty()
      await ask(sql.createMigrations)
    }
    for (const [at, { name, sql: statements }] of migrations.entries()) {
      if (at < current) continue
      await ask(statements)
      await ask(sql.insertMigration, [at + 1, name])
    }
    await ask(commit)
    return { from: current, to: Math.max(current, latest) }
  }

  async function versionOf(): Promise<number> {
    const isThere = await one<boolean>(sql.findMigrations)
    return isThere ? one<number>(sql.schemaVersion) : 0
  }

  async function one<Value>(statement: string): Promise<Value> {
    const [row] = await ask<[Value]>(statement)
    return (row as [Value])[0]
  }

  async function assertAllowed(version: number): Promise<void> {
    if (version <= latest) return
    assertMayRun({ version, latest, oldestProgram: await one<string>(sql.oldestProgram), program })
  }

  async function assertEmpty(): Promise<void> {
    if ((await one<number>(sql.countTables)) === 0) return
    throw new OperatorError('The database has tables of another program: name another database in DATABASE_URL.')
  }
}

/** The version that this program migrates a database to. */
export function latestVersion(): number {
  return readMigrations(FOLDER).length
}

/** Tries something until others leave it the locks that it needs. */
async function tryAgain<Result>(
  attempt: () => Promise<Result>,
  rollBack: () => Promise<unknown>,
  maxTries: number,
): Promise<Result> {
  let tries = 0
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      tries++
      if (!isLockedOut(error) || tries === maxTries) throw error
    }
    await rollBack()
    await sleep(PAUSE_MS)
  }
}
