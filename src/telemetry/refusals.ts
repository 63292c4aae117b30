import type { Event, Observer } from '../domain/events.ts'
import { inSteps } from '../domain/in-steps.ts'
import { MAX_REFUSALS, type RefusalCount } from '../domain/refusal.ts'
import type { Store } from '../domain/store.ts'
import { ownText } from '../domain/text.ts'
import type { Clock } from '../domain/time.ts'

/** How many clients are told apart between two flushes. */
const MAX_CLIENTS = 1000

/** How many rows are written at a time. Those of many applications are in as many places: 3 ms for SQLite. */
const STEP = 50

type Refused = Omit<RefusalCount, 'count' | 'firstAt' | 'lastAt'>

/** A row as it counts on. */
type Counting = { -readonly [Field in keyof RefusalCount]: RefusalCount[Field] }

/** By what makes refusals one row. */
type Rows = Map<string, Row>

/** Where it is kept: the one that happened last comes last. */
interface Row {
  rows: Rows
  key: string
  refusal: Counting
}

interface Kept {
  known: Map<string, { clientId: string; rows: Rows }>
  unknown: Rows
}

/**
 * Keeps the last refusals of each client until `flush` hands them to the store. In memory that does not grow:
 * where there is no room, what happened longest ago goes. Of client ids that are not registered, which anybody can make up,
 * there are as many as of a few applications.
 */
export function createRefusals({ now }: { now: Clock }) {
  let kept = nothing()

  const observe: Observer = (event) => {
    const refused = refusedBy(event)
    if (!refused) return
    const time = now()
    add(kept, { ...refused, count: 1, firstAt: time, lastAt: time })
  }

  /** Hands what is kept to the store, in small steps. Throws StoreUnavailable; the next flush tries again. */
  async function flush(store: Pick<Store, 'recordRefusals'>): Promise<void> {
    const taken = kept
    kept = nothing()
    const write = async (step: Row[]) => {
      await store.recordRefusals(step.map(({ refusal }) => refusal))
      for (const { rows, key } of step) rows.delete(key)
    }
    try {
      await inSteps(rowsOf(taken), write, STEP)
    } catch (error) {
      const since = kept
      kept = taken
      for (const { refusal } of rowsOf(since)) add(kept, refusal)
      throw error
    }
  }

  return { observe, flush }
}

function nothing(): Kept {
  return { known: new Map(), unknown: new Map() }
}

function* rowsOf({ known, unknown }: Kept): Generator<Row> {
  for (const { rows } of known.values()) yield* rows.values()
  yield* unknown.values()
}

function add({ known, unknown }: Kept, refusal: RefusalCount): void {
  if (refusal.isKnown) addTo(ofClient(known, refusal.clientId), refusal, MAX_REFUSALS.known)
  else addTo(unknown, refusal, MAX_REFUSALS.unknown)
}

function ofClient(known: Kept['known'], clientId: string): Rows {
  const client = known.get(clientId) ?? { clientId: ownText(clientId), rows: new Map() }
  putLast(known, client.clientId, client, MAX_CLIENTS)
  return client.rows
}

function addTo(rows: Rows, refusal: RefusalCount, limit: number): void {
  const key = keyOf(refusal)
  const known = rows.get(key)
  if (known) count(known.refusal, refusal)
  const row = known ?? { rows, key: ownText(key), refusal: own(refusal) }
  putLast(rows, row.key, row, limit)
}

/** Nothing but a client id may have a NUL. */
function keyOf({ reason, endpoint, suite = '', remoteAddress, clientId }: RefusalCount): string {
  return `${reason}\0${endpoint}\0${suite}\0${remoteAddress}\0${clientId}`
}

/** Adds one that happened later. */
function count(known: Counting, { count, lastAt, requestId, traceId }: RefusalCount): void {
  known.count += count
  known.lastAt = lastAt
  known.requestId = requestId
  known.traceId = traceId
}

function own(refusal: RefusalCount): Counting {
  const { clientId, suite, remoteAddress } = refusal
  return {
    ...refusal,
    clientId: ownText(clientId),
    suite: suite && ownText(suite),
    remoteAddress: ownText(remoteAddress),
  }
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

function putLast<Value>(map: Map<string, Value>, key: string, value: Value, limit: number): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= limit) return
  const [oldest] = map.keys()
  map.delete(oldest as string)
}
