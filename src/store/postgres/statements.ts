// Every statement that the PostgreSQL store sends, whole but for the three parts that come first. None has a name: named
// ones need a PgBouncer that knows them (docs/adr/0018).

const SECRET = `
                      json_build_object(
                        'id', s.id,
                        'digest', s.digest,
                        'createdAt', s.created_at,
                        'endsAt', s.ends_at,
                        'revokedAt', s.revoked_at)
                      ORDER BY s.id`

const APPLICATION = `
         json_build_object(
           'key', a.id,
           'clientId', a.client_id,
           'name', a.name,
           'developerEmail', a.developer_email,
           'status', a.status,
           'tokenGeneration', a.token_generation,
           'tokensValidFrom', a.tokens_valid_from,
           'createdAt', a.created_at,
           'suites', (
             SELECT coalesce(json_agg(s.suite_id ORDER BY s.id), '[]')
               FROM approvals p
               JOIN suites s ON s.id = p.suite_id
              WHERE p.application_id = a.id),
           'secrets', (
             SELECT coalesce(json_agg(${SECRET}), '[]')
               FROM secrets s
              WHERE s.application_id = a.id))`

const SUITE = `
         json_build_object(
           'key', u.id,
           'suiteId', u.suite_id,
           'name', u.name,
           'createdAt', u.created_at,
           'secrets', (
             SELECT coalesce(json_agg(${SECRET}), '[]')
               FROM secrets s
              WHERE s.suite_id = u.id))`

// The session: which server this is, and whether it keeps the promises of the port.

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

// Reads that are made for many requests at once.

export const readTokens = `
  SELECT c.registry, extract(epoch FROM clock_timestamp()) * 1000,
         t.id, encode(t.secret_hash, 'hex'), t.application_id, t.generation, t.issued_at, t.revoked_at
    FROM changes c
    LEFT JOIN tokens t ON t.id = ANY ($1::uuid[])`

// The same for no token: planning it costs a fifth.
export const readVersion = `
  SELECT registry, extract(epoch FROM clock_timestamp()) * 1000, NULL
    FROM changes`

export const readRegistry = `
  SELECT 'changes', registry::text FROM changes
   UNION ALL
  SELECT 'application', ${APPLICATION}::text FROM applications a WHERE a.client_id = ANY ($1::text[])
   UNION ALL
  SELECT 'application', ${APPLICATION}::text FROM applications a WHERE a.id = ANY ($2::bigint[])
   UNION ALL
  SELECT 'suite', ${SUITE}::text FROM suites u WHERE u.suite_id = ANY ($3::text[])`

export const mostImportedSecrets = `
  SELECT c.registry, (
         SELECT coalesce(max(greatest(1, n.unrevoked)), 0)
           FROM (SELECT count(*) FILTER (WHERE revoked_at IS NULL) AS unrevoked
                   FROM secrets
                  WHERE digest LIKE '$scrypt$%'
                  GROUP BY application_id) n)
    FROM changes c`

// Lists and counts, for people.

export const listApplications = `
  SELECT ${APPLICATION}::text FROM applications a WHERE a.id > $1 ORDER BY a.id LIMIT $2`

export const findNamesakes = `
  SELECT ${APPLICATION}::text FROM applications a WHERE a.name = ANY ($1::text[]) ORDER BY a.id`

export const listApprovedApplications = `
  SELECT ${APPLICATION}::text
    FROM applications a
    JOIN approvals x ON x.application_id = a.id
    JOIN suites y ON y.id = x.suite_id
   WHERE y.suite_id = $1 AND a.id > $2
   ORDER BY a.id
   LIMIT $3`

export const listSuites = `
  SELECT ${SUITE}::text FROM suites u WHERE u.id > $1 ORDER BY u.id LIMIT $2`

export const countApplications = `
  SELECT count(*) FROM applications`

// Changes to the registry, each in a transaction that begins with this lock: they are made one by one, whichever node makes
// them. So what one looks for is still so when it writes.

// Whatever the role or the database has: at a higher level what had to wait for a lock fails. And a node whose machine has
// died does not end its connection: its locks would stay for the two hours of TCP's keepalive.
export const begin = `
  BEGIN ISOLATION LEVEL READ COMMITTED;
  SET LOCAL idle_in_transaction_session_timeout = '5s'`

export const commit = `
  COMMIT`

export const rollback = `
  ROLLBACK`

