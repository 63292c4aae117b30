// The registry. An application or a suite comes with its secrets as one JSON text under the names that the domain has.

const SECRET = `
                      json_build_object(
                        'id', s.id,
                        'digest', s.digest,
                        'createdAt', s.created_at,
                        'endsAt', s.ends_at,
                        'revokedAt', s.revoked_at)
                      ORDER BY s.id`

const APPLICATION = `
         json_build_object(
           'key', a.id,
           'clientId', a.client_id,
           'name', a.name,
           'developerEmail', a.developer_email,
           'status', a.status,
           'tokenGeneration', a.token_generation,
           'tokensValidFrom', a.tokens_valid_from,
           'createdAt', a.created_at,
           'suites', (
             SELECT coalesce(json_agg(s.suite_id ORDER BY s.id), '[]')
               FROM approvals p
               JOIN suites s ON s.id = p.suite_id
              WHERE p.application_id = a.id),
           'secrets', (
             SELECT coalesce(json_agg(${SECRET}), '[]')
               FROM secrets s
              WHERE s.application_id = a.id))`

const SUITE = `
         json_build_object(
           'key', u.id,
           'suiteId', u.suite_id,
           'name', u.name,
           'createdAt', u.created_at,
           'secrets', (
             SELECT coalesce(json_agg(${SECRET}), '[]')
               FROM secrets s
              WHERE s.suite_id = u.id))`

export const readRegistry = `
  SELECT 'changes', registry::text FROM changes
   UNION ALL
  SELECT 'application', ${APPLICATION}::text FROM applications a WHERE a.client_id = ANY ($1::text[])
   UNION ALL
  SELECT 'application', ${APPLICATION}::text FROM applications a WHERE a.id = ANY ($2::bigint[])
   UNION ALL
  SELECT 'suite', ${SUITE}::text FROM suites u WHERE u.suite_id = ANY ($3::text[])`

// Lists and counts, for people.

export const listApplications = `
  SELECT ${APPLICATION}::text FROM applications a WHERE a.id > $1 ORDER BY a.id LIMIT $2`

export const listApplicationsOf = `
  SELECT ${APPLICATION}::text FROM applications a WHERE a.id = ANY ($1::bigint[]) ORDER BY a.id`

export const listNames = `
  SELECT id, client_id, name, developer_email, status FROM applications WHERE id < $1 ORDER BY id DESC LIMIT $2`

export const findNamesakes = `
  SELECT ${APPLICATION}::text FROM applications a WHERE a.name = ANY ($1::text[]) ORDER BY a.id`

export const listApprovedApplications = `
  SELECT ${APPLICATION}::text
    FROM applications a
    JOIN approvals x ON x.application_id = a.id
    JOIN suites y ON y.id = x.suite_id
   WHERE y.suite_id = $1 AND a.id > $2
   ORDER BY a.id
   LIMIT $3`

export const countApproved = `
  SELECT (SELECT count(*) FROM (SELECT FROM approvals p WHERE p.suite_id = u.id LIMIT $2) AS counted)
    FROM unnest($1::text[]) WITH ORDINALITY AS asked (suite_id, position)
    LEFT JOIN suites u ON u.suite_id = asked.suite_id
   ORDER BY asked.position`

export const listSuites = `
  SELECT ${SUITE}::text FROM suites u WHERE u.id > $1 ORDER BY u.id LIMIT $2`

export const countApplications = `
  SELECT count(*) FROM applications`

// Changes, each in a transaction that begins with lockRegistry.

// Read before and after a change, for the audit trail.
export const readSubjects = `
  SELECT 'application', a.client_id, ${APPLICATION}::text FROM applications a WHERE a.client_id = ANY ($1::text[])
   UNION ALL
  SELECT 'suite', u.suite_id, ${SUITE}::text FROM suites u WHERE u.suite_id = ANY ($2::text[])`

