import { OperatorError } from '../domain/operator-error.ts'
import { namesIn, readText } from '../program-files.ts'

/** The migrations in a folder, NNNN_name.sql, in order. Their number is the version of the schema they make. */
export function readMigrations(folder: URL): { name: string; sql: string }[] {
  return namesIn(folder)
    .filter((name) => /^\d{4}_.*\.sql$/.test(name))
    .sort()
    .map((name) => ({ name, sql: readText(new URL(name, folder)) }))
}

/** The statements that create the views of a schema, in the transaction of its last migration. */
export function readViews(folder: URL): string {
  return readText(new URL('views.sql', folder))
}

interface NewerSchema {
  version: number
  /** The latest version that this program knows; lower than `version`. */
  latest: number
  /** Read from the database's table `compatibility`; undefined if there is no such table. */
  oldestProgram: string | undefined
  program: string
}

/** Throws OperatorError if the program is too old for a database whose schema is newer than the program. */
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

/** The first SQLite that does not lose commits when one process writes during another's checkpoint. */
export const OLDEST_SQLITE = '3.51.3'

/** Whether a version x.y.z is the oldest one or newer. A part that is not a number counts as older than any number. */
export function isAtLeast(version: string, oldest: string): boolean {
  const [numbers, oldestNumbers] = [version, oldest].map((text) => text.split('.').map(Number)) as [number[], number[]]
  const different = oldestNumbers.findIndex((number, index) => numbers[index] !== number)
  return different === -1 || (numbers[different] as number) > (oldestNumbers[different] as number)
}
