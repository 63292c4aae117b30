// The audit trail. Each filter has its own index. A filter by time reads all times since then from their index.

export const insertAuditEvent = `
  INSERT INTO audit_events (
           at, actor, origin, remote_address, request_id, action, subject_kind, subject, before, after)
  VALUES (@at, @actor, @origin, @remoteAddress, @requestId, @action, @subjectKind, @subject, @before, @after)`

const AUDIT_EVENTS = `
  SELECT id, at, actor, origin, remote_address AS remoteAddress, request_id AS requestId,
         action, subject_kind AS subjectKind, subject, before, after
    FROM audit_events`

// By id, the order in which the changes were made: clocks go back, and differ between machines. The first id since a time is
// found in the index on `at` alone; the plus signs keep SQLite from scanning all rows.
const NEWEST = `
     AND id < ifnull(@before, 9007199254740991)
     AND id >= iif(@since = 0, 0, (SELECT min(+id) FROM audit_events WHERE at >= @since))
     AND +at >= @since
   ORDER BY id DESC
   LIMIT @limit`

export const listAuditEvents = `${AUDIT_EVENTS} WHERE true ${NEWEST}`

export const listAuditEventsOfActor = `${AUDIT_EVENTS} WHERE actor = @actor ${NEWEST}`

// The plus makes SQLite use the index on subject: a subject has fewer events than an actor.
export const listAuditEventsOfSubject = `
  ${AUDIT_EVENTS}
   WHERE subject = @subject AND (+actor = @actor OR @actor IS NULL) AND (subject_kind = @kind OR @kind IS NULL) ${NEWEST}`

export const purgeAuditEvents = `
  DELETE FROM audit_events
   WHERE id IN (SELECT id FROM audit_events WHERE at < ? ORDER BY at LIMIT ?)`

// Idempotency records.

export const findSealedAnswer = `
  SELECT sealed FROM idempotency_keys WHERE digest = ? AND created_at > ?`

// Replaces an expired record.
export const insertIdempotencyRecord = `
  INSERT INTO idempotency_keys (digest, sealed, created_at)
  VALUES (@digest, @sealed, @at)
      ON CONFLICT DO UPDATE SET sealed = excluded.sealed, created_at = excluded.created_at`

export const purgeIdempotencyRecords = `
  DELETE FROM idempotency_keys
   WHERE digest IN (SELECT digest FROM idempotency_keys WHERE created_at < ? ORDER BY created_at LIMIT ?)`
