import { once } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'
import net, { type Socket } from 'node:net'
import type { ListenerName, Observer } from '../domain/events.ts'
import { type ConnectionLimits, countClosedConnections, limitConnections } from './connection-limits.ts'
import { endConnection, type MalformedReason } from './malformed.ts'
import { isFull, pipelineOf } from './pipeline.ts'

/** How long responses may take after the server began to close. */
const DRAIN_TIMEOUT_MS = 8000

/** How long a client may leave responses unread. */
const STALL_TIMEOUT_MS = 10_000

/** How much is still read behind the last request that is answered. A client that sends more waits until the end. */
const EXCESS_BYTES = 64 * 1024

/** How often connections are checked in that time. */
const CHECKS_PER_TIMEOUT = 10

export interface ProtectOptions {
  observe: Observer
  measure?: Observer | undefined
  /** Undefined: the public one. */
  listener?: ListenerName
  /** Undefined: any number of connections. */
  limits: Omit<ConnectionLimits, 'closed'> | undefined
  /** Answers what is not a valid request, and ends the connection. */
  answerMalformed: (reason: MalformedReason, socket: Socket, request?: IncomingMessage) => void
  /** Milliseconds. */
  drainTimeout?: number
  /** Milliseconds. */
  stallTimeout?: number
  /** Gets the connections that are open. */
  connections?: Set<Socket> | undefined
}

/**
 * Protects a server that was created with `COUNTED` against its clients, whose connections are limited:
 *
 * - A client that has sent everything (a half-closed connection, RFC 9112 §9.6) still gets its responses.
 * - A client that has too many unanswered requests, or leaves responses unread, loses its connection.
 * - Requests with invalid framing, and CONNECT, are answered, and their connection is closed.
 *
 * `drain` ends every connection as soon as no response is due on it, and the rest after the timeout; `end`, after that, ends
 * the checks, and reports the closed connections that were not reported yet.
 */
export function protect(
  server: Server,
  {
    observe,
    measure,
    listener,
    limits,
    answerMalformed,
    drainTimeout = DRAIN_TIMEOUT_MS,
    stallTimeout = STALL_TIMEOUT_MS,
    connections = new Set<Socket>(),
  }: ProtectOptions,
): { drain: () => void; end: () => void } {
  const closed = countClosedConnections(observe, { measure, listener })
  const checks = setInterval(check, stallTimeout / CHECKS_PER_TIMEOUT).unref()

  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('connection', (connection: Socket) => {
    connections.add(connection)
    connection.once('close', () => connections.delete(connection))
  })
  server.on('upgrade', (request: IncomingMessage, connection: Socket) => {
    const pipeline = pipelineOf(connection)
    if (isFull(pipeline)) closed.count('too many unanswered requests', connection.remoteAddress)
    else if (pipeline.last?.shouldKeepAlive !== false) return answerMalformed('not HTTP', connection, request)
    endConnection(connection, { discard: EXCESS_BYTES })
  })
  if (limits) limitConnections(server, { ...limits, closed })
  // Node.js would close the connection without an answer.
  server.on('connect', (request: IncomingMessage, connection: Socket) =>
    answerMalformed('not HTTP', connection, request),
  )
  // Unknown expectations are ignored (RFC 9110 §10.1.1): Node.js would answer with a bare 417.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))

  function drain(): void {
    for (const connection of connections) {
      const pipeline = pipelineOf(connection)
      const isIdle = pipeline.unanswered === 0 && !pipeline.isEnding
      if (isIdle || connection.writableFinished) {
        connection.destroy()
        continue
      }
      pipeline.onAnswer ??= () => pipeline.unanswered === 0 && connection.destroySoon()
      // A client that does not end its side of a connection that ends is not waited for.
      connection.once('finish', () => connection.destroy())
    }
    setTimeout(() => server.closeAllConnections(), drainTimeout).unref()
  }

  function check(): void {
    for (const connection of connections) {
      if (!isStalled(connection)) continue
      if (connection.writableLength > 0) closed.count('answers not taken', connection.remoteAddress)
      connection.destroy()
    }
  }

  function end(): void {
    clearInterval(checks)
    closed.end()
  }

  return { drain, end }
}

/** Whether responses, or the end of the connection behind them, have waited for the client for many checks. */
function isStalled(connection: Socket): boolean {
  const pipeline = pipelineOf(connection)
  const isWaiting = connection.writableEnded || connection.writableLength > 0
  pipeline.stalls = isWaiting ? pipeline.stalls + 1 : 0
  return pipeline.stalls > CHECKS_PER_TIMEOUT
}

/**
 * Ends a server without dropping a request: it accepts no new connection, and closes each open one after the next response
 * behind which no other request waits. An idle connection is left to the client, or to the server's keep-alive timeout: closing
 * it earlier could hit a request that is on its way. Resolves when the last connection is closed.
 */
export async function retire(server: Server): Promise<void> {
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
  // Not the http server's own close, which ends idle connections.
  net.Server.prototype.close.call(server)
  await once(server, 'close')
}
