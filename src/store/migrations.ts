import { readdirSync, readFileSync } from 'node:fs'

/** One step of a schema: a file NNNN_name.sql, never edited after a release. */
export interface Migration {
  name: string
  sql: string
}

/** The migrations in a folder, in order. The version of a schema is how many of them it has. */
export function readMigrations(folder: URL): Migration[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => ({ name, sql: readFileSync(new URL(name, folder), 'utf8') }))
}
