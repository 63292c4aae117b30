// Every statement that the SQLite store sends, whole but for the two parts that come first.

// An application or a suite comes with its secrets as one JSON text under the names that the domain has: that is parsed
// faster than rows of many columns are read (docs/performance).

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

export const findNamesakes = `
  SELECT ${APPLICATION} FROM applications a WHERE a.name IN (SELECT value FROM json_each(?)) ORDER BY a.id`

export const listApprovedApplications = `
  SELECT ${APPLICATION}
    FROM applications a
    JOIN approvals x ON x.application_id = a.id
    JOIN suites y ON y.id = x.suite_id
   WHERE y.suite_id = ? AND a.id > ?
   ORDER BY a.id
   LIMIT ?`

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

export const startSecrets = `
  UPDATE secrets SET ends_at = NULL
   WHERE ends_at = @not_shown_yet
     AND (application_id = (SELECT id FROM applications WHERE client_id = @owner)
       OR suite_id = (SELECT id FROM suites WHERE suite_id = @owner))`

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

export const mostImportedSecrets = `
  SELECT ifnull(max(checked), 0)
    FROM (SELECT max(1, sum(revoked_at IS NULL)) AS checked
            FROM secrets
           WHERE digest GLOB '$scrypt$*'
           GROUP BY application_id)`

export const insertToken = `
  INSERT INTO tokens (id, secret_hash, application_id, generation, issued_at) VALUES (?, ?, ?, ?, ?)`

export const findToken = `
  SELECT secret_hash, application_id, generation, issued_at, revoked_at FROM tokens WHERE id = ?`

export const revokeToken = `
  UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL`

export const purgeTokens = `
  DELETE FROM tokens WHERE id IN (SELECT id FROM tokens WHERE id < ? ORDER BY id LIMIT ?)`

export const addTokenCount = `
  INSERT INTO token_counts (hour, application_id, issued, refused)
  VALUES (@hour, @applicationKey, @issued, @refused)
      ON CONFLICT DO UPDATE SET issued = issued + excluded.issued, refused = refused + excluded.refused
  RETURNING application_id AS applicationKey, hour, issued, refused`

export const countTokens = `
  SELECT issued FROM token_counts WHERE application_id = ? AND hour = ?`

export const listTokenCounts = `
  SELECT application_id AS applicationKey, hour, issued, refused FROM token_counts WHERE hour >= ?`

export const purgeTokenCounts = `
  DELETE FROM token_counts
   WHERE (hour, application_id) IN (
     SELECT hour, application_id FROM token_counts WHERE hour < ? ORDER BY hour, application_id LIMIT ?)`

export const recordSecretUse = `
  INSERT INTO secret_uses (secret_id, last_used_at)
  SELECT id, @lastUsedAt FROM secrets WHERE id = @secretId
      ON CONFLICT DO UPDATE SET last_used_at = max(last_used_at, excluded.last_used_at)`

export const listSecretUses = `
  SELECT secret_id AS secretId, last_used_at AS lastUsedAt
    FROM secret_uses
   WHERE secret_id IN (SELECT value FROM json_each(?))`

export const recordApplicationUse = `
  INSERT INTO application_uses (application_id, last_token_at)
  SELECT id, @lastTokenAt FROM applications WHERE id = @applicationKey
      ON CONFLICT DO UPDATE SET last_token_at = max(last_token_at, excluded.last_token_at)`

export const lastTokenAt = `
  SELECT last_token_at FROM application_uses WHERE application_id = ?`

// Without the WHERE of the second SELECT, ON CONFLICT would be taken for the condition of a join.
export const recordRefusal = `
  INSERT INTO refusals (
           application_id, client_id, reason, endpoint, suite, remote_address, count, first_at, last_at, request_id, trace_id)
  SELECT owner.id, @clientId, @reason, @endpoint, @suite, @remoteAddress, @count, @firstAt, @lastAt, @requestId, @traceId
    FROM (SELECT id FROM applications WHERE client_id = @clientId AND @isKnown
           UNION ALL
          SELECT 0 WHERE NOT @isKnown) owner
   WHERE true
      ON CONFLICT DO UPDATE
     SET count = count + excluded.count,
         first_at = min(first_at, excluded.first_at),
         last_at = max(last_at, excluded.last_at),
         request_id = iif(excluded.last_at < last_at, request_id, excluded.request_id),
         trace_id = iif(excluded.last_at < last_at, trace_id, excluded.trace_id)
  RETURNING application_id`

export const keepNewestRefusals = `
  DELETE FROM refusals
   WHERE rowid IN (SELECT rowid FROM refusals WHERE application_id = ? ORDER BY last_at DESC LIMIT -1 OFFSET ?)`

