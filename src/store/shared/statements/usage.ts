import { SPANS } from '../../../domain/usage.ts'

// An `owner_id` is the id of an application, minus the id of a suite, or 0 for all clients together.

const ownerOf = (clientId: string) => `coalesce(
           (SELECT id FROM applications WHERE client_id = ${clientId}), (SELECT -id FROM suites WHERE suite_id = ${clientId}))`

const parameters = (first: number, count: number) => Array.from({ length: count }, (_, n) => `$${first + n}`).join(', ')

const spans = SPANS.map(({ span, kept }) => `SELECT ${span} AS span, ${kept} AS kept`).join(' UNION ALL ')

// In the order of the keys, as a removal deletes them: so the two do not deadlock.
export const addUsage = `
  INSERT INTO usage_counts (span, since, owner_id, tokens, checks, refusals)
  SELECT span, CAST($2 AS bigint) - $2 % span, owner_id, tokens, checks, refusals
    FROM (SELECT CASE value ->> 'clientId' WHEN '' THEN 0 ELSE ${ownerOf("value ->> 'clientId'")} END AS owner_id,
                 CAST(value ->> 'tokens' AS bigint) AS tokens,
                 CAST(value ->> 'checks' AS bigint) AS checks,
                 CAST(value ->> 'refusals' AS bigint) AS refusals
            FROM rows_of($1)) counted
   CROSS JOIN (${spans}) spans
   WHERE owner_id IS NOT NULL
   ORDER BY span, owner_id
      ON CONFLICT (span, since, owner_id) DO UPDATE
     SET tokens = usage_counts.tokens + excluded.tokens,
         checks = usage_counts.checks + excluded.checks,
         refusals = usage_counts.refusals + excluded.refusals`

// Each span is a parameter, so that both databases look up every client in every span: much less than all clients in them.
export const listUsage = (count: number) => `
  SELECT asked.client_id, u.since, u.tokens, u.checks, u.refusals
    FROM (SELECT value AS client_id, CASE value WHEN '' THEN 0 ELSE ${ownerOf('value')} END AS owner_id
            FROM texts_of($1)) asked
    JOIN usage_counts u ON u.span = $2 AND u.since IN (${parameters(3, count)}) AND u.owner_id = asked.owner_id
   ORDER BY u.since`

export const pageOfUsage = `
  SELECT since, owner_id, tokens, checks, refusals
    FROM usage_counts
   WHERE span = $1 AND (since, owner_id) > ($2, $3) AND owner_id > 0
   ORDER BY since, owner_id
   LIMIT $4`

export const deleteUsage = (count: number) => `
  DELETE FROM usage_counts
   WHERE span = $2 AND since IN (${parameters(3, count)}) AND owner_id = ${ownerOf('$1')}`

/** Finds what is kept for too long. */
export const oldUsage = `
  SELECT u.span, u.since, u.owner_id
    FROM (${spans}) spans
    JOIN usage_counts u ON u.span = spans.span AND u.since < $1 - spans.kept
   LIMIT $2`
