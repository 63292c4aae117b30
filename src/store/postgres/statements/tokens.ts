// Changes of tokens. One statement for a batch is one transaction and one round trip.

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
