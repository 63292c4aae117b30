// The audit trail. Each filter has its own index. A filter by time scans the index on `at` from that time on.

// Inserted in the order of the entries. An operator who has just been removed has the email address of the event before.
export const insertAuditEvents = `
  INSERT INTO audit_events (
           at, actor, actor_email, origin, remote_address, request_id, action, subject_kind, subject, before, after)
  SELECT CAST($2 AS bigint), $3,
         coalesce((SELECT email FROM operators WHERE name = $3),
                  (SELECT actor_email FROM audit_events WHERE actor = $3 ORDER BY id DESC LIMIT 1)),
         $4, $5, $6,
         value ->> 'action', value ->> 'subjectKind', value ->> 'subject', value ->> 'before', value ->> 'after'
    FROM rows_of($1)
   ORDER BY CAST(value ->> 'position' AS bigint)`

const COLUMNS =
  'id, at, actor, actor_email, origin, remote_address, request_id, action, subject_kind, subject, before, after'

// 1.0.0 does not store email addresses. During a rolling upgrade it may run beside this program.
const EMAIL = 'coalesce(actor_email, (SELECT email FROM operators WHERE name = actor)) AS actor_email'

const AUDIT_EVENTS = `SELECT ${COLUMNS.replace('actor_email', EMAIL)} FROM audit_events`

// By id, the order in which the changes were made: clocks go back, and differ between nodes. The first id since a time, and the
// last one before a time unless a page continues before an id, are found in the index on `at` alone; `+ 0` keeps the planner
// from choosing another index, whose rows it would have to scan. The last one is looked for among those of the day before it:
// all that are older would be too many.
const NEWEST = `
     AND id < coalesce($2, CASE WHEN (SELECT at FROM audit_events WHERE id = (SELECT max(id) FROM audit_events)) < $4
                                THEN 9007199254740991
                                ELSE (SELECT coalesce(max(id + 0), 0) + 1 FROM audit_events
                                       WHERE at < $4 AND at > (SELECT max(at) FROM audit_events WHERE at < $4) - 86400000) END)
     AND id >= CASE WHEN CAST($1 AS bigint) = 0 THEN 0 ELSE (SELECT min(id + 0) FROM audit_events WHERE at >= $1) END
     AND at + 0 >= $1
     AND at - 0 < $4
   ORDER BY id DESC
   LIMIT $3`

export const listAuditEvents = `${AUDIT_EVENTS} WHERE true ${NEWEST}`

// By name and by email address apart, because each has its index. No name is also an address.
export const listAuditEventsOfActor = `
  SELECT ${COLUMNS} FROM (${AUDIT_EVENTS} WHERE actor = $5 ${NEWEST}) named
   UNION ALL
  SELECT ${COLUMNS} FROM (${AUDIT_EVENTS} WHERE actor_email = $5 ${NEWEST}) addressed
   ORDER BY id DESC
   LIMIT $3`

// `|| ''` makes SQLite use the index on subject: a subject has fewer events than an actor.
export const listAuditEventsOfSubject = `
  ${AUDIT_EVENTS}
   WHERE subject = $5
     AND (actor || '' = $6 OR actor_email || '' = $6 OR $6 IS NULL)
     AND (subject_kind = $7 OR $7 IS NULL) ${NEWEST}`

// Idempotency records.

export const findSealedAnswer = 'SELECT sealed FROM idempotency_keys WHERE digest = $1 AND created_at > $2'

// Replaces an expired record.
export const insertIdempotencyRecord = `
  INSERT INTO idempotency_keys (digest, sealed, created_at)
  VALUES ($1, $2, $3)
      ON CONFLICT (digest) DO UPDATE SET sealed = excluded.sealed, created_at = excluded.created_at`
