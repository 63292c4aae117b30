import { SPANS } from '../../../domain/usage.ts'

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

// Each time is a parameter, so that both databases look up each client in each span. CROSS JOIN, or SQLite would read these spans
// of all clients.
export const listUsage = (count: number) => `
  SELECT value, since, tokens, checks, refusals
    FROM texts_of($1)${owners('value')}
   CROSS JOIN usage_counts
   WHERE owner_id = ${owner('value')}
     AND span = $2
     AND since IN (${Array.from({ length: count }, (_, n) => `$${n + 3}`).join(', ')})
   ORDER BY since`