// For this transaction only: behind a PgBouncer the next one may be another client's.
export const setLockTimeout = `
  SELECT set_config('lock_timeout', $1, true)`

export const lockRegistry = `
  SELECT registry FROM changes FOR UPDATE`

// Many at once, for a seed: of those with one client id the first one counts.
export const insertApplications = `
  WITH asked AS (
    SELECT *, row_number() OVER (PARTITION BY "name", "developerEmail" ORDER BY "position") > 1 AS "isNamesake"
      FROM (SELECT DISTINCT ON ("clientId") *
              FROM json_to_recordset($1) AS a (
                     "position" integer, "clientId" text, "name" text, "developerEmail" text, "createdAt" bigint,
                     "skipNamesake" boolean, "suites" text[], "secret" json)
             ORDER BY "clientId", "position") first
  ), added AS (
    INSERT INTO applications (client_id, name, developer_email, created_at)
    SELECT "clientId", "name", "developerEmail", "createdAt"
      FROM asked
     WHERE NOT EXISTS (SELECT 1 FROM suites WHERE suite_id = "clientId")
       AND NOT ("skipNamesake" AND ("isNamesake" OR EXISTS (
             SELECT 1 FROM applications x WHERE x.name = asked."name" AND x.developer_email = "developerEmail")))
     ORDER BY "position"
        ON CONFLICT (client_id) DO NOTHING
    RETURNING id, client_id
  ), approved AS (
    INSERT INTO approvals (application_id, suite_id)
    SELECT added.id, s.id
      FROM added
      JOIN asked ON "clientId" = client_id
      JOIN suites s ON "suites" IS NULL OR s.suite_id = ANY ("suites")
  ), secured AS (
    INSERT INTO secrets (application_id, digest, created_at, ends_at)
    SELECT id, "secret" ->> 'digest', ("secret" ->> 'createdAt')::bigint, ("secret" ->> 'endsAt')::bigint
      FROM added
      JOIN asked ON "clientId" = client_id
     ORDER BY id
  )
  SELECT client_id FROM added`

export const insertSuite = `
  WITH added AS (
    INSERT INTO suites (suite_id, name, created_at)
    SELECT $1, $2, $3
     WHERE NOT EXISTS (SELECT 1 FROM applications WHERE client_id = $1)
        ON CONFLICT (suite_id) DO NOTHING
    RETURNING id
  )
  INSERT INTO secrets (suite_id, digest, created_at, ends_at)
  SELECT id, $4, $5, $6 FROM added
  RETURNING id`

export const insertSecret = `
  INSERT INTO secrets (digest, created_at, ends_at, application_id, suite_id)
  SELECT $2, $3::bigint, $4::bigint, id, NULL FROM applications WHERE client_id = $1
   UNION ALL
  SELECT $2, $3, $4, NULL, id FROM suites WHERE suite_id = $1
  RETURNING id`

export const startSecrets = `
  UPDATE secrets SET ends_at = NULL
   WHERE ends_at = $2
     AND (application_id IN (SELECT id FROM applications WHERE client_id = ANY ($1::text[]))
       OR suite_id IN (SELECT id FROM suites WHERE suite_id = ANY ($1)))`

export const setStatus = `
  UPDATE applications SET status = $2 WHERE client_id = $1 RETURNING id`

export const updateApplication = `
  UPDATE applications
     SET name = coalesce($2, name), developer_email = coalesce($3, developer_email)
   WHERE client_id = $1
  RETURNING id`

export const updateSuite = `
  UPDATE suites SET name = $2 WHERE suite_id = $1 RETURNING id`

export const deleteApplication = `
  DELETE FROM applications WHERE client_id = $1 RETURNING id`

export const deleteSuite = `
  DELETE FROM suites WHERE suite_id = $1 RETURNING id`

export const approve = `
  INSERT INTO approvals (application_id, suite_id)
  SELECT a.id, s.id FROM applications a, suites s WHERE a.client_id = $1 AND s.suite_id = $2
      ON CONFLICT DO NOTHING`

export const withdraw = `
  DELETE FROM approvals
   WHERE application_id = (SELECT id FROM applications WHERE client_id = $1)
     AND suite_id = (SELECT id FROM suites WHERE suite_id = $2)`

export const revokeTokens = `
  UPDATE applications
     SET token_generation = token_generation + 1, tokens_valid_from = $2
   WHERE client_id = $1
  RETURNING id`

