import type { Database as Connection, Statement } from 'better-sqlite3'
import type { Database, Work } from '../shared/work.ts'
import { createChangeDetector, createReader } from './changes.ts'
import { databaseSize, logSize } from './files.ts'
import type { RetryLocked } from './retry-locked.ts'

interface Guards {
  retryLocked: RetryLocked
  /** Throws StoreUnavailable if data read from the database cannot be trusted. */
  assertUsable: () => void
  /** Throws StoreUnavailable if nothing may be written. Call it right before each commit. */
  assertWritable: () => void
  /** Throws StoreUnavailable if the log is full. Call it before each transaction that writes, not within it. */
  assertLogNotFull: () => void
  /** Call it right after each commit that does not wait for the disk. */
  countCommit: () => void
  /** Call it right after every other commit: resolves when it is on disk; rejects with StoreUnavailable. */
  committed: () => Promise<void>
}

export type Context = ReturnType<typeof createContext>

export function createContext(db: Connection, guards: Guards) {
  const { retryLocked, assertUsable, assertWritable, assertLogNotFull, countCommit, committed } = guards
  const changes = createChangeDetector(db, guards)

  return {
    ...guards,
    db,
    changes,
    reader: createReader(changes, retryLocked),
    runner: createRunner(db),

    /** Runs a read that is not cached. */
    read: <Result>(action: () => Result): Promise<Result> =>
      retryLocked(() => {
        assertUsable()
        return action()
      }),

    /** Runs a write without waiting for the disk. No checkpoint follows, since the disk may not be answering. */
    write: <Result>(action: () => Result): Promise<Result> =>
      retryLocked(() => {
        assertLogNotFull()
        assertWritable()
        const result = action()
        countCommit()
        return result
      }),

    /** Runs a change of the registry in one transaction. Resolves when it is on disk; rejects with StoreUnavailable. */
    async change<Result>(action: () => Result): Promise<Result> {
      const transact = db.transaction(action).immediate
      const result = await retryLocked(() => {
        assertLogNotFull()
        assertWritable()
        changes.invalidate('registry')
        return transact()
      })
      await committed()
      return result
    },
  }
}

/** Runs the statements that all stores share, on this connection. Each statement is prepared once. */
export function createRunner(db: Connection) {
  const statements = new Map<string, Statement>()
  // As in PostgreSQL (0006_shared.sql): one row for each element of a JSON array.
  for (const [name, toValue] of Object.entries({ rows_of: JSON.stringify, texts_of: String })) {
    db.table(name, {
      columns: ['value'],
      parameters: ['array'],
      *rows(array) {
        for (const element of JSON.parse(array as string)) yield [toValue(element)]
      },
    })
  }

  function prepare(sql: string): Statement {
    let statement = statements.get(sql)
    if (!statement) {
      statement = db.prepare(sql)
      if (statement.reader) statement.raw()
      statements.set(sql, statement)
    }
    return statement
  }

  function ask<Row>(sql: string, values: readonly unknown[] = []): Row[] {
    const statement = prepare(sql)
    const named = values.length === 0 ? [] : [Object.fromEntries(values.map((value, i) => [i + 1, storable(value)]))]
    if (statement.reader) return statement.all(...named) as Row[]
    statement.run(...named)
    return []
  }

  function run<Result>(work: Work<Result>): Result {
    let step = work.next()
    while (!step.done) step = work.next(ask(step.value.sql, step.value.values))
    return step.value
  }

  return { ask, run, isRead: (sql: string) => prepare(sql).readonly }
}

/** The driver accepts neither undefined nor booleans. */
function storable(value: unknown): unknown {
  return typeof value === 'boolean' ? Number(value) : (value ?? null)
}

/** This database, for the code that all stores share. `assertNotMoved` throws OperatorError if the store has moved. */
export function createShared({ db, runner, read, write, change }: Context, assertNotMoved: () => void): Database {
  const ask: Database['ask'] = (sql, values) =>
    read(() => runner.isRead(sql)).then((isRead) => (isRead ? read : write)(() => runner.ask(sql, values)))
  return {
    ask,
    askPrimary: ask,
    askInBackground: ask,
    transact: (begin, { isCopied }) =>
      change(() => {
        if (isCopied) assertNotMoved()
        return runner.run(begin())
      }),
    size: () => read(() => ({ database: databaseSize(db.name), log: logSize(db.name) })),
    lockOwners: '',
    transactInBackground: (begin) => write(() => db.transaction(() => runner.run(begin())).immediate()),
  }
}
