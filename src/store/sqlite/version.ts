import Database from 'better-sqlite3'
import { OperatorError } from '../../domain/operator-error.ts'
import { isAtLeast, OLDEST_SQLITE } from '../versions.ts'
import * as sql from './statements/database.ts'

/** The version of the SQLite that the driver brings along. */
export function libraryVersion(): string {
  const db = new Database(':memory:')
  const version = db.prepare(sql.sqliteVersion).pluck().get()
  db.close()
  return version as string
}

/** Throws OperatorError where SQLite is so old that it can lose what was committed. */
export function assertSqliteVersion(version: string): void {
  if (isAtLeast(version, OLDEST_SQLITE)) return
  throw new OperatorError(
    `SQLite is ${version}, and before ${OLDEST_SQLITE} it can lose commits: run npm ci, which installs a newer one.`,
  )
}
