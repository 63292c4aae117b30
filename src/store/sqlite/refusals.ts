import { MAX_REFUSALS, type RefusalCount, type RefusedClient } from '../../domain/refusal.ts'
import type { Refusals } from '../../domain/store.ts'
import type { Context } from './context.ts'
import * as sql from './statements/refusals.ts'

/** The last refusals, in SQLite. They are not brought to the disk: the next change takes them there. */
export function createRefusals({ db, read, write }: Context): Refusals {
  const recordRefusal = db.prepare(sql.recordRefusal).pluck()
  const keepNewestRefusals = db.prepare(sql.keepNewestRefusals)
  const listRefusals = db.prepare<{ clientId: string | null }, RefusalRow>(sql.listRefusals)
  const listLastRefused = db.prepare<{ rows: number; limit: number }, RefusedClient>(sql.listLastRefused)

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
