import type { Event, Observer } from '../domain/events.ts'
import { inSteps } from '../domain/in-steps.ts'
import { MAX_REFUSALS, type RefusalCount } from '../domain/refusal.ts'
import type { Store } from '../domain/store.ts'
import { ownText } from '../domain/text.ts'
import type { Clock } from '../domain/time.ts'

/** How many registered clients are kept between two flushes. */
const MAX_CLIENTS = 1000

/** How many rows are written at a time. Rows of many applications are far apart in the database: 3 ms on SQLite. */
const STEP = 50

type Row = { -readonly [Field in keyof RefusalCount]: RefusalCount[Field] }

/** Rows by what they have in common, the latest refusal last. */
type Rows = Map<string, Row>

/**
 * Keeps the last refusals of each client until `flush` hands them to the store. Memory is bounded: the oldest make room for new
 * ones. Anybody can make up client ids that are not registered, so all of these together have as much room as a few
 * applications.
 */
export function createRefusals({ now }: { now: Clock }) {
  let ofClients = new Map<string, Rows>()
  let unregistered: Rows = new Map()

  const observe: Observer = (event) => {
    const refusal = refusalOf(event, now)
    if (refusal) add(refusal)
  }

  function add(refusal: RefusalCount): void {
    addTo(refusal.isKnown ? rowsOf(refusal.clientId) : unregistered, refusal)
  }

  function rowsOf(clientId: string): Rows {
    const rows = ofClients.get(clientId) ?? new Map()
    putLast(ofClients, ownText(clientId), rows, MAX_CLIENTS)
    return rows
  }

  function takeAll(): Row[] {
    const rows = [...ofClients.values(), unregistered].flatMap((rows) => [...rows.values()])
    ofClients = new Map()
    unregistered = new Map()
    return rows
  }

  /** Hands the refusals to the store, in small steps. Throws StoreUnavailable; the next flush tries again. */
  async function flush(store: Pick<Store, 'recordRefusals'>): Promise<void> {
    const rows = takeAll()
    let written = 0
    const write = async (step: Row[]) => {
      await store.recordRefusals(step)
      written += step.length
    }
    try {
      await inSteps(rows, write, STEP)
    } catch (error) {
      for (const refusal of [...rows.slice(written), ...takeAll()]) add(refusal)
      throw error
    }
  }

  return { observe, flush }
}

function addTo(rows: Rows, refusal: RefusalCount): void {
  const { reason, endpoint, suite = '', remoteAddress, clientId, isKnown } = refusal
  // Only a client id can contain NUL.
  const key = `${reason}\0${endpoint}\0${suite}\0${remoteAddress}\0${clientId}`
  const known = rows.get(key)
  putLast(
    rows,
    ownText(key),
    known ? added(known, refusal) : own(refusal),
    isKnown ? MAX_REFUSALS.known : MAX_REFUSALS.unknown,
  )
}

/** Adds a later refusal to a row. */
function added(row: Row, { count, lastAt, requestId, traceId }: RefusalCount): Row {
  return Object.assign(row, { count: row.count + count, lastAt, requestId, traceId })
}

function own(refusal: RefusalCount): Row {
  const { clientId, suite, remoteAddress } = refusal
  const texts = { clientId: ownText(clientId), remoteAddress: ownText(remoteAddress), suite: suite && ownText(suite) }
  return { ...refusal, ...texts }
}

/** The refusal that an event reports. Undefined if it reports none, or its client id is not known. */
function refusalOf(event: Event, now: Clock): RefusalCount | undefined {
  const isRefusal =
    event.type === 'authentication refused' ||
    event.type === 'request refused' ||
    event.type === 'token refused' ||
    event.type === 'quota refusal'
  if (!isRefusal || event.clientId === undefined) return undefined
  const { clientId, endpoint = 'other', remoteAddress, requestId, traceId } = event
  const reason = event.type === 'quota refusal' ? 'token quota exceeded' : event.reason
  const suite = 'suite' in event ? event.suite : undefined
  const isKnown = reason !== 'unknown client'
  const at = now()
  return {
    clientId,
    isKnown,
    reason,
    endpoint,
    suite,
    remoteAddress,
    requestId,
    traceId,
    count: 1,
    firstAt: at,
    lastAt: at,
  }
}

function putLast<Value>(map: Map<string, Value>, key: string, value: Value, limit: number): void {
  map.delete(key)
  map.set(key, value)
  if (map.size > limit) map.delete(map.keys().next().value as string)
}
