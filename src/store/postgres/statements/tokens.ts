import { insistOnDurability } from './session.ts'

// Changes of tokens: one statement per batch, which is one transaction and one round trip.

// With $6, nothing is written unless this is the version of the registry. $7 is null if no token has an audience.
export const insertTokens = `
  INSERT INTO tokens (id, secret_hash, application_id, generation, issued_at, audience)
  SELECT id, decode(secret_hash, 'hex'), application_id, generation, issued_at, audience
    FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $7::text[])
      AS new (id, secret_hash, application_id, generation, issued_at, audience)
   WHERE (SELECT ${insistOnDurability}) <> ''
     AND ($6::bigint IS NULL OR $6 = (SELECT registry FROM changes))`

// Also writes tokens that are already revoked: the commit that revoked them may still wait for a standby, and so must this one.
// Rows are locked in the order of their ids, so that two nodes that revoke the same tokens do not deadlock.
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
         t.id, encode(t.secret_hash, 'hex'), t.application_id, t.generation, t.issued_at, t.revoked_at,
         t.audience
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

// The most imported secrets of an application, and the ids of suites by their URLs.
export const readSummary = `
  SELECT c.registry, (
         SELECT coalesce(max(greatest(1, n.unrevoked)), 0)
           FROM (SELECT count(*) FILTER (WHERE revoked_at IS NULL) AS unrevoked
                   FROM secrets
                  WHERE digest LIKE '$scrypt$%'
                  GROUP BY application_id) n),
         (SELECT coalesce(json_object_agg(url, suite_id), '{}')::text FROM suites WHERE url <> '')
    FROM changes c`

// A figure shown to operators.

export const countLiveTokens = `
  SELECT count(*),
         count(*) FILTER (WHERE t.revoked_at IS NULL AND a.token_generation IN (t.generation, -1 - t.generation) AND a.status = 'active')
    FROM (SELECT application_id, generation, revoked_at FROM tokens WHERE id >= $1::uuid ORDER BY id LIMIT $2) t
    LEFT JOIN applications a ON a.id = t.application_id`
