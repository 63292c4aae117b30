import { createHash } from 'node:crypto'
import { firstTokenIdAt } from '../domain/token.ts'

/** The tables to copy, ordered so that foreign keys are satisfied. Sessions are not copied: operators log in again. */
export const TABLES = [
  'suites',
  'applications',
  'secrets',
  'approvals',
  'secret_uses',
  'application_uses',
  'token_counts',
  'operators',
  'admin_keys',
  'audit_events',
  'tokens',
] as const

export type Table = (typeof TABLES)[number]

/** How many columns the key of a table has; they are its first. */
const KEY_COLUMNS: Record<Table, number> = {
  suites: 1,
  applications: 1,
  secrets: 1,
  approvals: 2,
  secret_uses: 1,
  application_uses: 1,
  token_counts: 2,
  operators: 1,
  admin_keys: 1,
  audit_events: 1,
  tokens: 1,
}

type Value = string | number | null

/** A row in the order of the columns in every store's statements; bytes are hex. */
export type Row = Value[]

/** The rows of a table after a key, in the order of the key. */
export type ReadPage = (table: Table, after: Row, limit: number) => Promise<Row[]>

/** How many rows a page has: 0.1 s for PostgreSQL. */
const PAGE = 5000

/** All rows of a table, page by page. Of tokens only those that were issued after a time, in milliseconds since the epoch. */
export async function* pagesOf(table: Table, readPage: ReadPage, issuedAfter: number): AsyncGenerator<Row[], void> {
  const columns = KEY_COLUMNS[table]
  let after: Row = table === 'tokens' ? [firstTokenIdAt(issuedAfter).toString('hex')] : Array(columns).fill(0)
  for (;;) {
    const rows = await readPage(table, after, PAGE)
    if (rows.length > 0) yield rows
    if (rows.length < PAGE) return
    after = (rows.at(-1) as Row).slice(0, columns)
  }
}

/** Counts rows, and digests them: the SHA-256 of all of them in order is the same in every store. */
export function createSummary() {
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
