// What is the same in every store is written once, for both databases. Its SQL is what both understand: `$1` for the first
// value, and for lists the functions `texts_of` and `rows_of`, which PostgreSQL has by a migration and SQLite by context.ts.

/** A statement and its values. */
export interface Statement {
  sql: string
  values: readonly unknown[]
}

/**
 * Several statements of one transaction: a generator that yields each, and is given its rows. SQLite runs it without a pause,
 * PostgreSQL awaits each answer.
 */
export type Work<Result> = Generator<Statement, Result, unknown[][]>

/** Asks for the rows of one statement, as arrays of its columns. */
export function* ask<Row extends unknown[]>(sql: string, values: readonly unknown[] = []): Work<Row[]> {
  return (yield { sql, values }) as Row[]
}

type AskOnce = <Row extends unknown[]>(sql: string, values?: unknown[]) => Promise<Row[]>

/** How the shared parts of a store use its database. All reject with StoreUnavailable. */
export interface Database {
  ask: AskOnce
  /** For permissions: no server answers that may not be the primary any more. */
  askPrimary: AskOnce
  /** For what no request waits for. What it changes may be lost in a crash. */
  askInBackground: AskOnce
  /**
   * Makes a change in one transaction, durable when it resolves. Calls `begin` again whenever the database was locked.
   * `isCopied`: whether it changes what is copied when the store moves; rejects with OperatorError once it has moved.
   */
  transact<Result>(begin: () => Work<Result>, options: { isCopied: boolean }): Promise<Result>
  /** The same for what no request waits for, and what may be lost in a crash. */
  transactInBackground<Result>(begin: () => Work<Result>): Promise<Result>
}

/** Names as one value, for `texts_of`. PostgreSQL cannot hold NUL: no row has a name with one. */
export function namesJson(names: readonly string[]): string {
  return JSON.stringify(names.filter((name) => !name.includes('\0')).map((name) => name.toWellFormed()))
}

/** Rows as one value, for `rows_of`: each has its position among them. */
export function rowsJson(rows: readonly object[]): string {
  return JSON.stringify(rows.map((row, position) => ({ ...row, position })))
}
