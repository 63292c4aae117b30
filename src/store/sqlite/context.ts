import type { Database as Connection, Statement } from 'better-sqlite3'
import type { Database, Work } from '../shared/work.ts'
import type { ChangeDetector, Reader } from './changes.ts'
import type { RetryLocked } from './retry-locked.ts'

/** What the parts of the SQLite store work with. */
export interface Context {
  db: Connection
  changes: ChangeDetector
  reader: Reader
  retryLocked: RetryLocked
  /** Reads what is not cached. */
  read: RetryLocked
  /** Makes a write that nobody waits for. No checkpoint follows: nobody knows whether the disk answers. */
  write: RetryLocked
  /** Throws StoreUnavailable where nothing may be written. Right before each commit. */
  assertWritable: () => void
  /** Throws StoreUnavailable where the log is full. Before each transaction that writes, not within it. */
  assertRoom: () => void
  /** Right after each commit that is answered: resolves when it is on disk; rejects with StoreUnavailable. */
  committed: () => Promise<void>
}

interface AccessOptions extends Pick<Context, 'retryLocked' | 'assertWritable' | 'assertRoom'> {
  /** Throws StoreUnavailable where nothing that is read can be trusted. */
  assertUsable: () => void
  /** Right after each commit. */
  countCommit: () => void
}

/** The ways to the database that need no cache and no waiting for the disk. */
export function createAccess({
  retryLocked,
  assertUsable,
  assertWritable,
  assertRoom,
  countCommit,
}: AccessOptions): Pick<Context, 'read' | 'write'> {
  return {
    read: (action) =>
      retryLocked(() => {
        assertUsable()
        return action()
      }),
    write: (action) =>
      retryLocked(() => {
        assertRoom()
        assertWritable()
        const result = action()
        countCommit()
        return result
      }),
  }
}

/** Makes one change, in one transaction. Resolves when it is on disk; rejects with StoreUnavailable. */
export type Change = <Result>(action: () => Result) => Promise<Result>

/** A `Change` of what is cached with the registry. */
export function createChange({ db, changes, retryLocked, committed, assertWritable, assertRoom }: Context): Change {
  return async (action) => {
    const transact = db.transaction(action).immediate
    const result = await retryLocked(() => {
      assertRoom()
      assertWritable()
      changes.invalidate('registry')
      return transact()
    })
    await committed()
    return result
  }
}

export type Runner = ReturnType<typeof createRunner>

/** Runs the statements that all stores share on a connection. Each is prepared once. */
export function createRunner(db: Connection) {
  const statements = new Map<string, Statement>()
  // As in PostgreSQL (0006_shared.sql): one row for each element of a JSON array.
  for (const [name, toValue] of [
    ['rows_of', JSON.stringify],
    ['texts_of', String],
  ] as const) {
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
    const named = values.length === 0 ? [] : [Object.fromEntries(values.map((value, at) => [at + 1, storable(value)]))]
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

/** The driver takes neither undefined nor booleans. */
function storable(value: unknown): unknown {
  return typeof value === 'boolean' ? Number(value) : (value ?? null)
}

interface SharedOptions extends Pick<Context, 'db' | 'read' | 'write'> {
  runner: Runner
  change: Change
  /** Throws OperatorError once the store has moved. */
  assertNotMoved: () => void
}

/** The database as the parts that all stores share use it. */
export function createShared({ db, runner, read, write, change, assertNotMoved }: SharedOptions): Database {
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
    transactInBackground: (begin) => write(() => db.transaction(() => runner.run(begin())).immediate()),
  }
}
