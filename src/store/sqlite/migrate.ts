import type { Database } from 'better-sqlite3'
import { OperatorError } from '../../domain/operator-error.ts'
import { readMigrations } from '../migrations.ts'

const FOLDER = new URL('../../../migrations/sqlite/', import.meta.url)

/**
 * Brings a database to this program's version: each migrations/sqlite/NNNN_name.sql once, in order, all in one
 * transaction. The lock comes first, so of several processes one migrates and the others find it done. Throws
 * OperatorError where the database is newer than this program, or is another program's.
 */
export function migrate(db: Database, folder = FOLDER): { from: number; to: number } {
  const migrations = readMigrations(folder)
  const latest = migrations.length
  if (versionOf(db) === latest) return { from: latest, to: latest }

  return db
    .transaction(() => {
      const current = versionOf(db)
      if (current > latest) {
        throw new OperatorError(
          `The database is at version ${current}, and this program knows versions up to ${latest}: upgrade the program.`,
        )
      }
      if (current === 0 && db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get()) {
        throw new OperatorError('The database has tables of another program: name another file in DATABASE_URL.')
      }
      for (const { sql } of migrations.slice(current)) db.exec(sql)
      db.pragma(`user_version = ${latest}`)
      return { from: current, to: latest }
    })
    .immediate()
}

function versionOf(db: Database): number {
  return db.pragma('user_version', { simple: true }) as number
}
