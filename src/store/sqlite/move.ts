import type { Authorship } from '../../domain/audit-event.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import { type ReadPage, type Row, selectPage } from '../copy.ts'
import type { Move } from '../inspect.ts'
import { databaseEntry, record } from '../shared/audit.ts'
import type { Context } from './context.ts'

export const findMove = 'SELECT place, began_at AS beganAt, copied_at AS copiedAt FROM moved'

/**
 * Marks a store that is being, or has been, copied to another location. While it has the mark, triggers refuse every change
 * of the registry; this program's own error names the location.
 */
export function createMove({ db, read, change, runner }: Context) {
  const find = db.prepare<[], Move>(findMove)
  const forget = db.prepare('DELETE FROM moved')

  function assertNotCopied(): void {
    const move = find.get()
    if (move && move.copiedAt !== null) throw hasMoved(move)
  }

  return {
    /** The location in the mark, if there is one. Throws an SqliteError. */
    movedTo: () => find.get()?.place,

    /** Whether a copy was completed. Throws an SqliteError. */
    isCopied: () => (find.get()?.copiedAt ?? null) !== null,

    /** Throws OperatorError if the registry is frozen. Call it in a transaction. */
    assertNotMoved(): void {
      const move = find.get()
      if (move) throw hasMoved(move)
    },

    assertNotCopied: (): Promise<void> => read(assertNotCopied),

    /** Sets the mark; replaces the mark of an unfinished copy. Rejects with OperatorError if a copy was completed. */
    begin: (place: string, at: number): Promise<void> =>
      change(() => {
        assertNotCopied()
        forget.run()
        db.prepare('INSERT INTO moved (place, began_at) VALUES (?, ?)').run(place, at)
      }),

    /** Rejects with OperatorError if this mark no longer exists, so that the registry may have changed. */
    assertBegun: (place: string, at: number): Promise<void> =>
      read(() => {
        const move = find.get()
        if (move?.place !== place || move.beganAt !== at) throw markIsGone()
      }),

    /** Records that the copy is complete, and its author. Rejects with OperatorError if this mark no longer exists. */
    complete: (place: string, beganAt: number, audit: Authorship): Promise<void> =>
      change(() => {
        const completeMove = db.prepare('UPDATE moved SET copied_at = ? WHERE place = ? AND began_at = ?')
        const { changes } = completeMove.run(audit.at, place, beganAt)
        if (changes === 0) throw markIsGone()
        const entry = databaseEntry('database copied', db.name, { moved_to: null }, { moved_to: place })
        runner.run(record(audit, [entry]))
      }),

    abandon: (place: string, at: number): Promise<void> =>
      change(() => void db.prepare('DELETE FROM moved WHERE place = ? AND began_at = ?').run(place, at)),

    /** Removes any mark. Resolves to its location; undefined if there was none. */
    reopen: (audit: Authorship): Promise<string | undefined> =>
      change(() => {
        const place = find.get()?.place
        if (place === undefined) return undefined
        forget.run()
        const entry = databaseEntry('database reopened', db.name, { moved_to: place }, { moved_to: null })
        runner.run(record(audit, [entry]))
        return place
      }),
  }
}

function markIsGone(): OperatorError {
  return new OperatorError('The store was opened again in the meantime, or is being copied a second time.')
}

function hasMoved({ place, beganAt, copiedAt }: Move): OperatorError {
  const since = new Date(copiedAt ?? beganAt).toISOString()
  const sentence =
    copiedAt === null
      ? `A copy of the store to ${place} began at ${since}. It is still running, or was interrupted: wait, or copy it again.`
      : `The store moved to ${place} at ${since}: name that in DATABASE_URL.`
  return new OperatorError(`${sentence} To allow changes here again, run "token-server store reopen".`)
}

const selectLastKeys = 'SELECT name, seq FROM sqlite_sequence WHERE seq > 0'

export function createPages({ db, read }: Context) {
  const readPage: ReadPage = (table, after, limit) =>
    read(() => {
      // Bytes are hex.
      const isBytes = (type: string) => type === 'uuid' || type === 'bytea'
      const page = selectPage(table, {
        read: (column, type) => (isBytes(type) ? `lower(hex(${column}))` : column),
        parameter: (_, type) => (isBytes(type) ? 'unhex(?)' : '?'),
      })
      return db
        .prepare(page)
        .raw()
        .all(...after, limit) as Row[]
    })

  return {
    readPage,
    /** The highest key that each table has ever had, so that none is used twice. */
    lastKeys: () => read(() => db.prepare<[], { name: string; seq: number }>(selectLastKeys).all()),
  }
}