export const deleteEndedSecrets = `
  DELETE FROM secrets
   WHERE ends_at < $2
     AND (application_id = (SELECT id FROM applications WHERE client_id = $1)
       OR suite_id = (SELECT id FROM suites WHERE suite_id = $1))`

export const endSecrets = `
  UPDATE secrets SET ends_at = least(ends_at, $2)
   WHERE application_id = (SELECT id FROM applications WHERE client_id = $1)
      OR suite_id = (SELECT id FROM suites WHERE suite_id = $1)`

export const revokeSecret = `
  UPDATE secrets
     SET ends_at = least(ends_at, $3), revoked_at = coalesce(revoked_at, $3)
   WHERE id = $2
     AND (application_id = (SELECT id FROM applications WHERE client_id = $1)
       OR suite_id = (SELECT id FROM suites WHERE suite_id = $1))
  RETURNING id`

// Tokens. One statement for a batch is one transaction and one round trip.

export const insertTokens = `
  INSERT INTO tokens (id, secret_hash, application_id, generation, issued_at)
  SELECT id, decode(secret_hash, 'hex'), application_id, generation, issued_at
    FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
      AS new (id, secret_hash, application_id, generation, issued_at)`

// Also what is revoked already: whoever did that may not have been answered, and then no standby may have it yet. In the order
// of their ids, so that two nodes that revoke the same tokens wait for each other and not in a circle.
export const revokeTokensById = `
  UPDATE tokens t SET revoked_at = coalesce(t.revoked_at, asked.at)
    FROM (SELECT locked.id, revoked.at
            FROM unnest($1::uuid[], $2::bigint[]) AS revoked (id, at)
            JOIN tokens locked ON locked.id = revoked.id
           ORDER BY locked.id
             FOR UPDATE OF locked) asked
   WHERE t.id = asked.id`

// The lock: one node at a time.
export const purgeTokens = `
  WITH expired AS MATERIALIZED (
    SELECT id
      FROM tokens
     WHERE id < $1::uuid AND (SELECT pg_try_advisory_xact_lock(7033017, 2))
     ORDER BY id
     LIMIT $2
       FOR UPDATE SKIP LOCKED
  ), deleted AS (
    DELETE FROM tokens t USING expired e WHERE t.id = e.id RETURNING 1
  )
  SELECT count(*) FROM deleted`

// Usage. In the order of the keys, for the same reason as above. What is used is kept from being removed first, for the use
// refers to it. One that is being removed is left out: a removal takes its rows in an order of its own, so whoever waits
// for one of them may wait in a circle.

export const addTokenCounts = `
  INSERT INTO token_counts AS old (hour, application_id, issued, refused)
  SELECT hour, application_id, issued, refused
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
      AS more (hour, application_id, issued, refused)
   ORDER BY hour, application_id
      ON CONFLICT (hour, application_id) DO UPDATE
     SET issued = old.issued + excluded.issued, refused = old.refused + excluded.refused
  RETURNING application_id, hour, issued, refused`

export const recordApplicationUses = `
  WITH kept AS MATERIALIZED (
    SELECT id FROM applications WHERE id = ANY ($1::bigint[]) ORDER BY id FOR KEY SHARE SKIP LOCKED
  )
  INSERT INTO application_uses AS old (application_id, last_token_at)
  SELECT kept.id, max(used.last_token_at)
    FROM unnest($1::bigint[], $2::bigint[]) AS used (application_id, last_token_at)
    JOIN kept ON kept.id = used.application_id
   WHERE used.last_token_at IS NOT NULL
   GROUP BY kept.id
   ORDER BY kept.id
      ON CONFLICT (application_id) DO UPDATE SET last_token_at = greatest(old.last_token_at, excluded.last_token_at)`

export const countTokens = `
  SELECT issued FROM token_counts WHERE application_id = $1 AND hour = $2`

export const listTokenCounts = `
  SELECT application_id, hour, issued, refused FROM token_counts WHERE hour >= $1`

export const purgeTokenCounts = `
  WITH old AS (
    SELECT hour, application_id
      FROM token_counts
     WHERE hour < $1
     ORDER BY hour, application_id
     LIMIT $2
       FOR UPDATE SKIP LOCKED
  ), deleted AS (
    DELETE FROM token_counts t USING old WHERE (t.hour, t.application_id) = (old.hour, old.application_id) RETURNING 1
  )
  SELECT count(*) FROM deleted`

