// Which server this is, and whether it keeps the promises of the port.

export const lookAtServer = `
  SELECT pg_is_in_recovery(),
         current_setting('transaction_read_only'),
         current_setting('synchronous_commit'),
         current_setting('server_encoding'),
         extract(epoch FROM pg_postmaster_start_time())::text`

// Patroni and its like count the timeline up with every promotion.
export const lookAtTimeline = `
  SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)`

// What waits for a standby, or for somebody who has locked a table: no timeout ends it, and one more would only wait as well.
export const countStuck = `
  SELECT count(*)
    FROM pg_stat_activity
   WHERE usename = current_user
     AND (wait_event = 'SyncRep' OR (wait_event_type = 'Lock' AND wait_event = 'relation'))
     AND query_start < now() - interval '1 second'`

// A commit that leaves no row behind, and that waits for the standbys as any other.
export const heartbeat = `
  SELECT pg_logical_emit_message(true, 'token-server', ''),
         current_setting('synchronous_commit'),
         extract(epoch FROM pg_postmaster_start_time())::text`

// Transactions of several statements, and what they begin with.

// Whatever the role or the database has: at a higher level what had to wait for a lock fails. And a node whose machine has
// died does not end its connection: its locks would stay for the two hours of TCP's keepalive.
export const begin = `
  BEGIN ISOLATION LEVEL READ COMMITTED;
  SET LOCAL idle_in_transaction_session_timeout = '5s'`

// For work that no request is for. A wait for a lock ends before other nodes take it for a sign that the server is stuck
// (statements/session.ts). The commit waits for no standby: given up while it does, it would be answered as if it was safe.
export const beginInBackground = `
  BEGIN ISOLATION LEVEL READ COMMITTED;
  SET LOCAL idle_in_transaction_session_timeout = '5s';
  SET LOCAL lock_timeout = '500ms';
  SET LOCAL statement_timeout = '1s';
  SET LOCAL synchronous_commit = off`

export const commit = `
  COMMIT`

export const rollback = `
  ROLLBACK`

// For this transaction only: behind a PgBouncer the next one may be another client's.
export const setLockTimeout = `
  SELECT set_config('lock_timeout', $1, true)`

// Changes to the registry begin with this lock: they are made one by one, whichever node makes them. So what one looks for is
// still so when it writes.
export const lockRegistry = `
  SELECT registry FROM changes FOR UPDATE`

// Refusals: one node at a time writes them. It does not wait for the disk or a standby: refusals that a crash takes are no loss.
export const lockRefusals = `
  SELECT pg_advisory_xact_lock(7033017, 3), set_config('synchronous_commit', 'off', true)`

// How the schema comes to its version.

export const lockMigrations = `
  SELECT pg_advisory_xact_lock(7033017, 1)`

// With this column: other programs have a table of that name, too.
export const findMigrations = `
  SELECT EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = to_regclass('migrations') AND attname = 'number')`

export const createMigrations = `
  CREATE TABLE migrations (
    number     integer PRIMARY KEY,
    name       text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
  )`

export const schemaVersion = `
  SELECT coalesce(max(number), 0) FROM migrations`

export const insertMigration = `
  INSERT INTO migrations (number, name) VALUES ($1, $2)`

export const oldestProgram = `
  SELECT oldest_program FROM compatibility`

export const countTables = `
  SELECT count(*)
    FROM pg_class c
   WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
     AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')`

// For a read-only view of a store (inspect.ts), and its size.

export const serverVersion = `
  SELECT current_setting('server_version')`

export const clock = `
  SELECT extract(epoch FROM clock_timestamp()) * 1000`

export const databaseSize = `
  SELECT pg_database_size(current_database())`
