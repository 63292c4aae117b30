// Which server this is, and whether its commits are durable.

export const describeServer = `
  SELECT pg_is_in_recovery(),
         current_setting('transaction_read_only'),
         current_setting('synchronous_commit'),
         current_setting('server_encoding'),
         extract(epoch FROM pg_postmaster_start_time())::text`

// Settings with which a crash or, if $1 says that there are several servers, a failover loses reported commits.
export const listRiskySettings = `
  SELECT name || '=' || setting
    FROM pg_settings
   WHERE (name IN ('fsync', 'full_page_writes') AND setting = 'off')
      OR (name = 'synchronous_standby_names' AND setting = '' AND $1::boolean)
   ORDER BY name`

// Statements that wait for a standby or a locked table. No time-out ends them, and any further statement would wait, too.
export const countStuck = `
  SELECT count(*)
    FROM pg_stat_activity
   WHERE usename = current_user
     AND (wait_event = 'SyncRep' OR (wait_event_type = 'Lock' AND wait_event = 'relation'))
     AND query_start < now() - interval '1 second'`

// For prepared reads of tokens: a plan made while the table was small would still read all of it once it has grown. The setting
// makes plans look so expensive that PostgreSQL before 18 would compile them. Behind a PgBouncer, other connections of this
// program may inherit the settings, which harms none of their statements.
export const planForLargeTables = "SELECT set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false)"

// A commit that leaves no row behind and waits for the standbys like any other.
export const heartbeat = `
  SELECT pg_logical_emit_message(true, 'token-server', ''),
         current_setting('synchronous_commit'),
         extract(epoch FROM pg_postmaster_start_time())::text`

// Overrides the settings of the role and the database: at a higher isolation level, statements that had to wait for a lock fail.
// The time-out is for a node whose machine has died: otherwise its locks would last for the two hours of TCP's keepalive.
export const begin = `
  BEGIN ISOLATION LEVEL READ COMMITTED;
  SET LOCAL idle_in_transaction_session_timeout = '5s'`

// Begins work that no request waits for. A wait for a lock ends before `countStuck` of other nodes counts it. The commit waits
// for no standby: if the time-out ended that wait, PostgreSQL would report success.
export const beginInBackground = `
  BEGIN ISOLATION LEVEL READ COMMITTED;
  SET LOCAL idle_in_transaction_session_timeout = '5s';
  SET LOCAL lock_timeout = '500ms';
  SET LOCAL statement_timeout = '1s';
  SET LOCAL synchronous_commit = off`

// Settings for one transaction only: behind a PgBouncer the next one may belong to another client.

// Its commit is durable even if a reload of the server's settings has just switched synchronous_commit off.
export const insistOnDurability = `
  set_config('synchronous_commit', CASE current_setting('synchronous_commit')
    WHEN 'off' THEN 'on' WHEN 'local' THEN 'on' ELSE current_setting('synchronous_commit') END, true)`

export const prepareTransaction = `SELECT set_config('lock_timeout', $1, true), ${insistOnDurability}`

// Changes to the registry begin with this lock, so all nodes make them one by one, and what a change reads is still true when it
// writes.
export const lockRegistry = 'SELECT registry FROM changes FOR UPDATE'

// One node at a time writes refusals and usage. It waits neither for the disk nor for a standby: losing some in a crash is
// acceptable.
export const lockRefusals = "SELECT pg_advisory_xact_lock(7033017, 3), set_config('synchronous_commit', 'off', true)"

// Migrations.

export const lockMigrations = 'SELECT pg_advisory_xact_lock(7033017, 1)'

/**
 * Before a migration changes tables under other programs: all others wait before they hold a lock that it needs. Who writes locks
 * `tokens` before `changes`; who reads locks `changes` before views and tables, and views before their tables.
 */
export const lockInOrder = `
  DO $$
    DECLARE view text;
    BEGIN
      IF to_regclass('tokens') IS NULL OR to_regclass('changes') IS NULL THEN RETURN; END IF;
      LOCK TABLE changes IN EXCLUSIVE MODE;
      LOCK TABLE tokens IN EXCLUSIVE MODE;
      LOCK TABLE changes IN ACCESS EXCLUSIVE MODE;
      -- Those of others, such as of the extension pg_stat_statements, only their owners can lock, and no request reads them.
      FOR view IN SELECT viewname
                    FROM pg_views
                   WHERE schemaname = current_schema() AND pg_has_role(viewowner, 'USAGE')
                   ORDER BY viewname LOOP
        -- Changes nothing, and locks the view without its tables, which LOCK TABLE would lock, too.
        EXECUTE format('ALTER VIEW %I RESET (security_barrier)', view);
      END LOOP;
    END $$`

// Also looks for this column, because other programs have a table of that name, too.
export const findMigrations = `
  SELECT EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = to_regclass('migrations') AND attname = 'number')`

export const createMigrations = `
  CREATE TABLE migrations (
    number     integer PRIMARY KEY,
    name       text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
  )`

export const oldestProgram = 'SELECT oldest_program FROM compatibility'

export const countTables = `
  SELECT count(*)
    FROM pg_class c
   WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
     AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')`

// Whether the view new_$1 differs from the view $1.
export const isNewView = `
  SELECT pg_get_viewdef(to_regclass($1)) IS DISTINCT FROM pg_get_viewdef(to_regclass('new_' || $1))`
