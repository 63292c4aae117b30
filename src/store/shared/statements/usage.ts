import { SPANS } from '../../../domain/usage.ts'

export const addTokenCounts = `
  INSERT INTO token_counts (hour, application_id, issued, refused)
  SELECT CAST(value ->> 'hour' AS bigint), CAST(value ->> 'applicationKey' AS bigint),
         CAST(value ->> 'issued' AS bigint), CAST(value ->> 'refused' AS bigint)
    FROM rows_of($1)
   WHERE true
      ON CONFLICT (hour, application_id) DO UPDATE
     SET issued = token_counts.issued + excluded.issued, refused = token_counts.refused + excluded.refused
  RETURNING application_id, hour, issued, refused`

export const listTokenCounts = `
  SELECT id, CAST($2 AS bigint), coalesce(issued, 0), coalesce(refused, 0), last_token_at
    FROM (SELECT CAST(value AS bigint) AS id FROM texts_of($1)) applications
    LEFT JOIN token_counts c ON c.hour = $2 AND c.application_id = id
    LEFT JOIN application_uses u ON u.application_id = id`

/**
 * Keeps the latest use of each owner. Several may be given, and null for none. `lock` locks the owners: see Database. Without IS
 * TRUE, PostgreSQL would compare each row with each owner.
 */
export const recordUses = (owner: 'application' | 'secret', column: string, lock: string) => `
  WITH kept AS MATERIALIZED (
    SELECT id
      FROM ${owner}s
     WHERE id IN (SELECT CAST(value ->> 'id' AS bigint) FROM rows_of($1))
     ORDER BY id ${lock}
  )
  INSERT INTO ${owner}_uses (${owner}_id, ${column})
  SELECT CAST(value ->> 'id' AS bigint), max(CAST(value ->> 'at' AS bigint))
    FROM rows_of($1)
   WHERE value ->> 'at' IS NOT NULL AND (CAST(value ->> 'id' AS bigint) IN (SELECT id FROM kept)) IS TRUE
   GROUP BY 1
      ON CONFLICT (${owner}_id) DO UPDATE SET ${column} = excluded.${column} WHERE excluded.${column} > ${owner}_uses.${column}`

export const listSecretUses = `
  SELECT secret_id, last_used_at FROM secret_uses WHERE secret_id IN (SELECT CAST(value AS bigint) FROM texts_of($1))`

// An `owner_id` is the id of an application, minus the id of a suite, or 0 for all clients together.

/** Joins the owners of client ids. */
const owners = (clientId: string) => `
    LEFT JOIN applications a ON a.client_id = ${clientId}
    LEFT JOIN suites s ON s.suite_id = ${clientId}`
const owner = (clientId: string) => `coalesce(a.id, -s.id, CASE ${clientId} WHEN '' THEN 0 END)`

export const addUsage = `
  INSERT INTO usage_counts (span, since, owner_id, tokens, checks, refusals)
  SELECT span, CAST($2 AS bigint) - $2 % span, owner_id, tokens, checks, refusals
    FROM (SELECT ${owner("(value ->> 'clientId')")} AS owner_id,
                 CAST(value ->> 'tokens' AS bigint) AS tokens,
                 CAST(value ->> 'checks' AS bigint) AS checks,
                 CAST(value ->> 'refusals' AS bigint) AS refusals
            FROM rows_of($1)${owners("value ->> 'clientId'")}) counted
   CROSS JOIN (${SPANS.map(({ span }) => `SELECT ${span} AS span`).join(' UNION ALL ')}) spans
   WHERE owner_id IS NOT NULL
      ON CONFLICT (span, since, owner_id) DO UPDATE
     SET tokens = usage_counts.tokens + excluded.tokens,
         checks = usage_counts.checks + excluded.checks,
         refusals = usage_counts.refusals + excluded.refusals`

// Each time is a parameter, so that both databases look up each client in each span. Without CROSS JOIN, SQLite would read these
// spans of all clients.
export const listUsage = (count: number) => `
  SELECT value, since, tokens, checks, refusals
    FROM texts_of($1)${owners('value')}
   CROSS JOIN usage_counts
   WHERE owner_id = ${owner('value')}
     AND span = $2
     AND since IN (${Array.from({ length: count }, (_, n) => `$${n + 3}`).join(', ')})
   ORDER BY since`
