import { SPANS } from '../../../domain/usage.ts'

// An `owner_id` is the id of an application, minus the id of a suite, or 0 for all clients together.

const ownerOf = (clientId: string) => `
         CASE ${clientId} WHEN '' THEN 0 ELSE
           coalesce((SELECT id FROM applications WHERE client_id = ${clientId}),
                    (SELECT -id FROM suites WHERE suite_id = ${clientId})) END`

// In the order in which a removal deletes: so the two do not deadlock.
export const addUsage = `
  INSERT INTO usage_counts (span, since, owner_id, tokens, checks, refusals)
  SELECT span, CAST($2 AS bigint) - $2 % span, owner_id, tokens, checks, refusals
    FROM (SELECT ${ownerOf("value ->> 'clientId'")} AS owner_id,
                 CAST(value ->> 'tokens' AS bigint) AS tokens,
                 CAST(value ->> 'checks' AS bigint) AS checks,
                 CAST(value ->> 'refusals' AS bigint) AS refusals
            FROM rows_of($1)) counted
   CROSS JOIN (${SPANS.map(({ span }) => `SELECT ${span} AS span`).join(' UNION ALL ')}) spans
   WHERE owner_id IS NOT NULL
   ORDER BY span, owner_id
      ON CONFLICT (span, since, owner_id) DO UPDATE
     SET tokens = usage_counts.tokens + excluded.tokens,
         checks = usage_counts.checks + excluded.checks,
         refusals = usage_counts.refusals + excluded.refusals`

// Each time is a parameter, so that both databases look up each client in each span.
const inSpans = (count: number) =>
  `span = $2 AND since IN (${Array.from({ length: count }, (_, n) => `$${n + 3}`).join(', ')})`

export const listUsage = (count: number) => `
  SELECT client_id, since, tokens, checks, refusals
    FROM (SELECT value AS client_id, ${ownerOf('value')} AS asked_id FROM texts_of($1)) asked
    JOIN usage_counts ON owner_id = asked_id AND ${inSpans(count)}
   ORDER BY since`

export const deleteUsage = (count: number) => `
  DELETE FROM usage_counts WHERE owner_id = ${ownerOf('$1')} AND ${inSpans(count)}`
