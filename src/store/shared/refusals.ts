import { MAX_REFUSALS, type RefusalCount, type RefusedClient } from '../../domain/refusal.ts'
import type { Refusals } from '../../domain/store.ts'
import * as sql from './statements/refusals.ts'
import { ask, type Database, rowsJson, type Work } from './work.ts'

/** The last refusals. */
export function createRefusals({ askInBackground, transactInBackground }: Database): Refusals {
  return {
    recordRefusals: (refusals) => transactInBackground(() => record(refusals)),

    async listRefusals(clientId) {
      const values = [clientId === undefined ? null : storable(clientId)]
      return (await askInBackground<Row>(sql.listRefusals, values)).map(toRefusal)
    },

    async listLastRefused(limit) {
      type Row = [kind: RefusedClient['kind'], id: string, name: string, reason: string, lastAt: number]
      const rows = await askInBackground<Row>(sql.listLastRefused, [limit * MAX_REFUSALS.known, limit])
      return rows.map(([kind, id, name, reason, lastAt]) => ({ kind, id, name, reason, lastAt }))
    },
  }
}

function* record(refusals: readonly RefusalCount[]): Work<void> {
  const owners = new Set<number>()
  for (const rows of withoutTwins(refusals.map(toRow))) {
    for (const [owner] of yield* ask<[owner: number]>(sql.recordRefusals, [rowsJson(rows)])) owners.add(owner)
  }
  const { known, unknown } = MAX_REFUSALS
  yield* ask(sql.keepNewestRefusals, [JSON.stringify([...owners]), known, unknown])
}

type StoredRefusal = ReturnType<typeof toRow>

function toRow({ isKnown, clientId, suite = '', ...rest }: RefusalCount) {
  return { ...rest, isKnown: isKnown ? 1 : 0, clientId: storable(clientId), suite }
}

/** Lists without two refusals of one row: PostgreSQL changes none twice in a statement. */
function withoutTwins(refusals: readonly StoredRefusal[]): StoredRefusal[][] {
  const seen = new Map<string, number>()
  const lists: StoredRefusal[][] = []
  for (const refusal of refusals) {
    const { isKnown, clientId, reason, endpoint, suite, remoteAddress } = refusal
    const name = JSON.stringify([isKnown, clientId, reason, endpoint, suite, remoteAddress])
    const nth = seen.get(name) ?? 0
    seen.set(name, nth + 1)
    lists[nth] ??= []
    lists[nth].push(refusal)
  }
  return lists
}

/** What strangers sent as their client id, without what PostgreSQL cannot hold: NUL and unpaired surrogates. */
function storable(clientId: string): string {
  return clientId.replaceAll('\0', '\ufffd').toWellFormed()
}

type Row = [
  clientId: string,
  isKnown: number,
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

function toRefusal(row: Row): RefusalCount {
  const [clientId, isKnown, reason, endpoint, suite, remoteAddress, count, firstAt, lastAt, requestId, traceId] = row
  return {
    ...{ clientId, isKnown: isKnown === 1, reason, endpoint, remoteAddress, count, firstAt, lastAt },
    suite: suite || undefined,
    requestId: requestId ?? undefined,
    traceId: traceId ?? undefined,
  }
}
