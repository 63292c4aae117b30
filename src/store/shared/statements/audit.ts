// The audit trail. Each filter has its own index. A filter by time scans the index on `at` from that time on.

const EVENT =
  'id, at, actor, actor_email, origin, remote_address, request_id, action, subject_kind, subject, before, after'
const COLUMNS = `${EVENT}, count`

// Keeps the order of the entries. The email address of an operator who has just been removed comes from the previous event.
export const insertAuditEvents = `
  INSERT INTO audit_events (
           at, actor, actor_email, origin, remote_address, request_id, action, subject_kind, subject, before, after, chained_at)
  SELECT CAST($2 AS bigint), $3,
         coalesce((SELECT email FROM operators WHERE name = $3),
                  (SELECT actor_email FROM audit_events WHERE actor = $3 ORDER BY id DESC LIMIT 1)),
         $4, $5, $6,
         value ->> 'action', value ->> 'subjectKind', value ->> 'subject', value ->> 'before', value ->> 'after',
         CAST($7 AS bigint)
    FROM rows_of($1)
   ORDER BY CAST(value ->> 'position' AS bigint)
  RETURNING ${EVENT}`

export const linkAuditEvents = `
  UPDATE audit_events
     SET chained_at = CAST(value ->> 'chainedAt' AS bigint),
         previous_at = CAST(value ->> 'previousAt' AS bigint),
         previous_hash = value ->> 'previousHash',
         hash = value ->> 'hash'
    FROM rows_of($1)
   WHERE id = CAST(value ->> 'id' AS bigint)`

// The last event before the first one that is not chained.
export const findAuditHead = `
  SELECT id, at, hash
    FROM audit_events
   WHERE id = (SELECT max(id)
                 FROM audit_events
                WHERE id < coalesce((SELECT min(id) FROM audit_events WHERE chained_at IS NULL), 9007199254740991))`

export const listUnchained = `
  SELECT ${EVENT} FROM audit_events WHERE chained_at IS NULL ORDER BY id LIMIT $1`

// The hash is that of the columns before it.
export const listAuditLinks = `
  SELECT ${EVENT}, chained_at, previous_at, previous_hash, hash
    FROM audit_events
   WHERE id > $1
   ORDER BY id
   LIMIT $2`

// 1.0.0 does not store email addresses. During a rolling upgrade it may run beside this program.
const EMAIL = 'coalesce(actor_email, (SELECT email FROM operators WHERE name = actor)) AS actor_email'

// Ordered by id, the order of the changes: clocks go back, and differ between nodes. The first id since a time is found in the
// index on `at` alone, and so is the last one before a time, unless a page continues before an id; `+ 0` keeps the planner from
// another index, whose rows it would have to scan. To read fewer events, the last one before a time is searched for only in the
// 24 hours that lead up to it.
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

// The events of other subjects in the same change, with the same request id, time and action. `|| ''`: they are found by time,
// because a caller may send one request id with all its requests.
const OTHERS = `
  FROM audit_events other
 WHERE other.request_id || '' = e.request_id AND other.at = e.at AND other.action = e.action AND other.subject <> e.subject`

const event = (count: string) => `
  SELECT ${COLUMNS.replace('actor_email', EMAIL).replace('count', `${count} AS count`)}
    FROM audit_events e`

const events = (where: string, count = '1') => `${event(count)}
   WHERE ${where} ${NEWEST}`

// Skips an email address or user name, which people choose at the identity provider, if it is the name of an operator.
const byEmail = (column: string, actor: string) =>
  `${column} = ${actor} AND NOT EXISTS (SELECT 1 FROM operators WHERE name = ${actor})`

// Searches by name and by email address separately, because each has its own index.
const ofActor = (list: typeof events) => `
  SELECT ${COLUMNS} FROM (${list('actor = $5')}) named
   UNION ALL
  SELECT ${COLUMNS} FROM (${list(byEmail('actor_email', '$5'))}) addressed
   ORDER BY id DESC
   LIMIT $3`

const grouped = (where: string) =>
  events(`${where} AND NOT EXISTS (SELECT 1 ${OTHERS} AND other.id > e.id)`, `1 + (SELECT count(*) ${OTHERS})`)

export const listRemovals = `${event('1')}
   WHERE action = 'application removed' AND NOT EXISTS (SELECT 1 FROM applications WHERE client_id = e.subject)
   ORDER BY id DESC
   LIMIT $1`

export const listAcknowledged = `
  SELECT subject
    FROM audit_events
   WHERE action = 'warning acknowledged' AND at + 0 > $1
   ORDER BY id DESC
   LIMIT $2`

export const listAuditEvents = events('true')
export const listAuditGroups = grouped('true')
export const listAuditEventsOfActor = ofActor(events)
export const listAuditGroupsOfActor = ofActor(grouped)

// `|| ''` makes SQLite use the index on subject or on request_id, which have fewer events than an actor.
const ALSO_OF_ACTOR = `(actor || '' = $6 OR ${byEmail("actor_email || ''", '$6')} OR $6 IS NULL)`

export const listAuditEventsOfSubject = events(`
   subject = $5
     AND ${ALSO_OF_ACTOR}
     AND (request_id || '' = $7 OR $7 IS NULL)
     AND (subject_kind = $8 OR $8 IS NULL)`)
export const listAuditEventsOfRequest = events(`
   request_id = $5 AND ${ALSO_OF_ACTOR}`)

// Which of these applications have not been changed since the change that an event belongs to.
export const listUnchangedSince = `
  SELECT e.subject
    FROM audit_events e
    JOIN audit_events made ON made.id = $2 AND made.request_id = e.request_id || '' AND made.at = e.at - 0 AND made.action = e.action
   WHERE e.subject IN (SELECT value FROM texts_of($1))
     AND e.subject_kind = 'application'
     AND NOT EXISTS (
       SELECT 1
         FROM audit_events later
        WHERE later.subject = e.subject AND later.subject_kind = 'application' AND later.id > e.id)`

// Idempotency records.

export const findSealedAnswer = 'SELECT sealed FROM idempotency_keys WHERE digest = $1 AND created_at > $2'

// Replaces an expired record.
export const insertIdempotencyRecord = `
  INSERT INTO idempotency_keys (digest, sealed, created_at)
  VALUES ($1, $2, $3)
      ON CONFLICT (digest) DO UPDATE SET sealed = excluded.sealed, created_at = excluded.created_at`
