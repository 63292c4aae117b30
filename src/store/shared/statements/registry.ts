import { LIST_COLUMNS, TEXT_COLUMNS } from '../../../domain/application.ts'
import { LAST_USED_FROM } from './figures.ts'

// The registry. The views are in views.sql of either folder in migrations/.

const NAMES = [...TEXT_COLUMNS, 'labels']

const APPLICATION = [...NAMES, ...LIST_COLUMNS]

// Read before and after a change, for the audit trail.

export const readApplications = `
  SELECT client_id, json FROM applications_as_json WHERE client_id IN (SELECT value FROM texts_of($1))`

export const readSuites = 'SELECT suite_id, json FROM suites_as_json WHERE suite_id IN (SELECT value FROM texts_of($1))'

// Lists and counts for operators.

export const listApplications = 'SELECT json FROM applications_as_json WHERE id > $1 ORDER BY id LIMIT $2'

export const listApplicationsOf = `
  SELECT json
    FROM applications_as_json
   WHERE id IN (SELECT CAST(value AS bigint) FROM texts_of($1))
   ORDER BY id`

// Approval for the suite $3 is a column rather than a condition, so that a step takes the same time for every suite.
export const listNames = `
  SELECT a.id, a.client_id, a.status, ${NAMES.map((column) => `a.${column}`).join(', ')},
         (SELECT last_token_at FROM application_uses WHERE application_id = a.id),
         CAST(EXISTS (
           SELECT 1
             FROM approvals p
            WHERE p.application_id = a.id AND p.suite_id = (SELECT id FROM suites WHERE suite_id = $3)) AS int)
    FROM applications a
   WHERE a.id < $1
   ORDER BY a.id DESC
   LIMIT $2`

export const findNamesakes = `
  SELECT json
    FROM applications_as_json
   WHERE name IN (SELECT value FROM texts_of($1))
   ORDER BY id`

export const listApprovedApplications = `
  SELECT a.json
    FROM approvals p
    JOIN applications_as_json a ON a.id = p.application_id
   WHERE p.suite_id = (SELECT id FROM suites WHERE suite_id = $1) AND p.application_id > $2
   ORDER BY p.application_id
   LIMIT $3`

export const countApproved = `
  SELECT (SELECT count(*) FROM (SELECT 1 FROM approvals p WHERE p.suite_id = u.id LIMIT $2) counted)
    FROM rows_of($1)
    LEFT JOIN suites u ON u.suite_id = value ->> 'suiteId'
   ORDER BY CAST(value ->> 'position' AS bigint)`

export const listSuites = 'SELECT json FROM suites_as_json WHERE id > $1 ORDER BY id LIMIT $2'
export const countApplications = 'SELECT count(*) FROM applications'

// With joins instead of subqueries, PostgreSQL would read all applications.
export const listOwnedSecrets = `
  SELECT s.id,
         CASE WHEN s.federated IS NOT NULL THEN 'federated' WHEN s.digest LIKE '$scrypt$%' THEN 'imported' ELSE 'generated' END,
         s.federated, s.created_at, s.ends_at, s.revoked_at, (SELECT last_used_at FROM secret_uses WHERE secret_id = s.id),
         (SELECT ${LAST_USED_FROM} FROM secret_uses WHERE secret_id = s.id),
         CASE WHEN s.suite_id IS NULL THEN 'application' ELSE 'suite' END,
         coalesce((SELECT client_id FROM applications WHERE id = s.application_id),
                  (SELECT u.suite_id FROM suites u WHERE u.id = s.suite_id)),
         coalesce((SELECT name FROM applications WHERE id = s.application_id),
                  (SELECT name FROM suites WHERE id = s.suite_id))
    FROM secrets s
   WHERE s.id > $1
     AND (s.federated IS NOT NULL OR NOT $3)
   ORDER BY s.id
   LIMIT $2`

// Changes.

// Only the first of duplicates is inserted.
export const insertSuites = `
  INSERT INTO suites (suite_id, name, url, created_at, labels, note, managed_by, applied_at)
  SELECT value ->> 'suiteId', value ->> 'name', value ->> 'url', CAST(value ->> 'createdAt' AS bigint),
         value ->> 'labels', value ->> 'note', value ->> 'managedBy',
         CASE WHEN value ->> 'managedBy' <> '' THEN CAST(value ->> 'createdAt' AS bigint) END
    FROM rows_of($1)
   WHERE NOT EXISTS (SELECT 1 FROM applications WHERE client_id = value ->> 'suiteId')
   ORDER BY CAST(value ->> 'position' AS bigint)
      ON CONFLICT (suite_id) DO NOTHING
  RETURNING suite_id`

