import {
  MAX_REFUSALS,
  MAX_REFUSED_REQUESTS,
  type NewRefusedRequest,
  type RefusalCount,
  type RefusedClient,
  type RefusedRequest,
  type RefusedRequestFilter,
} from '../../domain/refusal.ts'
import type { Refusals } from '../../domain/store.ts'
import * as sql from './statements/refusals.ts'
import { ask, type Database, END, rowsJson, toObjects, type Work } from './work.ts'

const COLUMNS = [
  ...(['clientId', 'isKnown', 'reason', 'endpoint', 'suite', 'remoteAddress'] as const),
  ...(['count', 'firstAt', 'lastAt', 'detail', 'requestId', 'traceId'] as const),
]

const REQUEST_COLUMNS = [
  ...(['id', 'at', 'requestId', 'reason', 'endpoint'] as const),
  ...(['clientId', 'suite', 'remoteAddress', 'detail', 'kind', 'name'] as const),
]

export function createRefusals({ askInBackground, transactInBackground }: Database): Refusals {
  return {
    recordRefusals: (refusals) => transactInBackground(() => record(refusals)),

    async listRefusals(clientId) {
      const rows = await askInBackground(sql.listRefusals, [clientId === undefined ? null : storable(clientId)])
      return toObjects<ReturnType<typeof toRow>>(rows, ...COLUMNS).map((row) => ({
        ...row,
        isKnown: row.isKnown === 1,
        suite: row.suite || undefined,
        // NULL if the request had none.
        detail: row.detail ?? undefined,
        requestId: row.requestId ?? undefined,
        traceId: row.traceId ?? undefined,
      }))
    },

    async listLastRefused(limit) {
      const rows = await askInBackground(sql.listLastRefused, [limit])
      return toObjects<RefusedClient>(rows, 'kind', 'id', 'name', 'reason', 'suite', 'count', 'firstAt', 'lastAt')
    },

    recordRefusedRequests: (requests) => transactInBackground(() => recordRequests(requests)),

    async listRefusedRequests({ requestIdBeginning, requestId = requestIdBeginning, ...filter }) {
      const values = valuesOf(filter)
      const find = requestIdBeginning === undefined ? sql.findRefusedRequests : sql.findRefusedRequestsBeginning
      const rows = await (requestId === undefined
        ? askInBackground(sql.listRefusedRequests, values)
        : askInBackground(find, [...values, storable(requestId)]))
      return toObjects<RefusedRequest>(rows, ...REQUEST_COLUMNS)
    },

    async countRefusedRequests(filter) {
      return askInBackground<[reason: string, count: number]>(
        sql.countRefusedRequests,
        valuesOf({ ...filter, limit: END }),
      )
    },
  }
}

function valuesOf({ before = END, since = 0, until = END, limit, ...filter }: RefusedRequestFilter) {
  const { clientId, suite, reason, endpoint, remoteAddress } = filter
  const wanted = [clientId, suite, reason, endpoint, remoteAddress].map((text) => text && storable(text))
  return [before, limit, ...wanted.map((text) => text ?? null), since, until]
}

function* record(refusals: readonly RefusalCount[]): Work<void> {
  const owners = new Set<number>()
  // PostgreSQL refuses to change a row twice in one statement, so each statement adds one refusal to each row.
  const perRow = [...Map.groupBy(refusals.map(toRow), rowKey).values()]
  for (let nth = 0; perRow.some((refusals) => nth in refusals); nth++) {
    const rows = perRow.flatMap((refusals) => refusals.slice(nth, nth + 1))
    for (const [owner] of yield* ask<[owner: number]>(sql.recordRefusals, [rowsJson(rows)])) owners.add(owner)
  }
  const { known, unknown } = MAX_REFUSALS
  yield* ask(sql.keepNewestRefusals, [JSON.stringify([...owners]), known, unknown])
}

function* recordRequests(requests: readonly NewRefusedRequest[]): Work<void> {
  const rows = requests.map(({ clientId, isKnown, ...rest }) => {
    return { ...rest, clientId: clientId && storable(clientId), isKnown: isKnown ? 1 : 0 }
  })
  yield* ask(sql.recordRefusedRequests, [rowsJson(rows)])
  for (const isKnown of [0, 1]) yield* ask(sql.keepNewestRefusedRequests, [isKnown, MAX_REFUSED_REQUESTS])
}

function toRow({ isKnown, clientId, suite = '', ...rest }: RefusalCount) {
  return { ...rest, isKnown: isKnown ? 1 : 0, clientId: storable(clientId), suite }
}

function rowKey({ isKnown, clientId, reason, endpoint, suite, remoteAddress }: ReturnType<typeof toRow>): string {
  return JSON.stringify([isKnown, clientId, reason, endpoint, suite, remoteAddress])
}

/** Replaces what PostgreSQL cannot store in a text that a caller sent: NUL and unpaired surrogates. */
function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}
