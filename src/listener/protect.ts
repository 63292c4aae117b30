import { once } from 'node:events'
import type { IncomingMessage, RequestListener, Server } from 'node:http'
import net, { type Socket } from 'node:net'
import { type ClosingOptions, countClosedConnections, limitConnections } from './connection-limits.ts'
import { endConnection, type MalformedReason, malformedReason } from './malformed.ts'
import { boundParser, type Handle, handleOf, isFull, pipelineOf } from './pipeline.ts'
import { isInHandshake, speakTls, type Tls } from './tls.ts'
import { handleInTurns, type TurnOptions } from './turns.ts'

/** From this many connections on, each one of a crowd may have only one unanswered request. */
const MANY_CONNECTIONS = 1280

/** How long pending responses may take when the server closes. */
const DRAIN_TIMEOUT_MS = 8000

/** For how long a client may take fewer than `MIN_BYTES` of its responses between two checks. */
const STALL_TIMEOUT_MS = 10_000

/** How many times connections are checked in that time. */
const CHECKS_PER_TIMEOUT = 10

const MIN_BYTES = 1024

/** How many more bytes are read after the last answered request; then nothing is read until the connection ends. */
const EXCESS_BYTES = 64 * 1024

export interface ProtectOptions extends ClosingOptions, Pick<TurnOptions, 'writes' | 'isBusy'> {
  /** Undefined for any number of connections. */
  limits: Parameters<typeof limitConnections>[1] | undefined
  /** What the server shows clients of new connections; undefined: it speaks plain HTTP. */
  tls?: (() => Tls) | undefined
  /** Answers input that is not a valid request, and ends the connection. */
  answerMalformed: (reason: MalformedReason, socket: Socket, request?: IncomingMessage) => void
  manyConnections?: number
  drainTimeout?: number
  stallTimeout?: number
  /** Kept up to date with the open connections. */
  connections?: Set<Socket> | undefined
}

/**
 * Protects a server with `serverOptions` against its clients, and limits their connections:
 *
 * - A client that has closed its sending side (a half-closed connection, RFC 9112 §9.6) still gets its responses.
 * - A client that has too many unanswered requests, or leaves responses unread, loses its connection.
 * - When too many requests of an address prefix wait, its connections are not read. Prefixes take turns.
 * - Requests with invalid framing, and CONNECT, are answered, and their connection is closed.
 *
 * Returns `drain`, for a server that closes: it closes connections without a pending response at once, others after their last
 * response, and those that remain after the timeout.
 */
export function protect(server: Server, options: ProtectOptions): () => void {
  const { limits, answerMalformed, connections = new Set<Socket>() } = options
  const { drainTimeout = DRAIN_TIMEOUT_MS, stallTimeout = STALL_TIMEOUT_MS } = options
  const { manyConnections = MANY_CONNECTIONS } = options
  const closed = countClosedConnections(options)
  const checks = setInterval(check, stallTimeout / CHECKS_PER_TIMEOUT).unref()
  server.once('close', () => {
    clearInterval(checks)
    closed.end()
  })

  const [handle] = server.listeners('request')
  server.removeAllListeners('request')
  const isInCrowd = handleInTurns(server, handle as RequestListener, options)
  const isCrowded = (connection: Socket) => connections.size >= manyConnections && isInCrowd(connection)
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('connection', (connection: Socket) => {
    boundParser(connection, isCrowded)
    connections.add(connection)
    connection.once('close', () => connections.delete(connection))
  })
  if (limits) limitConnections(server, { ...limits, hasTls: options.tls !== undefined }, closed.count)
  if (options.tls) speakTls(server, options.tls)
  server.on('upgrade', (request: IncomingMessage, connection: Socket) => {
    const pipeline = pipelineOf(connection)
    if (isFull(pipeline)) closed.count('too many unanswered requests', connection.remoteAddress)
    else if (pipeline.last?.shouldKeepAlive !== false) return answerMalformed('not HTTP', connection, request)
    endConnection(connection, { discard: EXCESS_BYTES })
  })
  // Node.js would close the connection without an answer.
  server.on('connect', (request, connection) => answerMalformed('not HTTP', connection as Socket, request))
  // Replaces Fastify's listener.
  server.removeAllListeners('clientError').on('clientError', (error: NodeJS.ErrnoException, connection: Socket) => {
    if (!isInHandshake(connection)) return answerMalformed(malformedReason(error), connection)
    closed.count('TLS handshake failed', connection.remoteAddress)
    connection.destroy()
  })
  // Unknown expectations are ignored (RFC 9110 §10.1.1): Node.js would answer with a bare 417.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))

  function check(): void {
    for (const connection of connections) {
      if (connection.destroyed || !isStalled(connection)) continue
      if (connection.writableLength > 0) closed.count('answers not taken', connection.remoteAddress)
      connection.destroy()
    }
  }

  return function drain(): void {
    for (const connection of connections) {
      const pipeline = pipelineOf(connection)
      const isIdle = pipeline.unanswered === 0 && !pipeline.isEnding
      if (isIdle || connection.writableFinished) {
        connection.destroy()
        continue
      }
      pipeline.onAnswer ??= () => pipeline.unanswered === 0 && connection.destroySoon()
      // Does not wait for the client to close its side.
      connection.once('finish', () => connection.destroy())
    }
    setTimeout(() => server.closeAllConnections(), drainTimeout).unref()
  }
}

/**
 * Whether the kernel's send buffer shows that, for many checks, the client was too slow to take its responses or to end the
 * connection. More bytes make up for earlier checks.
 */
function isStalled(connection: Socket): boolean {
  const pipeline = pipelineOf(connection)
  const handle = handleOf(connection) as Handle
  const { bytesWritten, writeQueueSize } = handle._parent ?? handle
  const taken = bytesWritten - writeQueueSize
  const isWaiting = connection.writableEnded || connection.writableLength > 0
  pipeline.stalls = isWaiting ? Math.max(pipeline.stalls + 1 - (taken - pipeline.taken) / MIN_BYTES, 0) : 0
  pipeline.taken = taken
  return pipeline.stalls > CHECKS_PER_TIMEOUT
}

/**
 * Ends a server without dropping a request: it accepts no new connection, and closes each open one after the next response
 * that no other request waits for. Idle connections are left to the client or the keep-alive timeout: closing them earlier
 * could hit a request in transit. Resolves when the last connection is closed.
 */
export async function retire(server: Server): Promise<void> {
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
  // Not the http server's own close, which ends idle connections.
  net.Server.prototype.close.call(server)
  await once(server, 'close')
}
