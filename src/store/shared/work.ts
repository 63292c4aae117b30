import type { StoreFigures } from '../../domain/store.ts'

// What is the same for every store is written once, in SQL that both databases understand: `$1` is the first value, and the
// functions `texts_of` and `rows_of` take lists. PostgreSQL has them from a migration, SQLite from context.ts.

/**
 * The statements of one transaction: a generator that yields each statement and receives its rows. SQLite runs it
 * synchronously, PostgreSQL awaits each answer.
 */
export type Work<Result> = Generator<{ sql: string; values: readonly unknown[] }, Result, unknown[][]>

/** Runs one statement. Its rows are arrays of columns. */
export function* ask<Row extends unknown[]>(sql: string, values: readonly unknown[] = []): Work<Row[]> {
  return (yield { sql, values }) as Row[]
}

/** Runs a statement with the values `$1`, `$2` … Resolves to its rows as arrays. */
export type Ask = <Row extends unknown[]>(sql: string, values?: unknown[]) => Promise<Row[]>

/** How the shared parts of a store use its database. Every method rejects with StoreUnavailable. */
export interface Database {
  ask: Ask
  /** Asks about permissions: only a server that is certain to be the primary answers. */
  askPrimary: Ask
  /** Sends statements that no request waits for. Their changes may be lost in a crash. */
  askInBackground: Ask
  /**
   * Makes a change in one transaction, durable when it resolves. Calls `begin` again whenever the database was locked. `isCopied`
   * is whether the changed data moves with the store. If so, this rejects with OperatorError once the store has moved.
   */
  transact<Result>(begin: () => Work<Result>, options: { isCopied: boolean }): Promise<Result>
  /** Like `transact`, but no request waits for it, and the change may be lost in a crash. */
  transactInBackground<Result>(begin: () => Work<Result>): Promise<Result>
  size(): Promise<StoreFigures['size']>
  /** The end of a SELECT: keeps its rows from being removed in this transaction, and skips those that are being removed. */
  lockOwners: string
}

/** Comes after every key, id and time. */
export const END = Number.MAX_SAFE_INTEGER

/** The first value of the first row, such as a count; undefined if there are no rows. */
export async function singleValue<Value>(rows: Promise<unknown[][]>): Promise<Value> {
  return (await rows)[0]?.[0] as Value
}

export function toObjects<Item>(rows: readonly unknown[][], ...names: (keyof Item)[]): Item[] {
  return rows.map((row) => {
    const item: Partial<Record<keyof Item, unknown>> = {}
    // Object.fromEntries takes four times as long, and a search reads the names of all applications.
    for (const [nth, name] of names.entries()) item[name] = row[nth]
    return item as Item
  })
}

/** Encodes names for `texts_of`. Names with NUL, which PostgreSQL cannot store, are left out: no row has one. */
export function namesJson(names: readonly string[]): string {
  return JSON.stringify(names.filter((name) => !name.includes('\0')).map((name) => name.toWellFormed()))
}

/** Encodes rows for `rows_of`, each with its position. */
export function rowsJson(rows: readonly object[]): string {
  return JSON.stringify(rows.map((row, position) => ({ ...row, position })))
}
