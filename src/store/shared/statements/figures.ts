import { DAY, HOUR, SPANS } from '../../../domain/usage.ts'

// What the store measures and counts: for statistics, quotas and the last use of secrets.

export const oldestTokenAt = 'SELECT issued_at FROM tokens ORDER BY id LIMIT 1'
export const newestTokenAt = 'SELECT issued_at FROM tokens ORDER BY id DESC LIMIT 1'

const ENDING = `
    FROM secrets s
    LEFT JOIN applications a ON a.id = s.application_id
    LEFT JOIN suites u ON u.id = s.suite_id
   WHERE s.ends_at > $1 AND s.ends_at <= $2
     AND s.revoked_at IS NULL
     AND coalesce(a.status, 'active') = 'active'
     AND NOT EXISTS (
           SELECT 1
             FROM secrets other
            WHERE (other.application_id = s.application_id OR other.suite_id = s.suite_id)
              AND other.revoked_at IS NULL
              AND`

export const lastBackupAt = 'SELECT made_at FROM backups'

// For each owner, the secret that ends last. $3 is before $2.
export const measure = `
  SELECT (${oldestTokenAt}), (${lastBackupAt}), count(*) FILTER (WHERE s.ends_at <= $3), count(*)
  ${ENDING} (other.ends_at IS NULL OR (other.ends_at, other.id) > (s.ends_at, s.id)))`

const NEVER = 9007199254740991

/** By the last use; but those used within a day, each by other instances perhaps, are above all others, by their end. */
const rank = (secret: string) => `coalesce((
                    SELECT CASE WHEN last_used_at > $1 - ${DAY} THEN ${NEVER} - coalesce(${secret}.ends_at, ${NEVER})
                                ELSE last_used_at - $1 END
                      FROM secret_uses
                     WHERE secret_id = ${secret}.id), -${NEVER})`

// For each owner, the secret that ends first of those used within a day, or else the one used last, or else the one that ends last.
// They come in index order, so that LIMIT stops the scan.
export const listEndingSecrets = `
  SELECT CASE WHEN s.suite_id IS NULL THEN 'application' ELSE 'suite' END,
         coalesce(a.client_id, u.suite_id),
         coalesce(a.name, u.name),
         s.id,
         s.ends_at,
         (SELECT last_used_at FROM secret_uses WHERE secret_id = s.id),
         a.developer_email,
         CASE WHEN s.federated IS NULL THEN 'secret' ELSE 'federated credential' END,
         (SELECT max(newer.id)
            FROM secrets newer
           WHERE (newer.application_id = s.application_id OR newer.suite_id = s.suite_id)
             AND newer.revoked_at IS NULL
             AND (newer.ends_at IS NULL OR newer.ends_at > s.ends_at))
  ${ENDING} (other.ends_at IS NULL OR other.ends_at > $1)
              AND (${rank('other')}, coalesce(other.ends_at, ${NEVER}), other.id)
                > (${rank('s')}, s.ends_at, s.id))
   ORDER BY s.ends_at, s.id
   LIMIT $3`

// Read for the read-only view of a store (inspect.ts). The end is null for an owner that never had a secret, and the highest
// number for one that has a secret without an end.
export const listOwnersWithoutSecret = `
  SELECT kind, id, name, ends_at
    FROM (SELECT 'application' AS kind, a.client_id AS id, a.name,
                 (SELECT max(coalesce(s.ends_at, 9007199254740991)) FROM secrets s WHERE s.application_id = a.id) AS ends_at
            FROM applications a
           WHERE a.status = 'active'
           UNION ALL
          SELECT 'suite', u.suite_id, u.name,
                 (SELECT max(coalesce(s.ends_at, 9007199254740991)) FROM secrets s WHERE s.suite_id = u.id)
            FROM suites u) owners
   WHERE ends_at IS NULL OR ends_at <= $1
   ORDER BY kind, id`

export const listOperatorKeys = `
  SELECT o.name, (SELECT max(k.ends_at) FROM admin_keys k WHERE k.operator_id = o.id AND k.revoked_at IS NULL)
    FROM operators o
   ORDER BY o.name`

export const lastRefusedSignIn = 'SELECT at, why FROM refused_sign_in'

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

/** What is kept of the latest use. `at`: its time; `from`: its address, of which there is one for each secret. */
const AT = "max(CAST(value ->> 'at' AS bigint))"
const USES = {
  application: { last_token_at: AT },
  secret: { last_used_at: AT, last_used_from: "max(value ->> 'from')", from_at: AT },
}

/**
 * Keeps the latest use of each owner. An owner may be given several times, and a use may be null. `lock` locks the owners: see
 * Database. Without IS TRUE, PostgreSQL would compare each row with each owner.
 */
export function recordUses(owner: keyof typeof USES, lock: string): string {
  const columns = Object.keys(USES[owner])
  return `
  WITH kept AS MATERIALIZED (
    SELECT id
      FROM ${owner}s
     WHERE id IN (SELECT CAST(value ->> 'id' AS bigint) FROM rows_of($1))
     ORDER BY id ${lock}
  )
  INSERT INTO ${owner}_uses (${owner}_id, ${columns.join(', ')})
  SELECT CAST(value ->> 'id' AS bigint), ${Object.values(USES[owner]).join(', ')}
    FROM rows_of($1)
   WHERE value ->> 'at' IS NOT NULL AND (CAST(value ->> 'id' AS bigint) IN (SELECT id FROM kept)) IS TRUE
   GROUP BY 1
      ON CONFLICT (${owner}_id) DO UPDATE
     SET ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}
   WHERE excluded.${columns[0]} > ${owner}_uses.${columns[0]}`
}

/** The address of the last use, unless a program of 1.0.0, which does not store it, has stored a later use. */
export const LAST_USED_FROM = 'CASE WHEN from_at = last_used_at THEN last_used_from END'

export const listSecretUses = `
  SELECT secret_id, last_used_at, ${LAST_USED_FROM}
    FROM secret_uses
   WHERE secret_id IN (SELECT CAST(value AS bigint) FROM texts_of($1))`

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

const places = (count: number, first: number) => Array.from({ length: count }, (_, n) => `$${first + n}`).join(', ')

// Each time is a parameter, so that both databases look up each client in each span. Without CROSS JOIN, SQLite would read these
// spans of all clients.
export const listUsage = (count: number) => `
  SELECT value, since, tokens, checks, refusals
    FROM texts_of($1)${owners('value')}
   CROSS JOIN usage_counts
   WHERE owner_id = ${owner('value')}
     AND span = $2
     AND since IN (${places(count, 3)})
   ORDER BY since`

// Of the applications with these ids and those in between.
export const sumUsage = (count: number) => `
  SELECT owner_id, CAST(sum(tokens) AS bigint), CAST(sum(checks) AS bigint), CAST(sum(refusals) AS bigint)
    FROM usage_counts
   WHERE owner_id >= $1
     AND owner_id <= $2
     AND span = $3
     AND since IN (${places(count, 4)})
   GROUP BY owner_id`

export const listBusy = `
  SELECT DISTINCT a.client_id
    FROM usage_counts
    JOIN applications a ON a.id = owner_id
   WHERE span = ${HOUR} AND since >= $1 AND tokens > $2`
