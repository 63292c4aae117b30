import type { Audit } from '../../domain/audit-event.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import type { ReadPage, Row, Table } from '../copy.ts'
import { databaseEntry, record } from '../shared/audit.ts'
import type { Change, Context, Runner } from './context.ts'
import * as sql from './statements/database.ts'

/** That a store is being copied to another one, or was. */
interface Move {
  /** Where it has moved, for people. */
  place: string
  /** Milliseconds since the epoch. */
  beganAt: number
  /** Null: the copy has not ended yet, or never will. */
  copiedAt: number | null
}

/**
 * The mark of a store that moves to another one. Triggers refuse every change of the registry while it is there; what this
 * program says of that has the place.
 */
export function createMove({ db, read }: Pick<Context, 'db' | 'read'>, change: Change, { run }: Runner) {
  const find = db.prepare<[], Move>(sql.findMove)
  const begin = db.prepare(sql.beginMove)
  const complete = db.prepare(sql.completeMove)
  const abandon = db.prepare(sql.abandonMove)
  const forget = db.prepare(sql.forgetMove)

  return {
    /** Where the store has moved, if it has. Throws an SqliteError. */
    movedTo: () => find.get()?.place,

    /** Whether it has moved, and that has ended. Throws an SqliteError. */
    isCopied: () => (find.get()?.copiedAt ?? null) !== null,

    /** Throws OperatorError where the registry must not change. In a transaction. */
    assertNotMoved(): void {
      const move = find.get()
      if (move) throw hasMoved(move)
    },

    /** Throws OperatorError where the store has moved already. */
    assertNotCopied: (): Promise<void> =>
      read(() => {
        const move = find.get()
        if (move && move.copiedAt !== null) throw hasMoved(move)
      }),

    /** Marks the store. Throws OperatorError where it has moved already; a copy that did not end is no obstacle. */
    begin: (place: string, at: number): Promise<void> =>
      change(() => {
        const move = find.get()
        if (move && move.copiedAt !== null) throw hasMoved(move)
        forget.run()
        begin.run(place, at)
      }),

    /** Throws OperatorError where this mark is there no more, so that the registry may have changed. */
    assertBegun: (place: string, at: number): Promise<void> =>
      read(() => {
        const move = find.get()
        if (move?.place === place && move.beganAt === at) return
        throw markIsGone()
      }),

    /** Records that the copy is complete, and its author. Rejects with OperatorError if this mark no longer exists. */
    complete: (place: string, beganAt: number, audit: Audit): Promise<void> =>
      change(() => {
        if (complete.run(audit.at, place, beganAt).changes === 0) throw markIsGone()
        run(record(audit, [moveEntry('database copied', undefined, place)]))
      }),

    /** Takes this mark away. */
    abandon: (place: string, at: number): Promise<void> => change(() => void abandon.run(place, at)),

    /** Takes any mark away. Resolves to where the store had moved, if it had. */
    reopen: (audit: Audit): Promise<string | undefined> =>
      change(() => {
        const move = find.get()
        if (!move) return undefined
        forget.run()
        run(record(audit, [moveEntry('database reopened', move.place, undefined)]))
        return move.place
      }),
  }

  function moveEntry(action: 'database copied' | 'database reopened', before?: string, after?: string) {
    return databaseEntry(action, db.name, { moved_to: before ?? null }, { moved_to: after ?? null })
  }
}

function markIsGone(): OperatorError {
  return new OperatorError('The store was opened again meanwhile, or is copied a second time.')
}

function hasMoved({ place, beganAt, copiedAt }: Move): OperatorError {
  const since = new Date(copiedAt ?? beganAt).toISOString()
  const sentence =
    copiedAt === null
      ? `The store is being copied to ${place} since ${since}, or that did not end: wait, or copy it again.`
      : `The store has moved to ${place} at ${since}: name that in DATABASE_URL.`
  return new OperatorError(`${sentence} "token-server store reopen" makes it possible again to change it here.`)
}

/** The highest key that a table ever had: no key is used twice, so also of a row that is there no more. */
export interface LastKey {
  name: string
  seq: number
}

/** Reads what is copied to another store. */
export function createPages({ db, read }: Pick<Context, 'db' | 'read'>) {
  const selectLastKeys = db.prepare<[], LastKey>(sql.lastKeys)

  const readPage: ReadPage = (table: Table, after, limit) =>
    read(
      () =>
        db
          .prepare(sql.copyPage(table))
          .raw()
          .all(...after, limit) as Row[],
    )

  return { readPage, lastKeys: () => read(() => selectLastKeys.all()) }
}