export const recordSecretUses = `
  WITH kept AS MATERIALIZED (
    SELECT id FROM secrets WHERE id = ANY ($1::bigint[]) ORDER BY id FOR KEY SHARE SKIP LOCKED
  )
  INSERT INTO secret_uses AS old (secret_id, last_used_at)
  SELECT kept.id, max(used.last_used_at)
    FROM unnest($1::bigint[], $2::bigint[]) AS used (secret_id, last_used_at)
    JOIN kept ON kept.id = used.secret_id
   GROUP BY kept.id
   ORDER BY kept.id
      ON CONFLICT (secret_id) DO UPDATE SET last_used_at = greatest(old.last_used_at, excluded.last_used_at)`

export const listSecretUses = `
  SELECT secret_id, last_used_at FROM secret_uses WHERE secret_id = ANY ($1::bigint[])`

export const lastTokenAt = `
  SELECT last_token_at FROM application_uses WHERE application_id = $1`

// Refusals. The lock: one node at a time. For each would wait for rows of the other.

export const lockRefusals = `
  SELECT pg_advisory_xact_lock(7033017, 3)`

// Those of one row are one row first: none can be changed twice.
export const recordRefusals = `
  INSERT INTO refusals AS old (
           application_id, client_id, reason, endpoint, suite, remote_address, count, first_at, last_at, request_id, trace_id)
  SELECT coalesce(a.id, 0), r.client_id, r.reason, r.endpoint, r.suite, r.remote_address,
         sum(r.count), min(r.first_at), max(r.last_at),
         (array_agg(r.request_id ORDER BY r.last_at DESC))[1], (array_agg(r.trace_id ORDER BY r.last_at DESC))[1]
    FROM unnest(
           $1::text[], $2::boolean[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[],
           $9::bigint[], $10::text[], $11::text[])
      AS r (
           client_id, is_known, reason, endpoint, suite, remote_address, count, first_at, last_at, request_id, trace_id)
    LEFT JOIN applications a ON r.is_known AND a.client_id = r.client_id
   WHERE a.id IS NOT NULL OR NOT r.is_known
   GROUP BY a.id, r.client_id, r.reason, r.endpoint, r.suite, r.remote_address
      ON CONFLICT (application_id, client_id, reason, endpoint, suite, remote_address) DO UPDATE
     SET count = old.count + excluded.count,
         first_at = least(old.first_at, excluded.first_at),
         last_at = greatest(old.last_at, excluded.last_at),
         request_id = CASE WHEN excluded.last_at < old.last_at THEN old.request_id ELSE excluded.request_id END,
         trace_id = CASE WHEN excluded.last_at < old.last_at THEN old.trace_id ELSE excluded.trace_id END
  RETURNING application_id`

export const keepNewestRefusals = `
  DELETE FROM refusals
   WHERE ctid = ANY (ARRAY(
           SELECT ranked.ctid
             FROM (SELECT ctid, application_id, row_number() OVER (PARTITION BY application_id ORDER BY last_at DESC) AS place
                     FROM refusals
                    WHERE application_id = ANY ($1::bigint[])) ranked
            WHERE place > CASE application_id WHEN 0 THEN $3::integer ELSE $2::integer END))`

export const listRefusals = `
  SELECT client_id, application_id > 0, reason, endpoint, suite, remote_address, count, first_at, last_at, request_id, trace_id
    FROM refusals
   WHERE application_id = coalesce((SELECT id FROM applications WHERE client_id = $1), 0)
     AND client_id = $1
   ORDER BY last_at DESC`

export const purgeRefusals = `
  WITH old AS (
    SELECT application_id, client_id, reason, endpoint, suite, remote_address
      FROM refusals
     WHERE last_at < $1
     ORDER BY last_at
     LIMIT $2
       FOR UPDATE SKIP LOCKED
  ), deleted AS (
    DELETE FROM refusals r
     USING old
     WHERE (r.application_id, r.client_id, r.reason, r.endpoint, r.suite, r.remote_address)
         = (old.application_id, old.client_id, old.reason, old.endpoint, old.suite, old.remote_address)
    RETURNING 1
  )
  SELECT count(*) FROM deleted`

// Figures.

export const databaseSize = `
  SELECT pg_database_size(current_database())`

export const oldestTokenAt = `
  SELECT issued_at FROM tokens ORDER BY id LIMIT 1`

