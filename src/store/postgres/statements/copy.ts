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
  SELECT 'token_counts' WHERE EXISTS (SELECT FROM token_counts)
   UNION ALL
  SELECT 'operators' WHERE EXISTS (SELECT FROM operators)
   UNION ALL
  SELECT 'audit_events' WHERE EXISTS (SELECT FROM audit_events)`

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

  operators: `
  INSERT INTO operators (id, name, role, created_at)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])`,

  admin_keys: `
  INSERT INTO admin_keys (id, operator_id, digest, created_at, ends_at, revoked_at, last_used_at)
  SELECT *
    FROM unnest(
           $1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])`,

  audit_events: `
  INSERT INTO audit_events (
           id, at, actor, origin, remote_address, request_id, action, subject_kind, subject, before, after)
  SELECT *
    FROM unnest(
           $1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
           $10::text[], $11::text[])`,

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

  operators: `
  SELECT id, name, role, created_at FROM operators WHERE id > $1 ORDER BY id LIMIT $2`,

  admin_keys: `
  SELECT id, operator_id, digest, created_at, ends_at, revoked_at, last_used_at
    FROM admin_keys
   WHERE id > $1
   ORDER BY id
   LIMIT $2`,

  audit_events: `
  SELECT id, at, actor, origin, remote_address, request_id, action, subject_kind, subject, before, after
    FROM audit_events
   WHERE id > $1
   ORDER BY id
   LIMIT $2`,

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
