import { createHash } from 'node:crypto'
import { LIST_COLUMNS, TEXT_COLUMNS } from '../domain/application.ts'
import type { Author, Authorship } from '../domain/audit-event.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { type Store, StoreUnavailable } from '../domain/store.ts'
import { withPeriod } from '../domain/text.ts'
import type { Clock } from '../domain/time.ts'
import { firstTokenIdAt, TOKEN_LIFETIME } from '../domain/token.ts'
import { type AuditEntry, databaseEntry } from './shared/audit.ts'

/** The store to copy; it may be in use. Its `move` is documented in sqlite/move.ts. */
export interface Source extends Pick<Store, 'chainAuditEvents'> {
  /** Its location, for messages and the audit trail. */
  database: string
  readPage: ReadPage
  /** The highest key that each table has ever had. */
  lastKeys(): Promise<{ name: string; seq: number }[]>
  move: {
    assertNotCopied(): Promise<void>
    begin(place: string, at: number): Promise<void>
    assertBegun(place: string, at: number): Promise<void>
    complete(place: string, beganAt: number, audit: Authorship): Promise<void>
    abandon(place: string, at: number): Promise<void>
  }
}

/** A transaction in an empty store, which is locked against other changes. */
export interface Target {
  /** Its location, for messages. */
  place: string
  addRows(table: Table, rows: readonly Row[]): Promise<void>
  readPage: ReadPage
  /** The next key of the table will be higher than this one. */
  setLastKey(table: string, key: number): Promise<void>
  record(audit: Authorship, entry: AuditEntry): Promise<void>
  commit(): Promise<void>
  /** Rolls back unless committed. */
  close(): void
}

export type Copied = Record<Table, number>

export interface CopyOptions {
  now: Clock
  author: Author
  /** Called after each page with the number of rows copied so far. */
  onProgress: (table: Table, rows: number) => void
}

/**
 * Copies a store into an empty one, all or nothing, and compares the rows afterwards. First marks the source as moving, which
 * freezes the registry. So the pages are consistent without a long read transaction, which would let the source's log grow.
 * Tokens may still change during the copy; `withPrevious` looks those up. Throws OperatorError; the mark is then removed, unless
 * the copy may have been committed.
 */
export async function copy(source: Source, openTarget: () => Promise<Target>, options: CopyOptions): Promise<Copied> {
  try {
    // Checked first: after an earlier copy, the target would only report that it is not empty.
    await source.move.assertNotCopied()
    // Otherwise the server that uses it could chain events after a part of them was copied.
    while (await source.chainAuditEvents(PAGE, options.now()));
    const target = await openTarget()
    return await copyInto(target, source, options).finally(() => target.close())
  } catch (error) {
    if (error instanceof MaybeCopied) throw error
    if (!(error instanceof OperatorError || error instanceof StoreUnavailable)) throw error
    throw new OperatorError(`${withPeriod(error.message)} Nothing was copied.`, { cause: error })
  }
}

async function copyInto(target: Target, source: Source, { now, author, onProgress }: CopyOptions): Promise<Copied> {
  const { place } = target
  const beganAt = now()
  await source.move.begin(place, beganAt)
  try {
    const issuedAfter = Math.max(beganAt - TOKEN_LIFETIME, 0)
    const copied = {} as Copied
    for (const table of Object.keys(TABLES) as Table[]) {
      copied[table] = await copyTable(source, target, table, issuedAfter, onProgress)
    }
    for (const { name, seq } of await source.lastKeys()) await target.setLastKey(name, seq)
    const { applications, suites, tokens } = copied
    const after = { copied_from: source.database, applications, suites, tokens }
    await target.record({ author, at: now() }, databaseEntry('database copied', place, {}, after))
    await source.move.assertBegun(place, beganAt)
    await target.commit().catch((error) => {
      throw new MaybeCopied(`It is not known whether the copy to ${place} was made`, error)
    })
    await source.move.complete(place, beganAt, { author, at: now() }).catch((error) => {
      throw new MaybeCopied(`Everything was copied to ${place}, but that cannot be recorded in the old store`, error)
    })
    return copied
  } catch (error) {
    // If the mark cannot be removed, the next command reports an unfinished copy and what to do about it.
    if (!(error instanceof MaybeCopied)) await source.move.abandon(place, beganAt).catch(() => {})
    throw error
  }
}

async function copyTable(
  source: Source,
  target: Target,
  table: Table,
  issuedAfter: number,
  onProgress: CopyOptions['onProgress'],
): Promise<number> {
  const sent = await summarize(pagesOf(table, source.readPage, issuedAfter), async (rows, count) => {
    await target.addRows(table, rows)
    onProgress(table, count)
  })
  const arrived = await summarize(pagesOf(table, target.readPage, 0))
  if (arrived.count !== sent.count) {
    throw new OperatorError(`${target.place} has ${arrived.count} of ${sent.count} rows of the table ${table}.`)
  }
  if (arrived.digest !== sent.digest) {
    throw new OperatorError(`The rows of the table ${table} in ${target.place} differ from those that were sent.`)
  }
  return sent.count
}

/** The copy may have been committed. */
class MaybeCopied extends OperatorError {
  constructor(what: string, cause: Error) {
    const again = 'Copy again; if that database has applications by now, empty it first.'
    super(`${what}: ${withPeriod(cause.message)} ${again}`, { cause })
  }
}

/** PostgreSQL's names for types. In copied rows, uuid and bytea are hex. */
type ColumnType = 'bigint' | 'text' | 'uuid' | 'bytea'

