// The last refusals. An `owner_id` is the id of an application, minus the id of a suite, or 0 for unregistered client ids.

export const recordRefusals = `
  INSERT INTO refusals (
           owner_id, client_id, reason, endpoint, suite, remote_address, count, first_at, last_at, detail, request_id,
           trace_id)
  SELECT coalesce(a.id, -s.id, 0), value ->> 'clientId', value ->> 'reason', value ->> 'endpoint', value ->> 'suite',
         value ->> 'remoteAddress', CAST(value ->> 'count' AS bigint), CAST(value ->> 'firstAt' AS bigint),
         CAST(value ->> 'lastAt' AS bigint), value ->> 'detail', value ->> 'requestId', value ->> 'traceId'
    FROM rows_of($1)
    LEFT JOIN applications a ON CAST(value ->> 'isKnown' AS bigint) = 1 AND a.client_id = value ->> 'clientId'
    LEFT JOIN suites s ON CAST(value ->> 'isKnown' AS bigint) = 1 AND s.suite_id = value ->> 'clientId'
   WHERE a.id IS NOT NULL OR s.id IS NOT NULL OR CAST(value ->> 'isKnown' AS bigint) = 0
      ON CONFLICT (owner_id, client_id, reason, endpoint, suite, remote_address) DO UPDATE
     SET count = refusals.count + excluded.count,
         first_at = CASE WHEN excluded.first_at < refusals.first_at THEN excluded.first_at ELSE refusals.first_at END,
         last_at = CASE WHEN excluded.last_at < refusals.last_at THEN refusals.last_at ELSE excluded.last_at END,
         detail = CASE WHEN excluded.last_at < refusals.last_at THEN refusals.detail ELSE excluded.detail END,
         request_id = CASE WHEN excluded.last_at < refusals.last_at THEN refusals.request_id ELSE excluded.request_id END,
         trace_id = CASE WHEN excluded.last_at < refusals.last_at THEN refusals.trace_id ELSE excluded.trace_id END
  RETURNING owner_id`

export const keepNewestRefusals = `
  DELETE FROM refusals
   WHERE (owner_id, client_id, reason, endpoint, suite, remote_address) IN (
     SELECT owner_id, client_id, reason, endpoint, suite, remote_address
       FROM (SELECT owner_id, client_id, reason, endpoint, suite, remote_address,
                    row_number() OVER (
                      PARTITION BY owner_id, reason LIKE '%(report only)' ORDER BY last_at DESC) AS place
               FROM refusals
              WHERE owner_id IN (SELECT CAST(value AS bigint) FROM texts_of($1))) ranked
      WHERE place > CASE owner_id WHEN 0 THEN CAST($3 AS bigint) ELSE CAST($2 AS bigint) END)`

export const listRefusals = `
  SELECT client_id, CASE WHEN owner_id = 0 THEN 0 ELSE 1 END, reason, endpoint, suite, remote_address,
         count, first_at, last_at, detail, request_id, trace_id
    FROM refusals
   WHERE owner_id = coalesce(
           (SELECT id FROM applications WHERE client_id = $1), (SELECT -id FROM suites WHERE suite_id = $1), 0)
     AND (client_id = $1 OR CAST($1 AS text) IS NULL)
   ORDER BY last_at DESC`

// Removed owners are left out. With joins instead of subqueries, PostgreSQL would read all applications.
export const listLastRefused = `
  SELECT CASE WHEN owner_id > 0 THEN 'application' ELSE 'suite' END,
         client_id, name, reason, suite, count, first_at, last_at
    FROM (SELECT newest.*, coalesce((SELECT name FROM applications WHERE id = owner_id),
                                    (SELECT name FROM suites WHERE id = -owner_id)) AS name
            FROM (SELECT owner_id, client_id, reason, suite, count, first_at, last_at
                    FROM refusals
                   WHERE owner_id <> 0
                   ORDER BY last_at DESC
                   LIMIT $1) newest) named
   WHERE name IS NOT NULL
   ORDER BY last_at DESC`

// Refused requests, one by one.

export const recordRefusedRequests = `
  INSERT INTO refused_requests (at, request_id, reason, endpoint, client_id, suite, remote_address, detail, is_known)
  SELECT CAST(value ->> 'at' AS bigint), value ->> 'requestId', value ->> 'reason', value ->> 'endpoint',
         value ->> 'clientId', value ->> 'suite', value ->> 'remoteAddress', value ->> 'detail', CAST(value ->> 'isKnown' AS bigint)
    FROM rows_of($1)
   ORDER BY CAST(value ->> 'position' AS bigint)`

export const keepNewestRefusedRequests = `
  DELETE FROM refused_requests
   WHERE is_known = $1
     AND id <= (SELECT id FROM refused_requests WHERE is_known = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)`

/** A filter that is NULL matches every row. */
const MATCHING = `
            FROM refused_requests
           WHERE id < $1
             AND (client_id = $3 OR $3 IS NULL)
             AND (suite = $4 OR $4 IS NULL)
             AND (reason = $5 OR $5 IS NULL)
             AND (endpoint = $6 OR $6 IS NULL)
             AND (remote_address = $7 OR $7 IS NULL)
             AND at >= $8
             AND at < $9`

export const countRefusedRequests = `
  SELECT reason, count(*)${MATCHING}
   GROUP BY reason
   ORDER BY count(*) DESC, reason
   LIMIT $2`

const refusedRequests = (where: string) => `
  SELECT newest.*,
         coalesce((SELECT 'application' FROM applications a WHERE a.client_id = newest.client_id),
                  (SELECT 'suite' FROM suites s WHERE s.suite_id = newest.client_id)),
         coalesce((SELECT name FROM applications a WHERE a.client_id = newest.client_id),
                  (SELECT name FROM suites s WHERE s.suite_id = newest.client_id))
    FROM (SELECT id, at, request_id, reason, endpoint, client_id, suite, remote_address, detail${MATCHING}
             ${where}
           ORDER BY id DESC
           LIMIT $2) newest
   ORDER BY id DESC`

export const listRefusedRequests = refusedRequests('')
export const findRefusedRequests = refusedRequests('AND request_id IN ($10, lower($10), upper($10))')
// Reads each of them: there are at most 10,000.
export const findRefusedRequestsBeginning = refusedRequests(
  'AND lower(substr(request_id, 1, length($10))) = lower($10)',
)
