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
