import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { OperatorError } from '../../domain/operator-error.ts'
import { withPeriod } from '../../domain/text.ts'
import type { CopyContents } from '../opened.ts'
import { newestTokenAt } from '../shared/statements/figures.ts'
import { countApplications } from '../shared/statements/registry.ts'
import { isExpected } from './connection.ts'
import { explain } from './retry-locked.ts'

/** What a copy that is whole contains. Throws OperatorError where it is damaged or not of this program. */
export function inspectCopy(file: string): CopyContents {
  const bytes = statSync(file).size
  if (bytes === 0) throw new OperatorError('it is empty')
  const db = new Database(file, { readonly: true })
  try {
    const problem = db.pragma('integrity_check(1)', { simple: true })
    if (problem !== 'ok') throw new OperatorError(`it is damaged: ${problem}`)
    if (db.pragma('user_version', { simple: true }) === 0) throw new OperatorError('it is not of this program')
    return {
      bytes,
      applications: db.prepare(countApplications).pluck().get() as number,
      newestTokenAt: db.prepare(newestTokenAt).pluck().get() as number | undefined,
    }
  } finally {
    db.close()
  }
}

/** Calls `work` with a new folder that only its owner can read, and deletes the folder. */
export async function inTemporaryFolder<Result>(
  prefix: string,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(prefix)
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Waits until a file, or the names in a folder, are on disk. */
export function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

/** An error of SQLite or the file system as one sentence for the operator; any other is a bug and stays as it is. */
export function withSentence(beginning: string, error: unknown, file: string): unknown {
  if (!isExpected(error)) return error
  const cause = error instanceof OperatorError ? withPeriod(error.message) : explain(error, file)
  return new OperatorError(`${beginning}: ${cause}`, { cause: error })
}
