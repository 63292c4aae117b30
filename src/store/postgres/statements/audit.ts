// The audit trail. Each filter has its own index. A filter by time reads all times since then from their index.

// Keeps the order of the entries of one change.
export const insertAuditEvents = `
  INSERT INTO audit_events (
           at, actor, origin, remote_address, request_id, action, subject_kind, subject, before, after)
  SELECT $1::bigint, $2, $3, $4, $5, action, subject_kind, subject, before, after
    FROM unnest($6::text[], $7::text[], $8::text[], $9::text[], $10::text[])
         WITH ORDINALITY AS entry (action, subject_kind, subject, before, after, position)
   ORDER BY position`

const AUDIT_EVENTS = `
  SELECT id, at, actor, origin, remote_address, request_id, action, subject_kind, subject, before, after
    FROM audit_events`

// By id, the order in which the changes were made: clocks go back, and differ between nodes. The first id since a time is
// found in the index on `at` alone; the plus signs keep PostgreSQL from scanning all rows.
const NEWEST = `
     AND id < coalesce($2, 9007199254740991)
     AND id >= CASE WHEN $1::bigint = 0 THEN 0 ELSE (SELECT min(id + 0) FROM audit_events WHERE at >= $1) END
     AND at + 0 >= $1
   ORDER BY id DESC
   LIMIT $3`

export const listAuditEvents = `${AUDIT_EVENTS} WHERE true ${NEWEST}`

export const listAuditEventsOfActor = `${AUDIT_EVENTS} WHERE actor = $4 ${NEWEST}`

export const listAuditEventsOfSubject = `
  ${AUDIT_EVENTS}
   WHERE subject = $4 AND (actor = $5 OR $5 IS NULL) AND (subject_kind = $6 OR $6 IS NULL) ${NEWEST}`

export const purgeAuditEvents = `
  WITH old AS (
    SELECT id FROM audit_events WHERE at < $1 ORDER BY at, id LIMIT $2 FOR UPDATE SKIP LOCKED
  ), deleted AS (
    DELETE FROM audit_events WHERE id IN (SELECT id FROM old) RETURNING 1
  )
  SELECT count(*) FROM deleted`

// Idempotency records.

export const findSealedAnswer = `
  SELECT sealed FROM idempotency_keys WHERE digest = $1 AND created_at > $2`

// Replaces an expired record.
export const insertIdempotencyRecord = `
  INSERT INTO idempotency_keys (digest, sealed, created_at)
  VALUES ($1, $2, $3)
      ON CONFLICT (digest) DO UPDATE SET sealed = excluded.sealed, created_at = excluded.created_at`

export const purgeIdempotencyRecords = `
  WITH old AS (
    SELECT digest FROM idempotency_keys WHERE created_at < $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED
  ), deleted AS (
    DELETE FROM idempotency_keys WHERE digest IN (SELECT digest FROM old) RETURNING 1
  )
  SELECT count(*) FROM deleted`
