import Database from 'better-sqlite3'
import { OperatorError } from '../../domain/operator-error.ts'
import { VERSION } from '../../version.ts'
import { assertMayRun, readMigrations } from '../migrations.ts'
import { NoStore } from '../opened.ts'
import * as sql from './statements/database.ts'

const FOLDER = new URL('../../../migrations/sqlite/', import.meta.url)

/**
 * Brings a database to this program's version: each migrations/sqlite/NNNN_name.sql once, in order, all in one
 * transaction. The lock comes first, so of several processes one migrates and the others find it done. A database that a
 * newer program has migrated stays as it is. Throws OperatorError where that needs a newer program than this one, where it
 * is another program's, and where it is empty and nothing is to be made.
 */
export function migrate(
  db: Database.Database,
  { folder = FOLDER, program = VERSION, create = true } = {},
): { from: number; to: number } {
  const migrations = readMigrations(folder)
  const latest = migrations.length
  const found = versionOf(db)
  if (found >= latest) {
    assertAllowed(found)
    return { from: found, to: found }
  }

  return db
    .transaction(() => {
      // Another process may have been faster, also a newer one.
      const current = versionOf(db)
      assertAllowed(current)
      if (current === 0 && db.prepare(sql.findTable).get()) {
        throw new OperatorError('The database has tables of another program: name another file in DATABASE_URL.')
      }
      if (current === 0 && !create) throw new NoStore(`The database ${db.name} is empty`)
      for (const migration of migrations.slice(current)) db.exec(migration.sql)
      const to = Math.max(current, latest)
      db.pragma(`user_version = ${to}`)
      return { from: current, to }
    })
    .immediate()

  function assertAllowed(version: number): void {
    if (version > latest) assertMayRun({ version, latest, oldestProgram: oldestProgramOf(db), program })
  }
}

/** Whether a database is at this program's version, or at a newer one. Throws an SqliteError. */
export function isMigrated(file: string): boolean {
  const db = new Database(file, { readonly: true })
  try {
    return versionOf(db) >= latestVersion()
  } finally {
    db.close()
  }
}

/** The version that this program migrates a database to. */
export function latestVersion(): number {
  return readMigrations(FOLDER).length
}

function versionOf(db: Database.Database): number {
  return db.pragma('user_version', { simple: true }) as number
}

/** The oldest program that may run on a database; undefined: its schema is from before that was recorded. */
function oldestProgramOf(db: Database.Database): string | undefined {
  const isRecorded = db.prepare(sql.findCompatibility).get() !== undefined
  return isRecorded ? (db.prepare(sql.oldestProgram).pluck().get() as string) : undefined
}
