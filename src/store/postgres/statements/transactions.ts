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