export const listRefusals = `
  SELECT client_id AS clientId, application_id > 0 AS isKnown, reason, endpoint, suite, remote_address AS remoteAddress,
         count, first_at AS firstAt, last_at AS lastAt, request_id AS requestId, trace_id AS traceId
    FROM refusals
   WHERE application_id = ifnull((SELECT id FROM applications WHERE client_id = @clientId), 0)
     AND client_id = @clientId
   ORDER BY last_at DESC`

export const purgeRefusals = `
  DELETE FROM refusals
   WHERE rowid IN (SELECT rowid FROM refusals WHERE last_at < ? ORDER BY last_at LIMIT ?)`

export const oldestTokenAt = `
  SELECT issued_at FROM tokens ORDER BY id LIMIT 1`

export const countEndingSecrets = `
  SELECT count(*)
    FROM (SELECT DISTINCT s.application_id, s.suite_id
            FROM secrets s
            LEFT JOIN applications a ON a.id = s.application_id
           WHERE s.ends_at > @now AND s.ends_at <= @before
             AND s.revoked_at IS NULL
             AND ifnull(a.status, 'active') = 'active'
             AND NOT EXISTS (
                   SELECT 1
                     FROM secrets other
                    WHERE (other.application_id = s.application_id OR other.suite_id = s.suite_id)
                      AND other.revoked_at IS NULL
                      AND (other.ends_at IS NULL OR other.ends_at > @before)))`

export const lastBackupAt = `
  SELECT made_at FROM backups`

export const forgetBackup = `
  DELETE FROM backups`

export const insertBackup = `
  INSERT INTO backups (made_at) VALUES (?)`

export const findMove = `
  SELECT place, began_at AS beganAt, copied_at AS copiedAt FROM moved`

export const beginMove = `
  INSERT INTO moved (place, began_at) VALUES (?, ?)`

export const completeMove = `
  UPDATE moved SET copied_at = ? WHERE place = ? AND began_at = ?`

export const abandonMove = `
  DELETE FROM moved WHERE place = ? AND began_at = ?`

export const forgetMove = `
  DELETE FROM moved`

// A page of each table that is copied: the rows after a key, in its order, with bytes as hex.

export const copyPages = {
  suites: `
  SELECT id, suite_id, name, created_at FROM suites WHERE id > ? ORDER BY id LIMIT ?`,

  applications: `
  SELECT id, client_id, name, developer_email, status, tokens_valid_from, created_at, token_generation
    FROM applications
   WHERE id > ?
   ORDER BY id
   LIMIT ?`,

  secrets: `
  SELECT id, application_id, suite_id, digest, created_at, ends_at, revoked_at
    FROM secrets
   WHERE id > ?
   ORDER BY id
   LIMIT ?`,

  approvals: `
  SELECT application_id, suite_id
    FROM approvals
   WHERE (application_id, suite_id) > (?, ?)
   ORDER BY application_id, suite_id
   LIMIT ?`,

  secret_uses: `
  SELECT secret_id, last_used_at FROM secret_uses WHERE secret_id > ? ORDER BY secret_id LIMIT ?`,

  application_uses: `
  SELECT application_id, last_token_at FROM application_uses WHERE application_id > ? ORDER BY application_id LIMIT ?`,

  token_counts: `
  SELECT hour, application_id, issued, refused
    FROM token_counts
   WHERE (hour, application_id) > (?, ?)
   ORDER BY hour, application_id
   LIMIT ?`,

  tokens: `
  SELECT lower(hex(id)), lower(hex(secret_hash)), application_id, issued_at, revoked_at, generation
    FROM tokens
   WHERE id > unhex(?)
   ORDER BY id
   LIMIT ?`,
}

export const lastKeys = `
  SELECT name, seq FROM sqlite_sequence WHERE seq > 0`

export const sqliteVersion = `
  SELECT sqlite_version()`

export const ping = `
  SELECT id FROM applications LIMIT 1`

// A change that is one: SQLite does not write what is the same.
export const tryToWrite = `
  UPDATE changes SET revocations = revocations + 1`

export const countChanges = `
  SELECT registry, revocations FROM changes`

export const countApplications = `
  SELECT count(*) FROM applications`

export const newestToken = `
  SELECT issued_at FROM tokens ORDER BY id DESC LIMIT 1`

export const deleteTokens = `
  DELETE FROM tokens`

export const findTable = `
  SELECT 1 FROM sqlite_schema LIMIT 1`

export const findCompatibility = `
  SELECT 1 FROM sqlite_schema WHERE name = 'compatibility'`

export const oldestProgram = `
  SELECT oldest_program FROM compatibility`

export const listSchema = `
  SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`

export const lookAtLog = `
  PRAGMA wal_checkpoint(NOOP)`

export const copyLog = `
  PRAGMA wal_checkpoint(PASSIVE)`

export const emptyLog = `
  PRAGMA wal_checkpoint(TRUNCATE)`
