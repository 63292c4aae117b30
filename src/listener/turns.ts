import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { prefixOf } from '../domain/address.ts'

/** How many requests begin in a turn of the event loop if none waits. */
const PER_TURN = 64

/** How many of those that wait begin in a turn: less than a millisecond of work, and small batches for the store. */
const WAITING_PER_TURN = 8

/** The same while connections are opened: Node.js accepts one in each turn, so clients would wait for one. */
const WAITING_PER_ACCEPTING_TURN = 2

/**
 * Handles the requests of a server with `handle`: a limited number in each turn of the event loop, of each address prefix in turn.
 * So thousands that arrive together delay those of others by milliseconds, not by seconds.
 */
export function handleInTurns(server: Server, handle: RequestListener): void {
  /** The prefix whose turn is next comes first. */
  const waiting = new Map<string, [IncomingMessage, ServerResponse][]>()
  let begun = 0
  let isAccepting = false

  server.on('connection', () => {
    isAccepting = true
  })
  server.on('request', (request, response) => {
    if (begun === 0) setImmediate(handleWaiting)
    if (begun < PER_TURN && waiting.size === 0) {
      begun++
      handle(request, response)
      return
    }
    const prefix = prefixOf(String(request.socket.remoteAddress))
    const own = waiting.get(prefix) ?? []
    own.push([request, response])
    waiting.set(prefix, own)
  })

  function handleWaiting(): void {
    const most = isAccepting ? WAITING_PER_ACCEPTING_TURN : WAITING_PER_TURN
    isAccepting = false
    begun = 0
    for (const [prefix, own] of waiting) {
      if (begun >= most) break
      // At the end of the map, this loop meets it again.
      waiting.delete(prefix)
      const [request, response] = own.shift() as [IncomingMessage, ServerResponse]
      if (own.length > 0) waiting.set(prefix, own)
      if (request.socket.destroyed) continue
      begun++
      handle(request, response)
    }
    if (begun > 0) setImmediate(handleWaiting)
  }
}
