import { createHash } from 'node:crypto'
import { APPLICATION_COLUMNS } from '../domain/application.ts'
import type { Audit, Author } from '../domain/audit-event.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { StoreUnavailable } from '../domain/store.ts'
import { withPeriod } from '../domain/text.ts'
import type { Clock } from '../domain/time.ts'
import { firstTokenIdAt, TOKEN_LIFETIME } from '../domain/token.ts'
import { type AuditEntry, databaseEntry } from './shared/audit.ts'

/** A store that is to be copied, while others use it. */
export interface Source {
  /** Its location, for messages and the audit trail. */
  database: string
  readPage: ReadPage
  /** The highest key that each table ever had: none is used twice. */
  lastKeys(): Promise<{ name: string; seq: number }[]>
  move: {
    /** Before anything is asked of the target: whoever copies twice may have filled it. */
    assertNotCopied(): Promise<void>
    begin(place: string, at: number): Promise<void>
    assertBegun(place: string, at: number): Promise<void>
    complete(place: string, beganAt: number, audit: Audit): Promise<void>
    abandon(place: string, at: number): Promise<void>
  }
}

/** A transaction in an empty store that nobody else can change meanwhile. */
export interface Target {
  /** The store's place, for people. */
  place: string
  addRows(table: Table, rows: readonly Row[]): Promise<void>
  readPage: ReadPage
  /** The next key of a table will be higher than this one. */
  setLastKey(table: string, key: number): Promise<void>
  record(audit: Audit, entry: AuditEntry): Promise<void>
  commit(): Promise<void>
  /** Undoes what was not committed. */
  close(): void
}

/** How many rows of each table were copied. */
export type Copied = Record<Table, number>

export interface CopyOptions {
  now: Clock
  author: Author
  /** Is told after each page how many rows of a table there are by now. */
  onProgress: (table: Table, rows: number) => void
}

/**
 * Copies a store to an empty one, all or nothing, and compares what is there then. The source is marked first: from then on
 * nobody can change its registry, so what is copied page by page is the registry of one moment, and no reader has to keep an
 * old state alive, which would let the log of the source grow. Its tokens may change meanwhile: withPrevious looks them up.
 * Throws OperatorError; then the source has no mark any more, unless the end is not known.
 */
export async function copy(source: Source, openTarget: () => Promise<Target>, options: CopyOptions): Promise<Copied> {
  try {
    await source.move.assertNotCopied()
    const target = await openTarget()
    return await copyInto(target, source, options).finally(() => target.close())
  } catch (error) {
    throw isExpected(error) ? nothingCopied(error) : error
  }
}

function isExpected(error: unknown): error is Error {
  return (error instanceof OperatorError && !(error instanceof MaybeCopied)) || error instanceof StoreUnavailable
}

function nothingCopied(error: Error): OperatorError {
  return new OperatorError(`${withPeriod(error.message)} Nothing was copied.`, { cause: error })
}

async function copyInto(target: Target, source: Source, { now, author, onProgress }: CopyOptions): Promise<Copied> {
  const beganAt = now()
  await source.move.begin(target.place, beganAt)
  try {
    const issuedAfter = Math.max(beganAt - TOKEN_LIFETIME, 0)
    const counts: [Table, number][] = []
    for (const table of Object.keys(TABLES) as Table[]) {
      counts.push([table, await copyTable(source, target, table, issuedAfter, onProgress)])
    }
    for (const { name, seq } of await source.lastKeys()) await target.setLastKey(name, seq)
    const copied = Object.fromEntries(counts) as Copied
    await target.record({ author, at: now() }, copiedEntry(source, target, copied))
    await source.move.assertBegun(target.place, beganAt)
    await target.commit().catch((error) => {
      throw new MaybeCopied(`It is not known whether the copy to ${target.place} was made`, error)
    })
    await source.move.complete(target.place, beganAt, { author, at: now() }).catch((error) => {
      throw new MaybeCopied(`Everything was copied to ${target.place}, but that cannot be noted here`, error)
    })
    return copied
  } catch (error) {
    // Where that is not possible, the next command says that the copy did not end, and what to do.
    if (!(error instanceof MaybeCopied)) await source.move.abandon(target.place, beganAt).catch(() => {})
    throw error
  }
}

/** The first entry of the target's own, after those that were copied. */
function copiedEntry(source: Source, target: Target, { applications, suites, tokens }: Copied): AuditEntry {
  const after = { copied_from: source.database, applications, suites, tokens }
  return databaseEntry('database copied', target.place, {}, after)
}

/** Copies the rows of a table and reads them back. Resolves to how many they are. */
async function copyTable(
  source: Source,
  target: Target,
  table: Table,
  issuedAfter: number,
  onProgress: CopyOptions['onProgress'],
): Promise<number> {
  const sent = createSummary()
  for await (const rows of pagesOf(table, source.readPage, issuedAfter)) {
    await target.addRows(table, rows)
    sent.add(rows)
    onProgress(table, sent.count())
  }
  const arrived = createSummary()
  for await (const rows of pagesOf(table, target.readPage, 0)) arrived.add(rows)
  if (arrived.count() !== sent.count()) {
    throw new OperatorError(`${target.place} has ${arrived.count()} of ${sent.count()} rows of the table ${table}.`)
  }
  if (arrived.digest() !== sent.digest()) {
    throw new OperatorError(`What has arrived in ${target.place} differs in the table ${table}.`)
  }
  return sent.count()
}

