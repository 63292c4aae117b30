import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { prefixOf } from '../web/address.ts'
import { saveMemory } from './garbage.ts'
import { handleOf } from './pipeline.ts'

/** How many requests begin in a turn of the event loop if none is waiting. */
const PER_TURN = 64

/** Until how many have begun in a turn a request begins at once although others wait, if none of its prefix does. */
const PER_TURN_BESIDE_WAITING = 16

/** How many waiting requests begin in a turn: less than a millisecond of work, and small batches for the store. */
const WAITING_PER_TURN = 8

/** The same while connections are opened: Node.js accepts one per turn, so shorter turns let clients connect sooner. */
const WAITING_PER_ACCEPTING_TURN = 2

/** So many waiting requests of one prefix, or so many waiting prefixes, are a crowd. Further requests wait in the kernel. */
const WAITING_PER_PREFIX = 64
const WAITING_PREFIXES = 256

/** How long after a crowd its memory is collected: that stops the process for up to a quarter of a second. */
const CROWD_GONE_MS = 20_000

/** After how long the store is asked again whether a request may begin, if requests wait and none could. */
const BUSY_MS = 1

export interface TurnOptions {
  writes?: ((request: IncomingMessage) => boolean) | undefined
  isBusy?: (() => boolean) | undefined
  crowdGone?: number
}

/** The waiting requests of an address prefix, oldest first. */
interface Waiting {
  requests: [request: IncomingMessage, response: ServerResponse, writes: boolean][]
  /** Connections that are not read. */
  unread: Set<Socket>
}

/**
 * Handles the requests of a server with `handle`: a limited number in each turn of the event loop, of each address prefix in
 * turn. So thousands that arrive together delay those of others by milliseconds, not by seconds. Connections of a crowd are not
 * read: their requests take no memory. The returned function tells whether a connection is part of one. `crowdGone` is in
 * milliseconds. `isBusy`: while it is true, no request begins of which `writes` is true.
 */
export function handleInTurns(
  server: Server,
  handle: RequestListener,
  { writes = () => false, isBusy = () => false, crowdGone = CROWD_GONE_MS }: TurnOptions = {},
): (connection: Socket) => boolean {
  /** The prefix whose turn is next comes first. */
  const waiting = new Map<string, Waiting>()
  let begun = 0
  let isScheduled = false
  let isAccepting = false
  const ownOf = (connection: Socket) => waiting.get(prefixOfPeer(connection))

  server.on('connection', (connection: Socket) => {
    isAccepting = true
    pauseInCrowd(ownOf(connection), connection)
  })
  server.on('request', (request, response) => {
    if (!isScheduled) schedule()
    const most = waiting.size === 0 ? PER_TURN : PER_TURN_BESIDE_WAITING
    const isFirst = waiting.size === 0 || !ownOf(request.socket)
    if (isFirst && begun < most && !(isBusy() && writes(request))) {
      begun++
      handle(request, response)
      return
    }
    const prefix = prefixOfPeer(request.socket)
    const own = waiting.get(prefix) ?? { requests: [], unread: new Set() }
    own.requests.push([request, response, writes(request)])
    waiting.set(prefix, own)
    pauseInCrowd(own, request.socket)
  })

  function schedule(): void {
    isScheduled = true
    if (begun === 0 && waiting.size > 0) setTimeout(handleWaiting, BUSY_MS)
    else setImmediate(handleWaiting)
  }

  function handleWaiting(): void {
    isScheduled = false
    const most = isAccepting ? WAITING_PER_ACCEPTING_TURN : WAITING_PER_TURN
    isAccepting = false
    begun = 0
    const isHeldBack = isBusy()
    for (const [prefix, own] of waiting) {
      if (begun >= most) break
      const at = own.requests.findIndex(([{ socket }, , writes]) => socket.destroyed || !(isHeldBack && writes))
      if (at < 0 && own.requests.length > 0) continue
      // It moves to the end of the map, where this loop meets it again.
      waiting.delete(prefix)
      const [next] = own.requests.splice(Math.max(at, 0), 1)
      if (own.requests.length < WAITING_PER_PREFIX) resumeOne(own)
      if (own.requests.length + own.unread.size > 0) waiting.set(prefix, own)
      if (next?.[0].socket.destroyed) continue
      begun++
      if (next) handle(next[0], next[1])
    }
    if (begun > 0 || waiting.size > 0) schedule()
  }

  function pauseInCrowd(own: Waiting | undefined, connection: Socket): void {
    if (!isCrowd(own, waiting.size)) return
    handleOf(connection)?.readStop()
    own.unread.add(connection)
    saveMemory(crowdGone)
  }

  return (connection) => isCrowd(ownOf(connection), waiting.size)
}

/** `prefixes`: how many have waiting requests. */
function isCrowd(own: Waiting | undefined, prefixes: number): own is Waiting {
  return own !== undefined && (own.requests.length >= WAITING_PER_PREFIX || prefixes >= WAITING_PREFIXES)
}

function prefixOfPeer({ remoteAddress }: Socket): string {
  return prefixOf(String(remoteAddress))
}

function resumeOne({ unread }: Waiting): void {
  const [connection] = unread
  if (!connection) return
  unread.delete(connection)
  const handle = handleOf(connection)
  // Node.js itself has paused one whose client does not read its responses.
  if (handle?.reading) handle.readStart()
}
