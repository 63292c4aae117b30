import { MAX_REFUSALS, type RefusalCount, type RefusedClient } from '../../domain/refusal.ts'
import type { Refusals } from '../../domain/store.ts'
import type { Commands } from './commands.ts'
import { arrayOf } from './connection.ts'

// The last refusals. An owner is an application, or with a minus a suite; 0: the client id is not registered. The lock: one
// node at a time, so that none waits for rows of another in a circle. Nor does the one that has it wait for the disk or a
// standby: refusals that a crash takes are no loss.

const lockRefusals = `
  SELECT pg_advisory_xact_lock(7033017, 3), set_config('synchronous_commit', 'off', true)`

// Those of one row are one row first: none can be changed twice.
const recordRefusals = `
  INSERT INTO refusals AS old (
           owner_id, client_id, reason, endpoint, suite, remote_address, count, first_at, last_at, request_id, trace_id)
  SELECT coalesce(a.id, -s.id, 0), r.client_id, r.reason, r.endpoint, r.suite, r.remote_address,
         sum(r.count), min(r.first_at), max(r.last_at),
         (array_agg(r.request_id ORDER BY r.last_at DESC))[1], (array_agg(r.trace_id ORDER BY r.last_at DESC))[1]
    FROM unnest(
           $1::text[], $2::boolean[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[],
           $9::bigint[], $10::text[], $11::text[])
      AS r (
           client_id, is_known, reason, endpoint, suite, remote_address, count, first_at, last_at, request_id, trace_id)
    LEFT JOIN applications a ON r.is_known AND a.client_id = r.client_id
    LEFT JOIN suites s ON r.is_known AND s.suite_id = r.client_id
   WHERE a.id IS NOT NULL OR s.id IS NOT NULL OR NOT r.is_known
   GROUP BY a.id, s.id, r.client_id, r.reason, r.endpoint, r.suite, r.remote_address
      ON CONFLICT (owner_id, client_id, reason, endpoint, suite, remote_address) DO UPDATE
     SET count = old.count + excluded.count,
         first_at = least(old.first_at, excluded.first_at),
         last_at = greatest(old.last_at, excluded.last_at),
         request_id = CASE WHEN excluded.last_at < old.last_at THEN old.request_id ELSE excluded.request_id END,
         trace_id = CASE WHEN excluded.last_at < old.last_at THEN old.trace_id ELSE excluded.trace_id END
  RETURNING owner_id`

const keepNewestRefusals = `
  DELETE FROM refusals
   WHERE ctid = ANY (ARRAY(
           SELECT ranked.ctid
             FROM (SELECT ctid, owner_id, row_number() OVER (PARTITION BY owner_id ORDER BY last_at DESC) AS place
                     FROM refusals
                    WHERE owner_id = ANY ($1::bigint[])) ranked
            WHERE place > CASE owner_id WHEN 0 THEN $3::integer ELSE $2::integer END))`

const listRefusals = `
  SELECT client_id, owner_id <> 0, reason, endpoint, suite, remote_address, count, first_at, last_at, request_id, trace_id
    FROM refusals
   WHERE owner_id = coalesce(
           (SELECT id FROM applications WHERE client_id = $1), (SELECT -id FROM suites WHERE suite_id = $1), 0)
     AND (client_id = $1 OR $1::text IS NULL)
   ORDER BY last_at DESC`

// Of an owner, at most MAX_REFUSALS.known rows are kept, so the newest rows contain the owners that were refused last. Owners
// that were removed are left out.
export const listLastRefused = `
  SELECT CASE WHEN r.owner_id > 0 THEN 'application' ELSE 'suite' END,
         r.client_id,
         coalesce(a.name, s.name),
         r.reason,
         r.last_at
    FROM (SELECT owner_id, client_id, reason, last_at,
                 row_number() OVER (PARTITION BY owner_id ORDER BY last_at DESC) AS place
            FROM (SELECT owner_id, client_id, reason, last_at
                    FROM refusals
                   WHERE owner_id <> 0
                   ORDER BY last_at DESC
                   LIMIT $1) newest) r
    LEFT JOIN applications a ON a.id = r.owner_id
    LEFT JOIN suites s ON s.id = -r.owner_id
   WHERE r.place = 1
     AND (a.id IS NOT NULL OR s.id IS NOT NULL)
   ORDER BY r.last_at DESC
   LIMIT $2`

/** The last refusals, in PostgreSQL. */
export function createRefusals({ askInBackground, inTransaction }: Commands): Refusals {
  return {
    recordRefusals: (refusals) =>
      inTransaction(async (ask) => {
        await ask(lockRefusals)
        const rows = await ask<[owner: number]>(recordRefusals, recordValues(refusals))
        const owners = arrayOf([...new Set(rows.map(([owner]) => owner))])
        await ask(keepNewestRefusals, [owners, MAX_REFUSALS.known, MAX_REFUSALS.unknown])
      }),

    async listRefusals(clientId) {
      const rows = await askInBackground<RefusalRow>(listRefusals, [clientId === undefined ? null : storable(clientId)])
      return rows.map(toRefusal)
    },

    async listLastRefused(limit) {
      type Row = [kind: RefusedClient['kind'], id: string, name: string, reason: string, lastAt: number]
      const rows = await askInBackground<Row>(listLastRefused, [limit * MAX_REFUSALS.known, limit])
      return rows.map(([kind, id, name, reason, lastAt]) => ({ kind, id, name, reason, lastAt }))
    },
  }
}

function recordValues(refusals: readonly RefusalCount[]): unknown[] {
  return [
    refusals.map(({ clientId }) => storable(clientId)),
    arrayOf(refusals.map(({ isKnown }) => isKnown)),
    refusals.map(({ reason }) => reason),
    refusals.map(({ endpoint }) => endpoint),
    refusals.map(({ suite = '' }) => suite),
    refusals.map(({ remoteAddress }) => remoteAddress),
    arrayOf(refusals.map(({ count }) => count)),
    arrayOf(refusals.map(({ firstAt }) => firstAt)),
    arrayOf(refusals.map(({ lastAt }) => lastAt)),
    refusals.map(({ requestId }) => requestId),
    refusals.map(({ traceId }) => traceId),
  ]
}

/** What strangers sent as their client id, without NUL, which PostgreSQL cannot hold. */
function storable(clientId: string): string {
  return clientId.replaceAll('\0', '\ufffd')
}

type RefusalRow = [
  clientId: string,
  isKnown: boolean,
  reason: string,
  endpoint: string,
  suite: string,
  remoteAddress: string,
  count: number,
  firstAt: number,
  lastAt: number,
  requestId: string | null,
  traceId: string | null,
]

function toRefusal(row: RefusalRow): RefusalCount {
  const [clientId, isKnown, reason, endpoint, suite, remoteAddress, count, firstAt, lastAt, requestId, traceId] = row
  return {
    clientId,
    isKnown,
    reason,
    endpoint,
    suite: suite || undefined,
    remoteAddress,
    count,
    firstAt,
    lastAt,
    requestId: requestId ?? undefined,
    traceId: traceId ?? undefined,
  }
}
