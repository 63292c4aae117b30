import type { Database } from 'better-sqlite3'
import { OperatorError } from '../../domain/operator-error.ts'
import { programFile } from '../../program-files.ts'
import { VERSION } from '../../version.ts'
import { assertMayRun, readMigrations, readViews } from '../migrations.ts'
import { type Opened, StoreMissing } from '../opened.ts'

export const MIGRATIONS = programFile('../migrations/sqlite/')

export const findTable = 'SELECT 1 FROM sqlite_schema LIMIT 1'
export const findTableNamed = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
export const oldestProgram = 'SELECT oldest_program FROM compatibility'

/**
 * Brings a database to this program's version: runs each new migration in order and then the views, all in one transaction. The
 * lock comes first, so that only one of several processes migrates. A database that a newer program has migrated stays as it is.
 * Throws OperatorError if the schema needs a newer program, belongs to another one, or is missing and may not be created.
 */
export function migrate(
  db: Database,
  { folder = MIGRATIONS, program = VERSION, create = true } = {},
): Opened['migrated'] {
  const migrations = readMigrations(folder)
  const latest = migrations.length
  const found = versionOf(db)
  if (found >= latest) {
    assertAllowed(found)
    return { from: found, to: found }
  }

  return db
    .transaction(() => {
      // Another process, perhaps of a newer program, may have migrated it in the meantime.
      const current = versionOf(db)
      assertAllowed(current)
      if (current === 0 && db.prepare(findTable).get()) {
        throw new OperatorError('The database has tables of another program: name another file in DATABASE_URL.')
      }
      if (current === 0 && !create) throw new StoreMissing(`The database ${db.name} is empty`)
      for (const migration of migrations.slice(current)) db.exec(migration.sql)
      if (current < latest) db.exec(readViews(folder))
      const to = Math.max(current, latest)
      db.pragma(`user_version = ${to}`)
      return { from: current, to }
    })
    .immediate()

  function assertAllowed(version: number): void {
    if (version > latest) assertMayRun({ version, latest, oldestProgram: oldestProgramOf(db), program })
  }
}

export function versionOf(db: Database): number {
  return db.pragma('user_version', { simple: true }) as number
}

/** The oldest program that may use the database; undefined if its schema does not record that yet. */
function oldestProgramOf(db: Database): string | undefined {
  const isRecorded = db.prepare(findTableNamed).get('compatibility') !== undefined
  return isRecorded ? (db.prepare(oldestProgram).pluck().get() as string) : undefined
}
