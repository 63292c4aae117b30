import type { Event, Observer } from '../domain/events.ts'
import { drain } from '../domain/in-steps.ts'
import { isReported } from '../domain/reasons.ts'
import { MAX_LISTED, MAX_REFUSALS, type NewRefusedRequest, type RefusalCount } from '../domain/refusal.ts'
import type { Store } from '../domain/store.ts'
import { detachText } from '../domain/text.ts'
import type { Clock } from '../domain/time.ts'

/** How many registered clients are kept between two flushes. */
const MAX_CLIENTS = 1000

/** Rows, keyed by what their refusals have in common. The last row has the latest refusal. */
type Rows = Map<string, Row>
type Row = { -readonly [Field in keyof RefusalCount]: RefusalCount[Field] }

interface Options {
  now: Clock
  count: (request: NewRefusedRequest) => void
}

/**
 * Keeps the last refusals of each client, and refused requests one by one, until `flush` hands them to the store. Memory is
 * bounded: new refusals replace the oldest. Anybody can make up client ids that are not registered, so all of those together
 * get only as much room as a few applications.
 */
export function createRefusals({ now, count }: Options) {
  let registered = new Map<string, Rows>()
  let unregistered: Rows = new Map()
  /** The latest row: most refusals are like the one before. */
  let latest: Row | undefined
  const requests = createRefusedRequests()

  const observe: Observer = (event) => {
    const request = requestOf(event, now)
    if (!request) return
    // A request that was not refused would crowd out those that were, of which so many are kept.
    const isRefused = event.type !== 'request would be refused'
    if (isRefused && event.type !== 'request failed') count(request)
    if (isRefused) requests.add(request)
    const refusal = countOf(request, event.type === 'token refused')
    if (refusal) add(refusal)
  }

  function add(refusal: RefusalCount): void {
    if (latest && isAlike(latest, refusal)) {
      addUp(latest, refusal)
      return
    }
    const { clientId, isKnown, reason } = refusal
    // What is only reported, for each of many addresses, must not replace real refusals.
    const party = isReported(reason) ? `${clientId} reported` : clientId
    const rows = isKnown ? (registered.get(party) ?? new Map()) : unregistered
    if (isKnown) putLast(registered, party, rows, MAX_CLIENTS)
    latest = addTo(rows, refusal)
  }

  function takeAll(): RefusalCount[] {
    const rows = [...registered.values(), unregistered].flatMap((rows) => [...rows.values()])
    registered = new Map()
    unregistered = new Map()
    latest = undefined
    return rows
  }

  /** Hands them to the store, in small steps. Throws StoreUnavailable; the next flush tries again. */
  async function flush(store: Pick<Store, 'recordRefusals' | 'recordRefusedRequests'>): Promise<void> {
    await drain(takeAll, store.recordRefusals, add)
    await requests.flush(store)
  }

  return { observe, flush }
}

/** Keeps the first refused requests. Registered clients and other callers do not crowd each other out. */
function createRefusedRequests() {
  let rows: NewRefusedRequest[] = []
  /** How many are kept: per party, for all registered clients, and for all other callers. */
  const counts = new Map<string, number>()

  function add(request: NewRefusedRequest): void {
    const { isKnown, clientId, remoteAddress } = request
    const [all, party] = isKnown ? ['known', `known ${clientId}`] : ['others', remoteAddress]
    const [ofAll, ofParty] = [counts.get(all) ?? 0, counts.get(party) ?? 0]
    if (ofAll >= MAX_LISTED.all || ofParty >= MAX_LISTED.party) return
    counts.set(all, ofAll + 1).set(detachText(party), ofParty + 1)
    rows.push(withDetachedTexts(request))
  }

  function takeAll(): NewRefusedRequest[] {
    const taken = rows
    rows = []
    counts.clear()
    return taken
  }

  return {
    add,
    flush: (store: Pick<Store, 'recordRefusedRequests'>) => drain(takeAll, store.recordRefusedRequests, add),
  }
}

/** Whether refusals belong to one row: cheaper than its key. */
function isAlike(a: RefusalCount, b: RefusalCount): boolean {
  const isOfOne = a.clientId === b.clientId && a.suite === b.suite && a.remoteAddress === b.remoteAddress
  return isOfOne && a.reason === b.reason && a.endpoint === b.endpoint
}

function addTo(rows: Rows, refusal: RefusalCount): Row {
  const { reason, endpoint, suite, remoteAddress, clientId, isKnown } = refusal
  // Only a client id can contain NUL.
  const key = `${reason}\0${endpoint}\0${suite ?? ''}\0${remoteAddress}\0${clientId}`
  const row = rows.get(key)
  if (row) addUp(row, refusal)
  const counted = row ?? withDetachedTexts(refusal)
  putLast(rows, key, counted, isKnown ? MAX_REFUSALS.known : MAX_REFUSALS.unknown)
  return counted
}

function addUp(row: Row, { count, lastAt, detail, requestId, traceId }: RefusalCount): void {
  row.count += count
  row.lastAt = lastAt
  row.detail = detail
  row.requestId = requestId
  row.traceId = traceId
}

/** A copy that keeps nothing else of the request in memory. */
function withDetachedTexts<Texts extends object>(texts: Texts): Texts {
  const detached = (value: unknown) => (typeof value === 'string' ? detachText(value) : value)
  return Object.fromEntries(Object.entries(texts).map(([name, value]) => [name, detached(value)])) as Texts
}

/** The request whose refusal or failure an event reports. Undefined if it reports none. */
function requestOf(event: Event, now: Clock) {
  const isRefusal =
    event.type === 'authentication refused' ||
    event.type === 'request refused' ||
    event.type === 'token refused' ||
    event.type === 'request failed' ||
    event.type === 'request would be refused' ||
    event.type === 'quota refusal'
  if (!isRefusal) return undefined
  const { endpoint = 'other', requestId, traceId, remoteAddress } = event
  const reason = event.type === 'quota refusal' ? 'token quota exceeded' : event.reason
  const clientId = 'clientId' in event ? event.clientId : undefined
  const suite = 'suite' in event ? event.suite : undefined
  const detail = 'detail' in event ? event.detail : undefined
  const isKnown = clientId !== undefined && reason !== 'unknown client'
  return { at: now(), requestId, traceId, reason, endpoint, clientId, isKnown, suite, remoteAddress, detail }
}

/** The count of a refused request. Undefined if it has neither client nor suite. */
function countOf(request: NonNullable<ReturnType<typeof requestOf>>, isCheck: boolean): RefusalCount | undefined {
  const { at, reason, endpoint, suite, requestId, traceId, detail } = request
  const isOfSuite = isCheck && request.clientId === undefined
  const clientId = isOfSuite ? suite : request.clientId
  if (clientId === undefined) return undefined
  // Anybody can send such tokens, from many addresses: they must not replace the refusals of the suite itself.
  const remoteAddress = isOfSuite ? '' : request.remoteAddress
  const isKnown = isOfSuite || request.isKnown
  const times = { count: 1, firstAt: at, lastAt: at }
  return { clientId, isKnown, reason, endpoint, suite, remoteAddress, detail, requestId, traceId, ...times }
}

function putLast<Value>(map: Map<string, Value>, key: string, value: Value, limit: number): void {
  map.delete(key)
  map.set(detachText(key), value)
  if (map.size > limit) map.delete(map.keys().next().value as string)
}