/** The rows may be there. */
class MaybeCopied extends OperatorError {
  constructor(what: string, cause: Error) {
    const again = 'Copy again, and empty that database first where it has applications by now.'
    super(`${what}: ${withPeriod(cause.message)} ${again}`, { cause })
  }
}

/** Types as PostgreSQL names them. In a copied row, bytes are hex. */
type ColumnType = 'bigint' | 'text' | 'uuid' | 'bytea'

interface CopiedTable {
  /** How many columns the key has; they are the first. */
  key: 1 | 2
  columns: Record<string, ColumnType>
}

/** The tables to copy, ordered so that foreign keys are satisfied. Sessions are not copied: operators log in again. */
export const TABLES = {
  suites: { key: 1, columns: { id: 'bigint', suite_id: 'text', name: 'text', created_at: 'bigint' } },
  applications: {
    key: 1,
    columns: {
      id: 'bigint',
      client_id: 'text',
      ...(Object.fromEntries(APPLICATION_COLUMNS.map((column) => [column, 'text'])) as Record<string, 'text'>),
      status: 'text',
      tokens_valid_from: 'bigint',
      created_at: 'bigint',
      token_generation: 'bigint',
    },
  },
  secrets: {
    key: 1,
    columns: {
      id: 'bigint',
      application_id: 'bigint',
      suite_id: 'bigint',
      digest: 'text',
      created_at: 'bigint',
      ends_at: 'bigint',
      revoked_at: 'bigint',
    },
  },
  approvals: { key: 2, columns: { application_id: 'bigint', suite_id: 'bigint' } },
  secret_uses: { key: 1, columns: { secret_id: 'bigint', last_used_at: 'bigint' } },
  application_uses: { key: 1, columns: { application_id: 'bigint', last_token_at: 'bigint' } },
  token_counts: {
    key: 2,
    columns: { hour: 'bigint', application_id: 'bigint', issued: 'bigint', refused: 'bigint' },
  },
  operators: { key: 1, columns: { id: 'bigint', name: 'text', role: 'text', created_at: 'bigint' } },
  admin_keys: {
    key: 1,
    columns: {
      id: 'bigint',
      operator_id: 'bigint',
      digest: 'text',
      created_at: 'bigint',
      ends_at: 'bigint',
      revoked_at: 'bigint',
      last_used_at: 'bigint',
    },
  },
  audit_events: {
    key: 1,
    columns: {
      id: 'bigint',
      at: 'bigint',
      actor: 'text',
      origin: 'text',
      remote_address: 'text',
      request_id: 'text',
      action: 'text',
      subject_kind: 'text',
      subject: 'text',
      before: 'text',
      after: 'text',
    },
  },
  tokens: {
    key: 1,
    columns: {
      id: 'uuid',
      secret_hash: 'bytea',
      application_id: 'bigint',
      issued_at: 'bigint',
      revoked_at: 'bigint',
      generation: 'bigint',
    },
  },
} as const satisfies Record<string, CopiedTable>

export type Table = keyof typeof TABLES

/** How a database reads a column as it is copied, and takes the nth parameter of a statement. */
interface Dialect {
  read(column: string, type: ColumnType): string
  parameter(n: number, type: ColumnType): string
}

/** A page of a table: the rows after a key, in its order. */
export function selectPage(table: Table, { read, parameter }: Dialect): string {
  const columns = Object.entries(TABLES[table].columns)
  const key = columns.slice(0, TABLES[table].key)
  const names = key.map(([name]) => name)
  return `
  SELECT ${columns.map(([name, type]) => read(name, type))}
    FROM ${table}
   WHERE (${names}) > (${key.map(([, type], at) => parameter(at + 1, type))})
   ORDER BY ${names}
   LIMIT ${parameter(key.length + 1, 'bigint')}`
}

type Value = string | number | null

/** A row in the order of the columns; bytes are hex. */
export type Row = Value[]

/** The rows of a table after a key, in the order of the key. */
export type ReadPage = (table: Table, after: Row, limit: number) => Promise<Row[]>

/** How many rows a page has: 0.1 s for PostgreSQL. */
const PAGE = 5000

/** All rows of a table, page by page. Of tokens only those that were issued after a time, in milliseconds since the epoch. */
export async function* pagesOf(table: Table, readPage: ReadPage, issuedAfter: number): AsyncGenerator<Row[], void> {
  const { key } = TABLES[table]
  let after: Row = table === 'tokens' ? [firstTokenIdAt(issuedAfter).toString('hex')] : Array(key).fill(0)
  for (;;) {
    const rows = await readPage(table, after, PAGE)
    if (rows.length > 0) yield rows
    if (rows.length < PAGE) return
    after = (rows.at(-1) as Row).slice(0, key)
  }
}

/** Counts rows, and digests them: the SHA-256 of all of them in order is the same in every store. */
function createSummary() {
  const hash = createHash('sha256')
  let count = 0
  return {
    add(rows: readonly Row[]): void {
      count += rows.length
      // PostgreSQL's driver has numbers as text.
      for (const row of rows) hash.update(`${JSON.stringify(row.map((value) => value?.toString() ?? null))}\n`)
    },
    count: () => count,
    /** To be called once, at the end. */
    digest: () => hash.digest('hex'),
  }
}
