import type { ReadPage, Row, Table } from '../copied.ts'
import type { Context } from './context.ts'
import * as sql from './statements/copy.ts'

/** The highest key that a table ever had: no key is used twice, so also of a row that is there no more. */
export interface LastKey {
  name: string
  seq: number
}

/** Reads what is copied to another store. */
export function createPages({ db, read }: Pick<Context, 'db' | 'read'>) {
  const selects = new Map(
    Object.entries(sql.copyPages).map(([table, statement]) => [table, db.prepare(statement).raw()]),
  )
  const selectLastKeys = db.prepare<[], LastKey>(sql.lastKeys)

  const readPage: ReadPage = (table: Table, after, limit) =>
    read(() => selects.get(table)?.all(...after, limit) as Row[])

  return { readPage, lastKeys: () => read(() => selectLastKeys.all()) }
}
