import { locationText, type PostgresLocation } from '../../domain/database-location.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import { type ReadPage, type Row, selectPage, TABLES, type Table, type Target } from '../copy.ts'
import { record } from '../shared/audit.ts'
import { runWork } from './commands.ts'
import { askWithin } from './connection.ts'
import { PostgresUnavailable } from './errors.ts'
import { findPrimary } from './find-primary.ts'
import { migrate } from './migrate.ts'
import { begin, lockRegistry, prepareTransaction } from './statements/session.ts'

/** How long one step of a copy may take: a page, or the commit, which waits for the standbys. */
const STEP_TIMEOUT_MS = 60_000

/** How long the copy waits for others that change the registry of the target. */
const LOCK_TIMEOUT = '2s'

// Overrides the role's and the database's settings: a copy may take minutes, and pauses between its statements.
const limitCopy = `
  SELECT set_config('lock_timeout', '0', true),
         set_config('statement_timeout', '0', true),
         set_config('idle_in_transaction_session_timeout', '60s', true)`

// Names the tables that have rows. The rows of the other tables that are copied belong to rows of these.
const findFilledTables = [
  ...['applications', 'suites', 'secrets', 'tokens', 'token_counts', 'usage_counts', 'operators', 'audit_events'],
  'notices',
]
  .map((table) => `SELECT '${table}' WHERE EXISTS (SELECT FROM ${table})`)
  .join(' UNION ALL ')

// A rollback does not undo this, which is harmless: keys are skipped, never used twice.
const setLastKey = "SELECT setval(pg_get_serial_sequence($1, 'id'), $2)"

/**
 * Begins a transaction in an empty store, and keeps others from changing its registry. Creates the store if there is none.
 * Rejects with OperatorError if the store is not empty, and with StoreUnavailable.
 */
export async function openTarget(location: PostgresLocation): Promise<Target> {
  const place = locationText(location)
  const { connection } = await findPrimary(location)
  const ask = askWithin(connection, STEP_TIMEOUT_MS)
  const close = () => connection.destroy(new PostgresUnavailable('the copy has ended'))
  try {
    await migrate(connection)
    await ask(begin)
    await ask(prepareTransaction, [LOCK_TIMEOUT])
    await ask(lockRegistry)
    await ask(limitCopy)
    const found = (await ask<[table: string]>(findFilledTables)).map(([table]) => table.replace('_', ' '))
    if (found.length > 0)
      throw new OperatorError(`${place} has ${found.join(', ')} already: copy to an empty database.`)
  } catch (error) {
    close()
    throw error
  }

  const readPage: ReadPage = (table, after, limit) => ask<Row>(copyPage(table), [...after, limit])

  return {
    place,
    readPage,
    async addRows(table, rows) {
      const columns = (rows[0] as Row).map((_, column) => rows.map((row) => row[column]))
      await ask(insertRows(table), columns)
    },
    setLastKey: async (table, key) => void (await ask(setLastKey, [table, key])),
    record: (audit, entry) => runWork(record(audit, [entry]), ask),
    commit: async () => void (await ask('COMMIT')),
    close,
  }
}

function insertRows(table: Table): string {
  const columns = Object.entries(TABLES[table].columns)
  const names = columns.map(([name]) => name)
  const arrays = columns.map(([, type], index) => `$${index + 1}::${type === 'bytea' ? 'text' : type}[]`)
  return `
  INSERT INTO ${table} (${names})
  SELECT ${columns.map(([name, type]) => (type === 'bytea' ? `decode(${name}, 'hex')` : name))}
    FROM unnest(${arrays}) AS copied (${names})`
}

/** Reads rows as SQLite does: bytes and ids of tokens are hex. */
function copyPage(table: Table): string {
  return selectPage(table, {
    read(column, type) {
      if (type === 'uuid') return `replace(${column}::text, '-', '')`
      return type === 'bytea' ? `encode(${column}, 'hex')` : column
    },
    parameter: (n) => `$${n}`,
  })
}
