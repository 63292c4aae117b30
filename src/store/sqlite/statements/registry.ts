// The registry. An application or a suite comes with its secrets as one JSON text under the names that the domain has: that is
// parsed faster than rows of many columns are read (docs/performance).

const APPLICATION = `
         json_object(
           'key', a.id,
           'clientId', a.client_id,
           'name', a.name,
           'developerEmail', a.developer_email,
           'status', a.status,
           'tokenGeneration', a.token_generation,
           'tokensValidFrom', a.tokens_valid_from,
           'createdAt', a.created_at,
           'suites', json((
             SELECT json_group_array(s.suite_id ORDER BY s.id)
               FROM approvals p
               JOIN suites s ON s.id = p.suite_id
              WHERE p.application_id = a.id)),
           'secrets', json((
             SELECT json_group_array(
                      json_object(
                        'id', s.id,
                        'digest', s.digest,
                        'createdAt', s.created_at,
                        'endsAt', s.ends_at,
                        'revokedAt', s.revoked_at)
                      ORDER BY s.id)
               FROM secrets s
              WHERE s.application_id = a.id)))`

const SUITE = `
         json_object(
           'key', u.id,
           'suiteId', u.suite_id,
           'name', u.name,
           'createdAt', u.created_at,
           'secrets', json((
             SELECT json_group_array(
                      json_object(
                        'id', s.id,
                        'digest', s.digest,
                        'createdAt', s.created_at,
                        'endsAt', s.ends_at,
                        'revokedAt', s.revoked_at)
                      ORDER BY s.id)
               FROM secrets s
              WHERE s.suite_id = u.id)))`

export const findApplication = `
  SELECT ${APPLICATION} FROM applications a WHERE a.client_id = ?`

export const findClientId = `
  SELECT client_id FROM applications WHERE id = ?`

export const listApplications = `
  SELECT ${APPLICATION} FROM applications a WHERE a.id > ? ORDER BY a.id LIMIT ?`

export const listApplicationsOf = `
  SELECT ${APPLICATION} FROM applications a WHERE a.id IN (SELECT value FROM json_each(?)) ORDER BY a.id`

export const listNames = `
  SELECT id, client_id, name, developer_email, status FROM applications WHERE id < ? ORDER BY id DESC LIMIT ?`

export const findNamesakes = `
  SELECT ${APPLICATION} FROM applications a WHERE a.name IN (SELECT value FROM json_each(?)) ORDER BY a.id`

export const listApprovedApplications = `
  SELECT ${APPLICATION}
    FROM approvals x
    JOIN applications a ON a.id = x.application_id
   WHERE x.suite_id = (SELECT id FROM suites WHERE suite_id = ?) AND x.application_id > ?
   ORDER BY x.application_id
   LIMIT ?`

export const countApproved = `
  SELECT (SELECT count(*) FROM (SELECT 1 FROM approvals p WHERE p.suite_id = u.id LIMIT @limit))
    FROM json_each(@suite_ids) asked
    LEFT JOIN suites u ON u.suite_id = asked.value
   ORDER BY asked.key`

export const findSuite = `
  SELECT ${SUITE} FROM suites u WHERE u.suite_id = ?`

export const listSuites = `
  SELECT ${SUITE} FROM suites u WHERE u.id > ? ORDER BY u.id LIMIT ?`

export const insertApplication = `
  INSERT INTO applications (client_id, name, developer_email, created_at)
  SELECT @client_id, @name, @developer_email, @created_at
   WHERE NOT EXISTS (SELECT 1 FROM suites WHERE suite_id = @client_id)
     AND NOT (@skip_namesake AND EXISTS (
           SELECT 1 FROM applications WHERE name = @name AND developer_email = @developer_email))
      ON CONFLICT (client_id) DO NOTHING`

export const insertSuite = `
  INSERT INTO suites (suite_id, name, created_at)
  SELECT @suite_id, @name, @created_at
   WHERE NOT EXISTS (SELECT 1 FROM applications WHERE client_id = @suite_id)
      ON CONFLICT (suite_id) DO NOTHING`

export const insertSecret = `
  INSERT INTO secrets (digest, created_at, ends_at, application_id, suite_id)
  SELECT @digest, @created_at, @ends_at, id, NULL FROM applications WHERE client_id = @owner
   UNION ALL
  SELECT @digest, @created_at, @ends_at, NULL, id FROM suites WHERE suite_id = @owner`

export const setStatus = `
  UPDATE applications SET status = ? WHERE client_id = ?`

export const updateApplication = `
  UPDATE applications
     SET name = ifnull(@name, name), developer_email = ifnull(@developer_email, developer_email)
   WHERE client_id = @client_id`

export const updateSuite = `
  UPDATE suites SET name = @name WHERE suite_id = @suite_id`

export const deleteApplication = `
  DELETE FROM applications WHERE client_id = ?`

export const deleteSuite = `
  DELETE FROM suites WHERE suite_id = ?`

export const approve = `
  INSERT INTO approvals (application_id, suite_id)
  SELECT a.id, s.id FROM applications a, suites s WHERE a.client_id = ? AND s.suite_id = ?
      ON CONFLICT DO NOTHING`

export const approveForAll = `
  INSERT INTO approvals (application_id, suite_id)
  SELECT a.id, s.id FROM applications a, suites s WHERE a.client_id = ?`

export const withdraw = `
  DELETE FROM approvals
   WHERE application_id = (SELECT id FROM applications WHERE client_id = ?)
     AND suite_id = (SELECT id FROM suites WHERE suite_id = ?)`

export const revokeTokens = `
  UPDATE applications SET token_generation = token_generation + 1, tokens_valid_from = ? WHERE client_id = ?`

export const deleteEndedSecrets = `
  DELETE FROM secrets
   WHERE ends_at < @ended_before
     AND (application_id = (SELECT id FROM applications WHERE client_id = @owner)
       OR suite_id = (SELECT id FROM suites WHERE suite_id = @owner))`

export const endSecrets = `
  UPDATE secrets SET ends_at = min(ifnull(ends_at, 9007199254740991), @ends_at)
   WHERE application_id = (SELECT id FROM applications WHERE client_id = @owner)
      OR suite_id = (SELECT id FROM suites WHERE suite_id = @owner)`

export const revokeSecret = `
  UPDATE secrets
     SET ends_at = min(ifnull(ends_at, 9007199254740991), @at),
         revoked_at = ifnull(revoked_at, @at)
   WHERE id = @id
     AND (application_id = (SELECT id FROM applications WHERE client_id = @owner)
       OR suite_id = (SELECT id FROM suites WHERE suite_id = @owner))`

export const revokeSpareSecret = `
  UPDATE secrets
     SET ends_at = min(ifnull(ends_at, 9007199254740991), @at),
         revoked_at = ifnull(revoked_at, @at)
   WHERE id = @id
     AND (application_id = (SELECT id FROM applications WHERE client_id = @owner)
       OR suite_id = (SELECT id FROM suites WHERE suite_id = @owner))
     AND (ends_at <= @at
       OR EXISTS (
         SELECT 1
           FROM secrets other
          WHERE other.id <> secrets.id
            AND (other.application_id = secrets.application_id OR other.suite_id = secrets.suite_id)
            AND (other.ends_at IS NULL OR other.ends_at > @at)))`

export const mostImportedSecrets = `
  SELECT ifnull(max(checked), 0)
    FROM (SELECT max(1, sum(revoked_at IS NULL)) AS checked
            FROM secrets
           WHERE digest GLOB '$scrypt$*'
           GROUP BY application_id)`

export const countApplications = `
  SELECT count(*) FROM applications`