export const insertApplications = `
  INSERT INTO applications (client_id, created_at, applied_at, quota, status, ${APPLICATION.join(', ')})
  SELECT value ->> 'client_id', CAST(value ->> 'created_at' AS bigint),
         CASE WHEN value ->> 'managed_by' <> '' THEN CAST(value ->> 'created_at' AS bigint) END,
         CAST(value ->> 'quota' AS bigint),
         coalesce(value ->> 'status', 'active'),
         ${APPLICATION.map((column) => `value ->> '${column}'`).join(', ')}
    FROM rows_of($1)
   WHERE NOT EXISTS (SELECT 1 FROM suites WHERE suite_id = value ->> 'client_id')
     AND NOT (CAST(value ->> 'skip_namesake' AS bigint) = 1 AND EXISTS (
           SELECT 1
             FROM applications a
            WHERE a.name = value ->> 'name' AND a.developer_email = value ->> 'developer_email'))
   ORDER BY CAST(value ->> 'position' AS bigint)
      ON CONFLICT (client_id) DO NOTHING
  RETURNING client_id`

// Only applications have federated credentials.
export const insertSecrets = `
  INSERT INTO secrets (digest, created_at, ends_at, federated, keys_from, application_id, suite_id)
  SELECT value ->> 'digest', CAST(value ->> 'createdAt' AS bigint), CAST(value ->> 'endsAt' AS bigint),
         value ->> 'federated', value ->> 'keysFrom', a.id, s.id
    FROM rows_of($1)
    LEFT JOIN applications a ON a.client_id = value ->> 'owner'
    LEFT JOIN suites s ON s.suite_id = value ->> 'owner' AND value ->> 'federated' IS NULL
   WHERE a.id IS NOT NULL OR s.id IS NOT NULL
   ORDER BY CAST(value ->> 'position' AS bigint)`

export const approve = `
  INSERT INTO approvals (application_id, suite_id)
  SELECT a.id, s.id
    FROM rows_of($1)
    JOIN applications a ON a.client_id = value ->> 'clientId'
    JOIN suites s ON s.suite_id = value ->> 'suite'
   WHERE true
      ON CONFLICT DO NOTHING`

export const approveForAll = `
  INSERT INTO approvals (application_id, suite_id)
  SELECT a.id, s.id
    FROM applications a, suites s
   WHERE a.client_id IN (SELECT value FROM texts_of($1))`

export const withdraw = `
  DELETE FROM approvals
   WHERE application_id IN (SELECT id FROM applications WHERE client_id IN (SELECT value FROM texts_of($1)))
     AND suite_id = (SELECT id FROM suites WHERE suite_id = $2)`

export const withdrawOthers = `
  DELETE FROM approvals
   WHERE application_id = (SELECT id FROM applications WHERE client_id = $1)
     AND suite_id NOT IN (SELECT id FROM suites WHERE suite_id IN (SELECT value FROM texts_of($2)))`

export const setStatus = 'UPDATE applications SET status = $2 WHERE client_id = $1'

// The values, from $2 on, are in column order; null keeps the stored value. A quota of 0 becomes null.
export const updateApplication = `
  UPDATE applications
     SET ${APPLICATION.map((column, at) => `${column} = coalesce($${at + 2}, ${column})`).join(', ')},
         quota = nullif(coalesce($${APPLICATION.length + 2}, quota), 0)
   WHERE client_id = $1`

export const updateSuite = `
  UPDATE suites
     SET name = coalesce($2, name), labels = coalesce($3, labels), note = coalesce($4, note),
         managed_by = coalesce($5, managed_by), url = coalesce($6, url)
   WHERE suite_id = $1`

// A suite that has the URL of an older one.
export const findSharedUrl = `
  SELECT s.suite_id, older.suite_id
    FROM suites s
    JOIN suites older ON older.url = s.url AND older.id < s.id
   WHERE s.url <> ''
   LIMIT 1`

export const markApplication = `
  UPDATE applications SET applied_at = CASE WHEN managed_by <> '' THEN CAST($2 AS bigint) END WHERE client_id = $1`

