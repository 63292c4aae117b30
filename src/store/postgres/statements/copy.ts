import { type Column, columnsOf, type Table } from '../../copy.ts'

// Whatever the role or the database has: a copy may take minutes, and pauses between its statements.
export const limitCopy = `
  SELECT set_config('lock_timeout', '0', true),
         set_config('statement_timeout', '0', true),
         set_config('idle_in_transaction_session_timeout', '60s', true)`

/** Names the tables that have rows; the rows of the other tables belong to rows of these. */
export const findRows = ['applications', 'suites', 'secrets', 'tokens', 'token_counts', 'operators', 'audit_events']
  .map((table) => `SELECT '${table}' WHERE EXISTS (SELECT FROM ${table})`)
  .join(' UNION ALL ')

/** Inserts rows, given as one array for each column. */
export function insertRows(table: Table): string {
  const { columns } = columnsOf(table)
  const names = columns.map(({ name }) => name)
  const arrays = columns.map(({ type }, at) => `$${at + 1}::${type === 'bytea' ? 'text' : type}[]`)
  const values = columns.map(({ name, type }) => (type === 'bytea' ? `decode(${name}, 'hex')` : name))
  return `
  INSERT INTO ${table} (${names})
  SELECT ${values}
    FROM unnest(${arrays}) AS copied (${names})`
}

/** The rows after a key, in its order, as SQLite's pages are: bytes are hex. */
export function selectPage(table: Table): string {
  const { columns, key } = columnsOf(table)
  const names = key.map(({ name }) => name)
  return `
  SELECT ${columns.map(asCopied)}
    FROM ${table}
   WHERE (${names}) > (${names.map((_, at) => `$${at + 1}`)})
   ORDER BY ${names}
   LIMIT $${names.length + 1}`
}

function asCopied({ name, type }: Column): string {
  if (type === 'uuid') return `replace(${name}::text, '-', '')`
  return type === 'bytea' ? `encode(${name}, 'hex')` : name
}

// Not undone with the transaction, and not to be: no key is used twice.
export const setLastKey = `
  SELECT setval(pg_get_serial_sequence($1, 'id'), $2)`
