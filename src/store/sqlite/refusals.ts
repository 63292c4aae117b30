import { MAX_REFUSALS, type RefusalCount, type RefusedClient } from '../../domain/refusal.ts'
import type { Refusals } from '../../domain/store.ts'
import type { Context } from './context.ts'

// The last refusals. An owner is an application, or with a minus a suite; 0: the client id is not registered.

// Without the WHERE of the second SELECT, ON CONFLICT would be taken for the condition of a join.
const RECORD = `
  INSERT INTO refusals (
           owner_id, client_id, reason, endpoint, suite, remote_address, count, first_at, last_at, request_id, trace_id)
  SELECT owner.id, @clientId, @reason, @endpoint, @suite, @remoteAddress, @count, @firstAt, @lastAt, @requestId, @traceId
    FROM (SELECT id FROM applications WHERE client_id = @clientId AND @isKnown
           UNION ALL
          SELECT -id FROM suites WHERE suite_id = @clientId AND @isKnown
           UNION ALL
          SELECT 0 WHERE NOT @isKnown) owner
   WHERE true
      ON CONFLICT DO UPDATE
     SET count = count + excluded.count,
         first_at = min(first_at, excluded.first_at),
         last_at = max(last_at, excluded.last_at),
         request_id = iif(excluded.last_at < last_at, request_id, excluded.request_id),
         trace_id = iif(excluded.last_at < last_at, trace_id, excluded.trace_id)
  RETURNING owner_id`

const KEEP_NEWEST = `
  DELETE FROM refusals
   WHERE rowid IN (SELECT rowid FROM refusals WHERE owner_id = ? ORDER BY last_at DESC LIMIT -1 OFFSET ?)`

const LIST = `
  SELECT client_id AS clientId, owner_id <> 0 AS isKnown, reason, endpoint, suite, remote_address AS remoteAddress,
         count, first_at AS firstAt, last_at AS lastAt, request_id AS requestId, trace_id AS traceId
    FROM refusals
   WHERE owner_id = coalesce(
           (SELECT id FROM applications WHERE client_id = @clientId), (SELECT -id FROM suites WHERE suite_id = @clientId), 0)
     AND (client_id = @clientId OR @clientId IS NULL)
   ORDER BY last_at DESC`

// Of an owner, at most MAX_REFUSALS.known rows are kept, so the newest rows contain the owners that were refused last. Owners
// that were removed are left out.
export const LIST_LAST_REFUSED = `
  SELECT CASE WHEN r.owner_id > 0 THEN 'application' ELSE 'suite' END AS kind,
         r.client_id AS id,
         coalesce(a.name, s.name) AS name,
         r.reason,
         r.last_at AS "lastAt"
    FROM (SELECT owner_id, client_id, reason, last_at,
                 row_number() OVER (PARTITION BY owner_id ORDER BY last_at DESC) AS place
            FROM (SELECT owner_id, client_id, reason, last_at
                    FROM refusals
                   WHERE owner_id <> 0
                   ORDER BY last_at DESC
                   LIMIT @rows) newest) r
    LEFT JOIN applications a ON a.id = r.owner_id
    LEFT JOIN suites s ON s.id = -r.owner_id
   WHERE r.place = 1
     AND (a.id IS NOT NULL OR s.id IS NOT NULL)
   ORDER BY r.last_at DESC
   LIMIT @limit`

/** The last refusals, in SQLite. They are not brought to the disk: the next change takes them there. */
export function createRefusals({ db, read, write }: Context): Refusals {
  const recordRefusal = db.prepare(RECORD).pluck()
  const keepNewestRefusals = db.prepare(KEEP_NEWEST)
  const listRefusals = db.prepare<{ clientId: string | null }, RefusalRow>(LIST)
  const listLastRefused = db.prepare<{ rows: number; limit: number }, RefusedClient>(LIST_LAST_REFUSED)

  const recordAll = db.transaction((refusals: readonly RefusalCount[]) => {
    // Undefined, of which there are none: the application or suite is there no more.
    const owners = new Set(refusals.map((refusal) => recordRefusal.get(toRow(refusal)) as number | undefined))
    for (const owner of owners) keepNewestRefusals.run(owner, owner === 0 ? MAX_REFUSALS.unknown : MAX_REFUSALS.known)
  }).immediate

  return {
    recordRefusals: (refusals) => write(() => recordAll(refusals)),
    listRefusals: (clientId) => read(() => listRefusals.all({ clientId: clientId ?? null }).map(toRefusal)),
    listLastRefused: (limit) => read(() => listLastRefused.all({ rows: limit * MAX_REFUSALS.known, limit })),
  }
}

type RefusalRow = Omit<RefusalCount, 'isKnown' | 'suite' | 'requestId' | 'traceId'> & {
  isKnown: number
  suite: string
  requestId: string | null
  traceId: string | null
}

function toRow({ isKnown, suite = '', requestId, traceId, ...rest }: RefusalCount): RefusalRow {
  return { ...rest, isKnown: isKnown ? 1 : 0, suite, requestId: requestId ?? null, traceId: traceId ?? null }
}

function toRefusal({ isKnown, suite, requestId, traceId, ...rest }: RefusalRow): RefusalCount {
  return {
    ...rest,
    isKnown: isKnown === 1,
    suite: suite || undefined,
    requestId: requestId ?? undefined,
    traceId: traceId ?? undefined,
  }
}
