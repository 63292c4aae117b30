import type { Event, Observer } from '../domain/events.ts'
import { inSteps } from '../domain/in-steps.ts'
import { MAX_REFUSALS, type RefusalCount } from '../domain/refusal.ts'
import type { Store } from '../domain/store.ts'
import { detachText } from '../domain/text.ts'
import type { Clock } from '../domain/time.ts'
import type { EventOf } from './audit-log.ts'

/** How many registered clients are kept between two flushes. */
const MAX_CLIENTS = 1000

/** How many rows are written at a time. Rows of many applications are far apart in the database: 3 ms on SQLite. */
const STEP = 50

/** Rows by what their refusals have in common. The last row has the latest refusal. */
type Rows = Map<string, RefusalCount>

/**
 * Keeps the last refusals of each client until `flush` hands them to the store. Memory is bounded: new ones replace the
 * oldest. Anybody can make up client ids that are not registered, so all of these together have as much room as a few
 * applications.
 */
export function createRefusals({ now }: { now: Clock }) {
  let registered = new Map<string, Rows>()
  let unregistered: Rows = new Map()

  const observe: Observer = (event) => {
    const refusal = refusalOf(event, now)
    if (refusal) add(refusal)
  }

  function add(refusal: RefusalCount): void {
    const { clientId, isKnown } = refusal
    const rows = isKnown ? (registered.get(clientId) ?? new Map()) : unregistered
    if (isKnown) putLast(registered, clientId, rows, MAX_CLIENTS)
    addTo(rows, refusal)
  }

  function takeAll(): RefusalCount[] {
    const rows = [...registered.values(), unregistered].flatMap((rows) => [...rows.values()])
    registered = new Map()
    unregistered = new Map()
    return rows
  }

  /** Hands the refusals to the store, in small steps. Throws StoreUnavailable; the next flush tries again. */
  async function flush(store: Pick<Store, 'recordRefusals'>): Promise<void> {
    const rows = takeAll()
    let written = 0
    const write = async (step: RefusalCount[]) => {
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
  const { reason, endpoint, suite, remoteAddress, clientId, isKnown, count, lastAt, requestId, traceId } = refusal
  // Only a client id can contain NUL.
  const key = `${reason}\0${endpoint}\0${suite ?? ''}\0${remoteAddress}\0${clientId}`
  const row = rows.get(key)
  const added = row ? { ...row, count: row.count + count, lastAt, requestId, traceId } : withDetachedTexts(refusal)
  putLast(rows, key, added, isKnown ? MAX_REFUSALS.known : MAX_REFUSALS.unknown)
}

function withDetachedTexts(refusal: RefusalCount): RefusalCount {
  const { clientId, remoteAddress, suite } = refusal
  const texts = {
    clientId: detachText(clientId),
    remoteAddress: detachText(remoteAddress),
    suite: suite && detachText(suite),
  }
  return { ...refusal, ...texts }
}

/** Whether an event reports that a request was refused, or that a token was not valid. */
export function isRefusal(
  event: Event,
): event is EventOf<'authentication refused' | 'request refused' | 'token refused' | 'quota refusal'> {
  return (
    event.type === 'authentication refused' ||
    event.type === 'request refused' ||
    event.type === 'token refused' ||
    event.type === 'quota refusal'
  )
}

/** The refusal that an event reports. Undefined if it reports none, or has neither client nor suite. */
export function refusalOf(event: Event, now: Clock): RefusalCount | undefined {
  if (!isRefusal(event)) return undefined
  const suite = 'suite' in event ? event.suite : undefined
  const isOfSuite = event.type === 'token refused' && event.clientId === undefined
  const clientId = isOfSuite ? suite : event.clientId
  if (clientId === undefined) return undefined
  const { endpoint = 'other', requestId, traceId } = event
  // Anybody can send such tokens, from many addresses: they must not replace the refusals of the suite itself.
  const remoteAddress = isOfSuite ? '' : event.remoteAddress
  const reason = event.type === 'quota refusal' ? 'token quota exceeded' : event.reason
  const isKnown = reason !== 'unknown client'
  const at = now()
  const times = { count: 1, firstAt: at, lastAt: at }
  return { clientId, isKnown, reason, endpoint, suite, remoteAddress, requestId, traceId, ...times }
}

function putLast<Value>(map: Map<string, Value>, key: string, value: Value, limit: number): void {
  map.delete(key)
  map.set(detachText(key), value)
  if (map.size > limit) map.delete(map.keys().next().value as string)
}
