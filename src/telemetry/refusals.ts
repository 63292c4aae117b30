import type { Clock } from '../domain/clock.ts'
import type { Event, Observer } from '../domain/events.ts'
import { inSteps } from '../domain/in-steps.ts'
import { MAX_REFUSALS, type RefusalCount } from '../domain/refusal-count.ts'
import type { Store } from '../domain/store.ts'

/** How many clients are told apart between two flushes. */
const MAX_CLIENTS = 1000

/** How many rows are written at a time. Those of many applications are in as many places: 3 ms for SQLite. */
const STEP = 50

type Refused = Omit<RefusalCount, 'count' | 'firstAt' | 'lastAt'>
type Counted = Pick<RefusalCount, 'count' | 'firstAt' | 'lastAt' | 'requestId' | 'traceId'>

/** By what makes refusals one row; the one that happened last comes last. */
type Rows = Map<string, Counted>

/**
 * Keeps the last refusals of each client until `flush` hands them to the store. In memory that does not grow:
 * where there is no room, what happened longest ago goes. Of client ids that are not registered, which anybody can make up,
 * there are as many as of a few applications.
 */
export function createRefusals({ now }: { now: Clock }) {
  let known = new Map<string, Rows>()
  let unknown: Rows = new Map()

  const observe: Observer = (event) => {
    const refused = refusedBy(event)
    if (refused) add({ ...refused, count: 1, firstAt: now(), lastAt: now() })
  }

  function add(refusal: RefusalCount): void {
    const { isKnown, clientId } = refusal
    if (isKnown) addTo(rowsOf(clientId), refusal, MAX_REFUSALS.known)
    else addTo(unknown, refusal, MAX_REFUSALS.unknown)
  }

  function rowsOf(clientId: string): Rows {
    const key = ownText(clientId)
    const rows = known.get(key) ?? new Map()
    putLast(known, key, rows, MAX_CLIENTS)
    return rows
  }

  /** Hands what is kept to the store, in small steps. Throws StoreUnavailable; the next flush tries again. */
  async function flush(store: Pick<Store, 'recordRefusals'>): Promise<void> {
    let rest = take()
    try {
      const write = async (step: RefusalCount[]) => {
        await store.recordRefusals(step)
        rest = rest.slice(step.length)
      }
      await inSteps(rest, write, STEP)
    } catch (error) {
      // Before what has happened since, and as far as there is room beside that.
      for (const refusal of [...rest, ...take()]) add(refusal)
      throw error
    }
  }

  function take(): RefusalCount[] {
    const taken = [...known.values(), unknown].flatMap((rows) => [...rows].map(toRefusal))
    known = new Map()
    unknown = new Map()
    return taken
  }

  return { observe, flush }
}

function refusedBy(event: Event): Refused | undefined {
  switch (event.type) {
    case 'authentication refused':
      return refused(event, { isKnown: event.reason !== 'unknown client' })
    case 'request refused':
    case 'token refused':
      return refused(event, { isKnown: true, suite: event.suite })
    case 'quota refusal':
      return refused({ ...event, reason: 'token quota exceeded' }, { isKnown: true })
    default:
      return undefined
  }
}

type Asked = Pick<Refused, 'reason' | 'remoteAddress'> & {
  [Field in 'clientId' | 'endpoint' | 'requestId' | 'traceId']?: string | undefined
}

/** Undefined where nobody knows whose it was. */
function refused(
  { clientId, reason, endpoint = 'other', remoteAddress, requestId, traceId }: Asked,
  { isKnown, suite }: { isKnown: boolean; suite?: string | undefined },
): Refused | undefined {
  if (clientId === undefined) return undefined
  return { clientId, isKnown, reason, endpoint, suite, remoteAddress, requestId, traceId }
}

function addTo(rows: Rows, refusal: RefusalCount, limit: number): void {
  const { clientId, isKnown, reason, endpoint, suite, remoteAddress, count, firstAt, lastAt, requestId, traceId } =
    refusal
  const key = ownText([clientId, isKnown, reason, endpoint, suite, remoteAddress])
  const before = rows.get(key)
  const counted = {
    count: count + (before?.count ?? 0),
    firstAt: before?.firstAt ?? firstAt,
    lastAt,
    requestId,
    traceId,
  }
  putLast(rows, key, counted, limit)
}

function toRefusal([key, counted]: [string, Counted]): RefusalCount {
  const [clientId, isKnown, reason, endpoint, suite, remoteAddress] = JSON.parse(key)
  return { clientId, isKnown, reason, endpoint, suite: suite ?? undefined, remoteAddress, ...counted }
}

/** The parts of a request's text would keep all of that in memory. */
function ownText(value: unknown): string {
  return JSON.stringify(value)
}

function putLast<Value>(map: Map<string, Value>, key: string, value: Value, limit: number): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= limit) return
  const [oldest] = map.keys()
  map.delete(oldest as string)
}
