// A page of each table that is copied: the rows after a key, in its order, with bytes as hex.

export const copyPages = {
  suites: `
  SELECT id, suite_id, name, created_at FROM suites WHERE id > ? ORDER BY id LIMIT ?`,

  applications: `
  SELECT id, client_id, name, developer_email, status, tokens_valid_from, created_at, token_generation
    FROM applications
   WHERE id > ?
   ORDER BY id
   LIMIT ?`,

  secrets: `
  SELECT id, application_id, suite_id, digest, created_at, ends_at, revoked_at
    FROM secrets
   WHERE id > ?
   ORDER BY id
   LIMIT ?`,

  approvals: `
  SELECT application_id, suite_id
    FROM approvals
   WHERE (application_id, suite_id) > (?, ?)
   ORDER BY application_id, suite_id
   LIMIT ?`,

  secret_uses: `
  SELECT secret_id, last_used_at FROM secret_uses WHERE secret_id > ? ORDER BY secret_id LIMIT ?`,

  application_uses: `
  SELECT application_id, last_token_at FROM application_uses WHERE application_id > ? ORDER BY application_id LIMIT ?`,

  token_counts: `
  SELECT hour, application_id, issued, refused
    FROM token_counts
   WHERE (hour, application_id) > (?, ?)
   ORDER BY hour, application_id
   LIMIT ?`,

  operators: `
  SELECT id, name, role, created_at FROM operators WHERE id > ? ORDER BY id LIMIT ?`,

  admin_keys: `
  SELECT id, operator_id, digest, created_at, ends_at, revoked_at, last_used_at
    FROM admin_keys
   WHERE id > ?
   ORDER BY id
   LIMIT ?`,

  audit_events: `
  SELECT id, at, actor, origin, remote_address, request_id, action, subject_kind, subject, before, after
    FROM audit_events
   WHERE id > ?
   ORDER BY id
   LIMIT ?`,

  tokens: `
  SELECT lower(hex(id)), lower(hex(secret_hash)), application_id, issued_at, revoked_at, generation
    FROM tokens
   WHERE id > unhex(?)
   ORDER BY id
   LIMIT ?`,
}

export const lastKeys = `
  SELECT name, seq FROM sqlite_sequence WHERE seq > 0`
