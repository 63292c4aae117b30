import { readdirSync, readFileSync } from 'node:fs'
import type { Database } from 'better-sqlite3'

const FOLDER = new URL('../../../migrations/sqlite/', import.meta.url)

/**
 * Brings a database to this program's version: each migrations/sqlite/NNNN_name.sql once, in order, all in one
 * transaction. The lock comes first, so of several processes one migrates and the others find it done. Throws where
 * the database is newer than this program, or is somebody else's.
 */
export function migrate(db: Database, folder = FOLDER): { from: number; to: number } {
  const migrations = readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
  const latest = migrations.length
  if (versionOf(db) === latest) return { from: latest, to: latest }

  return db
    .transaction(() => {
      const current = versionOf(db)
      if (current > latest) {
        throw new Error(
          `The database is of version ${current} and this program knows versions up to ${latest}: run a newer program.`,
        )
      }
      if (current === 0 && db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get()) {
        throw new Error('The database holds tables that are not of this program: name another file in DATABASE_URL.')
      }
      for (const name of migrations.slice(current)) db.exec(readFileSync(new URL(name, folder), 'utf8'))
      db.pragma(`user_version = ${latest}`)
      return { from: current, to: latest }
    })
    .immediate()
}

function versionOf(db: Database): number {
  return db.pragma('user_version', { simple: true }) as number
}