export const markSuite =
  "UPDATE suites SET applied_at = CASE WHEN managed_by <> '' THEN CAST($2 AS bigint) END WHERE suite_id = $1"

export const deleteApplication = 'DELETE FROM applications WHERE client_id = $1'
export const deleteSuite = 'DELETE FROM suites WHERE suite_id = $1'

export const revokeTokens = `
  UPDATE applications SET token_generation = token_generation + 1, tokens_valid_from = $2 WHERE client_id = $1`

const OWNED = `
  (application_id = (SELECT id FROM applications WHERE client_id = $1)
     OR suite_id = (SELECT id FROM suites WHERE suite_id = $1))`

export const deleteEndedSecrets = `DELETE FROM secrets WHERE ends_at < $2 AND ${OWNED}`
// Also revokes them at $3, unless that is null, so that no other node's clock can undo it. What a platform signs ends for itself.
export const endSecrets = `
  UPDATE secrets
     SET ends_at = CASE WHEN ends_at < $2 THEN ends_at ELSE $2 END, revoked_at = coalesce(revoked_at, $3)
   WHERE federated IS NULL AND ${OWNED}`

// Unless forced, another secret of the owner must be active.
export const revokeSecret = `
  UPDATE secrets
     SET ends_at = CASE WHEN ends_at < $3 THEN ends_at ELSE $3 END, revoked_at = coalesce(revoked_at, $3)
   WHERE id = $2 AND ${OWNED}
     AND ($4 OR ends_at <= $3 OR EXISTS (
           SELECT 1
             FROM secrets other
            WHERE other.id <> secrets.id
              AND (other.application_id = secrets.application_id OR other.suite_id = secrets.suite_id)
              AND other.revoked_at IS NULL
              AND (other.ends_at IS NULL OR other.ends_at > $3)))`

// The rule and the end identify a federated credential that is not revoked.
const FEDERATED = `federated IS NOT NULL AND revoked_at IS NULL AND ${OWNED}`
const KEY = `digest || ' ' || coalesce(CAST(ends_at AS text), '')`

export const listFederated = `SELECT ${KEY} FROM secrets WHERE ${FEDERATED}`

export const revokeOtherFederated = `
  UPDATE secrets
     SET ends_at = CASE WHEN ends_at < $2 THEN ends_at ELSE $2 END, revoked_at = $2
   WHERE ${FEDERATED} AND ${KEY} NOT IN (SELECT value FROM texts_of($3))`

// Hand-over links. The view is in views.sql of either folder in migrations/.

// Read before and after a change, for the audit trail.
export const readHandOverLinks = `
  SELECT client_id, json FROM hand_over_links_as_json WHERE client_id IN (SELECT value FROM texts_of($1))`

export const listHandOverLinks = 'SELECT json FROM hand_over_links_as_json WHERE client_id = $1'

export const findHandOverLink = `
  SELECT h.made_by, h.overlap_seconds, a.client_id, a.name, a.status
    FROM hand_over_links h
    JOIN applications a ON a.id = h.application_id
   WHERE h.digest = $1`

export const insertHandOverLink = `
  INSERT INTO hand_over_links (application_id, digest, made_by, created_at, ends_at, overlap_seconds)
  SELECT id, $2, $3, $4, $5, $6 FROM applications WHERE client_id = $1
  RETURNING id`

export const withdrawHandOverLink = `
  DELETE FROM hand_over_links WHERE id = $2 AND application_id = (SELECT id FROM applications WHERE client_id = $1)`

// Links made by an operator whose role is not this one. For commands, `made_by` is a user of the machine, who need not be an
// operator.
export const deleteHandOverLinksOf = `
  DELETE FROM hand_over_links WHERE made_by = $1 AND EXISTS (SELECT 1 FROM operators WHERE name = $1 AND role <> $2)`

export const deleteHandOverLinksFor = `
  DELETE FROM hand_over_links WHERE application_id = (SELECT id FROM applications WHERE client_id = $1)`

// Of two concurrent uses of one link, the second one waits for the lock and then finds the row gone.
export const useHandOverLink = `
  DELETE FROM hand_over_links
   WHERE digest = $2 AND ends_at > $3
     AND application_id = (SELECT id FROM applications WHERE client_id = $1 AND status = 'active')
  RETURNING id`
