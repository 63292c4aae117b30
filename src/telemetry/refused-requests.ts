import { drain } from '../domain/in-steps.ts'
import { MAX_LISTED, type NewRefusedRequest } from '../domain/refusal.ts'
import type { Store } from '../domain/store.ts'
import { detachText } from '../domain/text.ts'

/** `isKnown`: whether its client id is registered. */
type Request = NewRefusedRequest & { readonly isKnown: boolean }
type Row = { -readonly [Name in keyof Request]: Request[Name] }

/** The requests of each party, until there is no room for more. */
interface Section {
  parties: Map<string, Row[]>
  rows: Row[]
}

const emptySection = (): Section => ({ parties: new Map(), rows: [] })

function withDetachedTexts(request: Request): Row {
  const detached = (text: string | null | undefined) => text && detachText(text)
  const { clientId, suite, requestId, remoteAddress } = request
  const texts = { requestId: detachText(requestId), remoteAddress: detachText(remoteAddress) }
  return { ...request, ...texts, clientId: detached(clientId), suite: detached(suite) }
}

/**
 * Keeps refused requests one by one until `flush` hands them to the store. Memory is bounded: in a flood the first ones are
 * kept, and the others counted. Registered clients and other callers do not take each other's room.
 */
export function createRefusedRequests() {
  let registered = emptySection()
  let others = emptySection()

  function add(request: Request): void {
    const { clientId, remoteAddress, isKnown } = request
    const { parties, rows } = isKnown ? registered : others
    const party = isKnown ? String(clientId) : remoteAddress
    const own = parties.get(party) ?? []
    if (own.length < MAX_LISTED.party && rows.length < MAX_LISTED.all) {
      const row = withDetachedTexts(request)
      own.push(row)
      rows.push(row)
      parties.set(detachText(party), own)
    } else {
      const last = own.at(-1) ?? (rows.at(-1) as Row)
      last.leftOut += 1 + request.leftOut
    }
  }

  function takeAll(): Row[] {
    const rows = [...registered.rows, ...others.rows].sort((one, other) => one.at - other.at)
    registered = emptySection()
    others = emptySection()
    return rows
  }

  return {
    add,
    /** Throws StoreUnavailable; the next flush tries again. */
    flush: (store: Pick<Store, 'recordRefusedRequests'>) => drain(takeAll, store.recordRefusedRequests, add),
  }
}
