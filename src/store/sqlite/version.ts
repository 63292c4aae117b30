import { OperatorError } from '../../domain/operator-error.ts'

/** The first SQLite that does not lose commits when one process writes while another one checkpoints. */
const OLDEST = [3, 51, 3] as const

/** Throws OperatorError where SQLite is so old that it can lose what was committed. */
export function assertSqliteVersion(version: string): void {
  const numbers = version.split('.').map(Number)
  const at = OLDEST.findIndex((oldest, at) => numbers[at] !== oldest)
  if (at === -1 || (numbers[at] as number) > (OLDEST[at] as number)) return
  throw new OperatorError(
    `SQLite is ${version}, and before ${OLDEST.join('.')} it can lose commits: run npm ci, which installs a newer one.`,
  )
}
