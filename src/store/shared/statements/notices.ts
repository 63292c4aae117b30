// A text that is not needed is not read: most of the time nothing is to be posted.
export const listNotices = `
  SELECT id, matter, event, priority, stage, message_id, CASE WHEN $1 = 1 THEN body ELSE '{}' END,
         at, seen_at, due_at, attempts, problem, status, sent_at
    FROM notices
   ORDER BY id`

export const saveNotices = `
  INSERT INTO notices (id, matter, event, priority, stage, message_id, body, at, seen_at, due_at, attempts, problem, status, sent_at)
  SELECT CAST(value ->> 'id' AS bigint), value ->> 'matter', value ->> 'event', CAST(value ->> 'priority' AS bigint),
         value ->> 'stage', value ->> 'messageId', value ->> 'body', CAST(value ->> 'at' AS bigint),
         CAST(value ->> 'seenAt' AS bigint), CAST(value ->> 'dueAt' AS bigint), CAST(value ->> 'attempts' AS bigint),
         value ->> 'problem', CAST(value ->> 'status' AS bigint), CAST(value ->> 'sentAt' AS bigint)
    FROM rows_of($1)
   WHERE true
      ON CONFLICT (id) DO UPDATE
     SET seen_at = excluded.seen_at, due_at = excluded.due_at, attempts = excluded.attempts,
         problem = excluded.problem, status = excluded.status, sent_at = excluded.sent_at`

export const removeNotices = 'DELETE FROM notices WHERE id IN (SELECT CAST(value AS bigint) FROM texts_of($1))'

// For the read-only view of a store (inspect.ts): the problem of one that was tried, if any was.
export const undeliveredNotices = `
  SELECT min(at) OVER (), attempts, problem, count(*) OVER ()
    FROM notices
   WHERE due_at IS NOT NULL
   ORDER BY problem IS NULL, attempts DESC
   LIMIT 1`