// Many at once, for a seed: of those with one client id the first one counts.
export const insertApplications = `
  WITH asked AS (
    SELECT *, row_number() OVER (PARTITION BY "name", "developerEmail" ORDER BY "position") > 1 AS "isNamesake"
      FROM (SELECT DISTINCT ON ("clientId") *
              FROM json_to_recordset($1) AS a (
                     "position" integer, "clientId" text, "name" text, "developerEmail" text, "createdAt" bigint,
                     "skipNamesake" boolean, "suites" text[], "secret" json)
             ORDER BY "clientId", "position") first
  ), added AS (
    INSERT INTO applications (client_id, name, developer_email, created_at)
    SELECT "clientId", "name", "developerEmail", "createdAt"
      FROM asked
     WHERE NOT EXISTS (SELECT 1 FROM suites WHERE suite_id = "clientId")
       AND NOT ("skipNamesake" AND ("isNamesake" OR EXISTS (
             SELECT 1 FROM applications x WHERE x.name = asked."name" AND x.developer_email = "developerEmail")))
     ORDER BY "position"
        ON CONFLICT (client_id) DO NOTHING
    RETURNING id, client_id
  ), approved AS (
    INSERT INTO approvals (application_id, suite_id)
    SELECT added.id, s.id
      FROM added
      JOIN asked ON "clientId" = client_id
      JOIN suites s ON "suites" IS NULL OR s.suite_id = ANY ("suites")
  ), secured AS (
    INSERT INTO secrets (application_id, digest, created_at, ends_at)
    SELECT id, "secret" ->> 'digest', ("secret" ->> 'createdAt')::bigint, ("secret" ->> 'endsAt')::bigint
      FROM added
      JOIN asked ON "clientId" = client_id
     ORDER BY id
  )
  SELECT client_id FROM added`

export const insertSuite = `
  WITH added AS (
    INSERT INTO suites (suite_id, name, created_at)
    SELECT $1, $2, $3
     WHERE NOT EXISTS (SELECT 1 FROM applications WHERE client_id = $1)
        ON CONFLICT (suite_id) DO NOTHING
    RETURNING id
  )
  INSERT INTO secrets (suite_id, digest, created_at, ends_at)
  SELECT id, $4, $5, $6 FROM added
  RETURNING id`

export const insertSecret = `
  INSERT INTO secrets (digest, created_at, ends_at, application_id, suite_id)
  SELECT $2, $3::bigint, $4::bigint, id, NULL FROM applications WHERE client_id = $1
   UNION ALL
  SELECT $2, $3, $4, NULL, id FROM suites WHERE suite_id = $1
  RETURNING id`

export const setStatus = `
  UPDATE applications SET status = $2 WHERE client_id = $1 RETURNING id`

export const updateApplication = `
  UPDATE applications
     SET name = coalesce($2, name), developer_email = coalesce($3, developer_email)
   WHERE client_id = $1
  RETURNING id`

export const updateSuite = `
  UPDATE suites SET name = $2 WHERE suite_id = $1 RETURNING id`

export const deleteApplication = `
  DELETE FROM applications WHERE client_id = $1 RETURNING id`

export const deleteSuite = `
  DELETE FROM suites WHERE suite_id = $1 RETURNING id`

export const approve = `
  INSERT INTO approvals (application_id, suite_id)
  SELECT a.id, s.id FROM applications a, suites s WHERE a.client_id = $1 AND s.suite_id = $2
      ON CONFLICT DO NOTHING`

export const withdraw = `
  DELETE FROM approvals
   WHERE application_id = (SELECT id FROM applications WHERE client_id = $1)
     AND suite_id = (SELECT id FROM suites WHERE suite_id = $2)`

export const revokeTokens = `
  UPDATE applications
     SET token_generation = token_generation + 1, tokens_valid_from = $2
   WHERE client_id = $1
  RETURNING id`

export const deleteEndedSecrets = `
  DELETE FROM secrets
   WHERE ends_at < $2
     AND (application_id = (SELECT id FROM applications WHERE client_id = $1)
       OR suite_id = (SELECT id FROM suites WHERE suite_id = $1))`

export const endSecrets = `
  UPDATE secrets SET ends_at = least(ends_at, $2)
   WHERE application_id = (SELECT id FROM applications WHERE client_id = $1)
      OR suite_id = (SELECT id FROM suites WHERE suite_id = $1)`

export const revokeSecret = `
  UPDATE secrets
     SET ends_at = least(ends_at, $3), revoked_at = coalesce(revoked_at, $3)
   WHERE id = $2
     AND (application_id = (SELECT id FROM applications WHERE client_id = $1)
       OR suite_id = (SELECT id FROM suites WHERE suite_id = $1))
  RETURNING id`

export const revokeSpareSecret = `
  UPDATE secrets
     SET ends_at = least(ends_at, $3), revoked_at = coalesce(revoked_at, $3)
   WHERE id = $2
     AND (application_id = (SELECT id FROM applications WHERE client_id = $1)
       OR suite_id = (SELECT id FROM suites WHERE suite_id = $1))
     AND (ends_at <= $3
       OR EXISTS (
         SELECT 1
           FROM secrets other
          WHERE other.id <> secrets.id
            AND (other.application_id = secrets.application_id OR other.suite_id = secrets.suite_id)
            AND (other.ends_at IS NULL OR other.ends_at > $3)))
  RETURNING id`
