import { readdirSync, readFileSync } from 'node:fs'
import { OperatorError } from '../domain/operator-error.ts'
import { isAtLeast } from './versions.ts'

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

interface NewerSchema {
  /** The version of the database's schema. */
  version: number
  /** The version that this program would migrate it to; lower. */
  latest: number
  /** What the table `compatibility` of the database says; undefined: it has none. */
  oldestProgram: string | undefined
  /** This program's version. */
  program: string
}

/** Throws OperatorError where a database with a newer schema than this program knows does not allow the program. */
export function assertMayRun({ version, latest, oldestProgram, program }: NewerSchema): void {
  if (oldestProgram === undefined) {
    throw new OperatorError(
      `The database is at version ${version}, and this program knows versions up to ${latest}: upgrade the program.`,
    )
  }
  if (isAtLeast(program, oldestProgram)) return
  throw new OperatorError(
    `The database needs token-server ${oldestProgram} or newer, and this is ${program}: upgrade the program.`,
  )
}
