// The servers that share this database.

// Also deletes earlier runs of the node (same name, not seen since this one started), and nodes that were not seen for a day.
export const recordNode = `
  WITH forgotten AS (
    DELETE FROM nodes
     WHERE id <> $1::uuid
       AND (last_seen_at < $11::bigint OR (name = $2 AND last_seen_at < $4::bigint))
  )
  INSERT INTO nodes (
           id, name, version, started_at, last_seen_at, workers_expected, workers_serving, tokens, checks, refusals)
  VALUES ($1::uuid, $2, $3, $4, $5, $6, $7, $8, $9, $10)
      ON CONFLICT (id) DO UPDATE
     SET last_seen_at = excluded.last_seen_at,
         workers_expected = excluded.workers_expected,
         workers_serving = excluded.workers_serving,
         tokens = excluded.tokens,
         checks = excluded.checks,
         refusals = excluded.refusals`

export const listNodes = `
  SELECT id::text, name, version, started_at, last_seen_at, workers_expected, workers_serving, tokens, checks, refusals
    FROM nodes
   ORDER BY last_seen_at DESC
   LIMIT $1`

export const deleteNode = `
  DELETE FROM nodes WHERE id = $1::uuid`