export const countEndingSecrets = `
  SELECT count(*)
    FROM (SELECT DISTINCT s.application_id, s.suite_id
            FROM secrets s
            LEFT JOIN applications a ON a.id = s.application_id
           WHERE s.ends_at > $1 AND s.ends_at <= $2
             AND s.revoked_at IS NULL
             AND coalesce(a.status, 'active') = 'active'
             AND NOT EXISTS (
                   SELECT 1
                     FROM secrets other
                    WHERE (other.application_id = s.application_id OR other.suite_id = s.suite_id)
                      AND other.revoked_at IS NULL
                      AND (other.ends_at IS NULL OR other.ends_at > $2))) ending`

export const lastBackupAt = `
  SELECT made_at FROM backups`

// Migrations.

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

// Copying a SQLite store. The pages are those of the other store: bytes are hex.

// Whatever the role or the database has: a copy may take minutes, and pauses between its statements.
export const limitCopy = `
  SELECT set_config('lock_timeout', '0', true),
         set_config('statement_timeout', '0', true),
         set_config('idle_in_transaction_session_timeout', '60s', true)`

export const findRows = `
  SELECT 'applications' WHERE EXISTS (SELECT FROM applications)
   UNION ALL
  SELECT 'suites' WHERE EXISTS (SELECT FROM suites)
   UNION ALL
  SELECT 'secrets' WHERE EXISTS (SELECT FROM secrets)
   UNION ALL
  SELECT 'tokens' WHERE EXISTS (SELECT FROM tokens)
   UNION ALL
  SELECT 'token_counts' WHERE EXISTS (SELECT FROM token_counts)`

export const copyRows = {
  suites: `
  INSERT INTO suites (id, suite_id, name, created_at)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])`,

  applications: `
  INSERT INTO applications (
           id, client_id, name, developer_email, status, tokens_valid_from, created_at, token_generation)
  SELECT *
    FROM unnest(
           $1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[])`,

  secrets: `
  INSERT INTO secrets (id, application_id, suite_id, digest, created_at, ends_at, revoked_at)
  SELECT *
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[])`,

  approvals: `
  INSERT INTO approvals (application_id, suite_id)
  SELECT * FROM unnest($1::bigint[], $2::bigint[])`,

  secret_uses: `
  INSERT INTO secret_uses (secret_id, last_used_at)
  SELECT * FROM unnest($1::bigint[], $2::bigint[])`,

  application_uses: `
  INSERT INTO application_uses (application_id, last_token_at)
  SELECT * FROM unnest($1::bigint[], $2::bigint[])`,

  token_counts: `
  INSERT INTO token_counts (hour, application_id, issued, refused)
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])`,

  tokens: `
  INSERT INTO tokens (id, secret_hash, application_id, issued_at, revoked_at, generation)
  SELECT id, decode(secret_hash, 'hex'), application_id, issued_at, revoked_at, generation
    FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
      AS copied (id, secret_hash, application_id, issued_at, revoked_at, generation)`,
}

export const copyPages = {
  suites: `
  SELECT id, suite_id, name, created_at FROM suites WHERE id > $1 ORDER BY id LIMIT $2`,

  applications: `
  SELECT id, client_id, name, developer_email, status, tokens_valid_from, created_at, token_generation
    FROM applications
   WHERE id > $1
   ORDER BY id
   LIMIT $2`,

  secrets: `
  SELECT id, application_id, suite_id, digest, created_at, ends_at, revoked_at
    FROM secrets
   WHERE id > $1
   ORDER BY id
   LIMIT $2`,

  approvals: `
  SELECT application_id, suite_id
    FROM approvals
   WHERE (application_id, suite_id) > ($1, $2)
   ORDER BY application_id, suite_id
   LIMIT $3`,

  secret_uses: `
  SELECT secret_id, last_used_at FROM secret_uses WHERE secret_id > $1 ORDER BY secret_id LIMIT $2`,

  application_uses: `
  SELECT application_id, last_token_at
    FROM application_uses
   WHERE application_id > $1
   ORDER BY application_id
   LIMIT $2`,

  token_counts: `
  SELECT hour, application_id, issued, refused
    FROM token_counts
   WHERE (hour, application_id) > ($1, $2)
   ORDER BY hour, application_id
   LIMIT $3`,

  tokens: `
  SELECT replace(id::text, '-', ''), encode(secret_hash, 'hex'), application_id, issued_at, revoked_at, generation
    FROM tokens
   WHERE id > $1
   ORDER BY id
   LIMIT $2`,
}

// Not undone with the transaction, and not to be: no key is used twice.
export const setLastKey = `
  SELECT setval(pg_get_serial_sequence($1, 'id'), $2)`
