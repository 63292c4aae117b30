import { readdirSync, readFileSync } from 'node:fs'
import { OperatorError } from '../domain/operator-error.ts'

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

/** The first SQLite that does not lose commits when one process writes while another one checkpoints. */
export const OLDEST_SQLITE = '3.51.3'

/** Whether a version x.y.z is as new as another one, or newer. What is no such version is not. */
export function isAtLeast(version: string, oldest: string): boolean {
  const [numbers, oldestNumbers] = [version, oldest].map((text) => text.split('.').map(Number)) as [number[], number[]]
  const at = oldestNumbers.findIndex((number, at) => numbers[at] !== number)
  return at === -1 || (numbers[at] as number) > (oldestNumbers[at] as number)
}
