import { selectPage, TABLES, type Table } from '../../copy.ts'

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
  const columns = Object.entries(TABLES[table].columns)
  const names = columns.map(([name]) => name)
  const arrays = columns.map(([, type], at) => `$${at + 1}::${type === 'bytea' ? 'text' : type}[]`)
  return `
  INSERT INTO ${table} (${names})
  SELECT ${columns.map(([name, type]) => (type === 'bytea' ? `decode(${name}, 'hex')` : name))}
    FROM unnest(${arrays}) AS copied (${names})`
}

/** Reads rows as SQLite does: bytes are hex, and ids of tokens too. */
export function copyPage(table: Table): string {
  return selectPage(table, {
    read(column, type) {
      if (type === 'uuid') return `replace(${column}::text, '-', '')`
      return type === 'bytea' ? `encode(${column}, 'hex')` : column
    },
    parameter: (n) => `$${n}`,
  })
}

// Not undone with the transaction, and not to be: no key is used twice.
export const setLastKey = `
  SELECT setval(pg_get_serial_sequence($1, 'id'), $2)`
