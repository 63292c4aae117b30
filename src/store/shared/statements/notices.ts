export const listNotices = `
  SELECT id, matter, event, stage, message_id, body, at, seen_at, due_at, attempts, problem, sent_at
    FROM notices
   ORDER BY id`

export const saveNotices = `
  INSERT INTO notices (id, matter, event, stage, message_id, body, at, seen_at, due_at, attempts, problem, sent_at)
  SELECT CAST(value ->> 'id' AS bigint), value ->> 'matter', value ->> 'event', value ->> 'stage',
         value ->> 'messageId', value ->> 'body', CAST(value ->> 'at' AS bigint), CAST(value ->> 'seenAt' AS bigint),
         CAST(value ->> 'dueAt' AS bigint), CAST(value ->> 'attempts' AS bigint), value ->> 'problem',
         CAST(value ->> 'sentAt' AS bigint)
    FROM rows_of($1)
   WHERE true
      ON CONFLICT (id) DO UPDATE
     SET seen_at = excluded.seen_at, due_at = excluded.due_at, attempts = excluded.attempts,
         problem = excluded.problem, sent_at = excluded.sent_at`

export const removeNotices = 'DELETE FROM notices WHERE id IN (SELECT CAST(value AS bigint) FROM texts_of($1))'

// For the read-only view of a store (inspect.ts).
export const undeliveredNotices = `
  SELECT at, attempts, problem, count(*) OVER () FROM notices WHERE due_at IS NOT NULL ORDER BY id LIMIT 1`
