import t from 'tap'
import { openDatabase } from '../../src/store/sqlite/connection.ts'
import { query } from '../support/postgres/databases.ts'
import { startDatabases } from '../support/postgres/postgres.ts'

/** Columns that only one of them has: for migrations, caching, moving the store, and nodes. */
const ONLY_SQLITE = ['changes revocations', 'moved began_at', 'moved copied_at', 'moved place']
const NODES = 'id name version started_at last_seen_at workers_expected workers_serving tokens checks refusals'
const ONLY_POSTGRES = [
  ...['migrations applied_at', 'migrations name', 'migrations number'],
  ...NODES.split(' ').map((column) => `nodes ${column}`),
]

const { createDatabase } = await startDatabases()

t.test('Schemas: SQLite and PostgreSQL have the same tables and views with the same columns', async (t) => {
  const db = openDatabase(':memory:', (db) => db)
  t.teardown(() => db.close())
  const statement = `SELECT tables.name || ' ' || columns.name
      FROM sqlite_schema tables, pragma_table_xinfo(tables.name) columns
     WHERE tables.type IN ('table', 'view') AND tables.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`
  const sqlite = db.prepare(statement).pluck().all() as string[]

  const names = "SELECT table_name || ' ' || column_name AS name FROM information_schema.columns"
  const columns = await query(await createDatabase(), `${names} WHERE table_schema = 'public'`)
  const postgres = columns.map(({ name }) => name as string)

  t.ok(sqlite.includes('tokens secret_hash'))
  t.strictSame([...sqlite, ...ONLY_POSTGRES].sort(), [...postgres, ...ONLY_SQLITE].sort())
})