/** The first `keyLength` columns are the primary key. */
function describeTable(keyLength: 1 | 2 | 3, columnsByType: Partial<Record<ColumnType, readonly string[]>>) {
  const types = Object.entries(columnsByType) as [ColumnType, string[]][]
  const columns = types.flatMap(([type, names]) => names.map((name) => [name, type] as const))
  return { keyLength, columns: Object.fromEntries(columns) as Record<string, ColumnType> }
}

/** The tables to copy, ordered so that foreign keys are satisfied. docs/operations/moving-to-postgresql.md names what is not copied. */
export const TABLES = {
  suites: describeTable(1, {
    bigint: ['id', 'created_at', 'applied_at'],
    text: ['suite_id', 'name', 'url', 'labels', 'note', 'managed_by'],
  }),
  applications: describeTable(1, {
    bigint: ['id', 'tokens_valid_from', 'created_at', 'token_generation', 'quota', 'applied_at'],
    text: ['client_id', ...TEXT_COLUMNS, 'status', 'labels', ...LIST_COLUMNS],
  }),
  secrets: describeTable(1, {
    bigint: ['id', 'application_id', 'suite_id', 'created_at', 'ends_at', 'revoked_at'],
    text: ['digest', 'federated', 'keys_from'],
  }),
  federated_issuers: describeTable(1, {
    text: ['issuer', 'keys', 'problem'],
    bigint: ['fetched_at', 'tried_at', 'answered_at'],
  }),
  approvals: describeTable(2, { bigint: ['application_id', 'suite_id'] }),
  secret_uses: describeTable(1, { bigint: ['secret_id', 'last_used_at', 'from_at'], text: ['last_used_from'] }),
  application_uses: describeTable(1, { bigint: ['application_id', 'last_token_at'] }),
  token_counts: describeTable(2, { bigint: ['hour', 'application_id', 'issued', 'refused'] }),
  usage_counts: describeTable(3, { bigint: ['span', 'since', 'owner_id', 'tokens', 'checks', 'refusals'] }),
  operators: describeTable(1, { bigint: ['id', 'created_at'], text: ['name', 'role', 'email'] }),
  admin_keys: describeTable(1, {
    bigint: ['id', 'operator_id', 'created_at', 'ends_at', 'revoked_at', 'last_used_at'],
    text: ['digest'],
  }),
  audit_events: describeTable(1, {
    bigint: ['id', 'at', 'chained_at', 'previous_at'],
    text: [
      ...['actor', 'actor_email', 'origin', 'remote_address', 'request_id', 'action', 'subject_kind', 'subject'],
      ...['before', 'after', 'previous_hash', 'hash'],
    ],
  }),
  notices: describeTable(1, {
    bigint: ['id', 'priority', 'at', 'seen_at', 'due_at', 'attempts', 'status', 'sent_at'],
    text: ['matter', 'event', 'stage', 'message_id', 'body', 'problem'],
  }),
  tokens: describeTable(1, {
    uuid: ['id'],
    bytea: ['secret_hash'],
    bigint: ['application_id', 'issued_at', 'revoked_at', 'generation'],
    text: ['audience'],
  }),
}

export type Table = keyof typeof TABLES

/** How the SQL of a database reads a copied column, and writes the nth parameter of a statement. */
interface Dialect {
  read(column: string, type: ColumnType): string
  parameter(n: number, type: ColumnType): string
}

/** SQL for a page of a table: the rows after a key, ordered by key. */
export function selectPage(table: Table, { read, parameter }: Dialect): string {
  const columns = Object.entries(TABLES[table].columns)
  const key = columns.slice(0, TABLES[table].keyLength)
  const names = key.map(([name]) => name)
  return `
  SELECT ${columns.map(([name, type]) => read(name, type))}
    FROM ${table}
   WHERE (${names}) > (${key.map(([, type], index) => parameter(index + 1, type))})
   ORDER BY ${names}
   LIMIT ${parameter(key.length + 1, 'bigint')}`
}

/** A row in the order of the columns; bytes are hex. */
export type Row = (string | number | null)[]

/** The rows of a table after a key, ordered by key. */
export type ReadPage = (table: Table, after: Row, limit: number) => Promise<Row[]>

/** Rows per page. PostgreSQL needs 0.1 s for one page. */
const PAGE = 5000

/** All rows of a table, page by page; of the tokens, only those issued after a given time. */
async function* pagesOf(table: Table, readPage: ReadPage, issuedAfter: number): AsyncGenerator<Row[], void> {
  const { keyLength } = TABLES[table]
  let after: Row = table === 'tokens' ? [firstTokenIdAt(issuedAfter).toString('hex')] : Array(keyLength).fill(0)
  for (;;) {
    const rows = await readPage(table, after, PAGE)
    if (rows.length > 0) yield rows
    if (rows.length < PAGE) return
    after = (rows.at(-1) as Row).slice(0, keyLength)
  }
}

/** Counts rows and hashes them with SHA-256. The same rows in the same order have the same digest in every store. */
async function summarize(pages: AsyncIterable<Row[]>, onPage?: (rows: Row[], count: number) => Promise<void>) {
  const hash = createHash('sha256')
  let count = 0
  for await (const rows of pages) {
    count += rows.length
    await onPage?.(rows, count)
    // PostgreSQL's driver returns numbers as text.
    for (const row of rows) hash.update(`${JSON.stringify(row.map((value) => value?.toString() ?? null))}\n`)
  }
  return { count, digest: hash.digest('hex') }
}
