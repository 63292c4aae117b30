import { MAX_REFUSALS, type RefusalCount, type RefusedClient } from '../../domain/refusal.ts'
import type { Refusals } from '../../domain/store.ts'
import type { Commands } from './commands.ts'
import * as sql from './statements/refusals.ts'
import { arrayOf } from './values.ts'

/** The last refusals, in PostgreSQL. */
export function createRefusals({ askInBackground, inTransaction }: Commands): Refusals {
  return {
    recordRefusals: (refusals) =>
      inTransaction(async (ask) => {
        await ask(sql.lockRefusals)
        const rows = await ask<[owner: number]>(sql.recordRefusals, recordValues(refusals))
        const owners = arrayOf([...new Set(rows.map(([owner]) => owner))])
        await ask(sql.keepNewestRefusals, [owners, MAX_REFUSALS.known, MAX_REFUSALS.unknown])
      }),

    async listRefusals(clientId) {
      const rows = await askInBackground<RefusalRow>(sql.listRefusals, [
        clientId === undefined ? null : storable(clientId),
      ])
      return rows.map(toRefusal)
    },

    async listLastRefused(limit) {
      type Row = [kind: RefusedClient['kind'], id: string, name: string, reason: string, lastAt: number]
      const rows = await askInBackground<Row>(sql.listLastRefused, [limit * MAX_REFUSALS.known, limit])
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
