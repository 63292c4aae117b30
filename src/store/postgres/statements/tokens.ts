import { insistOnDurability } from './session.ts'

// Changes of tokens: one statement per batch, which is one transaction and one round trip.

// With $6, nothing is written unless this is the version of the registry.
export const insertTokens = `
  INSERT INTO tokens (id, secret_hash, application_id, generation, issued_at)
  SELECT id, decode(secret_hash, 'hex'), application_id, generation, issued_at
    FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
      AS new (id, secret_hash, application_id, generation, issued_at)
   WHERE (SELECT ${insistOnDurability}) <> ''
     AND ($6::bigint IS NULL OR $6 = (SELECT registry FROM changes))`

// Also writes tokens that are revoked already: the commit that did so may still wait for a standby, and then this one must,
// too. Rows are locked in the order of their ids, so that two nodes that revoke the same tokens do not deadlock.
export const revokeTokensById = `
  UPDATE tokens t SET revoked_at = coalesce(t.revoked_at, asked.at)
    FROM (SELECT locked.id, revoked.at
            FROM unnest($1::uuid[], $2::bigint[]) AS revoked (id, at)
            JOIN tokens locked ON locked.id = revoked.id
           ORDER BY locked.id
             FOR UPDATE OF locked) asked
   WHERE t.id = asked.id AND (SELECT ${insistOnDurability}) <> ''`

// Reads for many requests at once.

export const readTokens = `
  SELECT c.registry, extract(epoch FROM clock_timestamp()) * 1000,
         t.id, encode(t.secret_hash, 'hex'), t.application_id, t.generation, t.issued_at, t.revoked_at
    FROM changes c
    LEFT JOIN tokens t ON t.id = ANY ($1::uuid[])`

// The same without tokens. Planning it takes a fifth of the time.
export const readVersion = `
  SELECT registry, extract(epoch FROM clock_timestamp()) * 1000, NULL
    FROM changes`

export const readRegistry = `
  SELECT 'changes', registry::text FROM changes
   UNION ALL
  SELECT 'application', json FROM applications_as_json WHERE client_id = ANY ($1::text[])
   UNION ALL
  SELECT 'application', json FROM applications_as_json WHERE id = ANY ($2::bigint[])
   UNION ALL
  SELECT 'suite', json FROM suites_as_json WHERE suite_id = ANY ($3::text[])`

export const mostImportedSecrets = `
  SELECT c.registry, (
         SELECT coalesce(max(greatest(1, n.unrevoked)), 0)
           FROM (SELECT count(*) FILTER (WHERE revoked_at IS NULL) AS unrevoked
                   FROM secrets
                  WHERE digest LIKE '$scrypt$%'
                  GROUP BY application_id) n)
    FROM changes c`

// Usage. Rows are locked in the order of their keys, so that two nodes do not deadlock. The rows that they refer to are locked
// first, so that they cannot be removed meanwhile. Rows that are being removed are skipped: a removal locks in another order,
// and waiting for it could deadlock.

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

export const listTokenCounts = `
  SELECT application_id, hour, issued, refused
    FROM token_counts
   WHERE application_id = ANY ($1::bigint[]) AND hour = ANY ($2::bigint[])`

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

export const listSecretUses = 'SELECT secret_id, last_used_at FROM secret_uses WHERE secret_id = ANY ($1::bigint[])'

export const listApplicationUses = `
  SELECT application_id, last_token_at FROM application_uses WHERE application_id = ANY ($1::bigint[])`

// A figure for operators.

export const countLiveTokens = `
  SELECT count(*),
         count(*) FILTER (WHERE t.revoked_at IS NULL AND a.token_generation = t.generation AND a.status = 'active')
    FROM (SELECT application_id, generation, revoked_at FROM tokens WHERE id >= $1::uuid ORDER BY id LIMIT $2) t
    LEFT JOIN applications a ON a.id = t.application_id`
