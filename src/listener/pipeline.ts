import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How many unanswered requests a connection may have; one more ends it. */
const MAX_UNANSWERED = 32

const PIPELINE = Symbol('pipeline')

/** A response that reports its status and duration, once. */
export interface Measured {
  /** The pattern of its route. */
  endpoint: string
  /** Undefined if the client is gone. */
  report(status?: number): void
}

/** The requests of a connection that wait or are being handled. A response counts as sent when the kernel has all of it. */
export interface Pipeline {
  unanswered: number
  /** Whether the connection may have only one request, because so many wait. */
  isCrowded: (() => boolean) | undefined
  /** How many checks the client is behind: see `isStalled`. */
  stalls: number
  /** How many bytes the client had taken at the last check. */
  taken: number
  /** The response to the last request. */
  last: (Pick<ServerResponse, 'req' | 'shouldKeepAlive' | 'writableEnded'> & Partial<Measured>) | undefined
  /** No other request is read from it. */
  isEnding: boolean
  /** Called after each response. */
  onAnswer: (() => void) | undefined
}

export function pipelineOf(socket: Socket & { [PIPELINE]?: Pipeline }): Pipeline {
  socket[PIPELINE] ??= {
    unanswered: 0,
    isCrowded: undefined,
    stalls: 0,
    taken: 0,
    last: undefined,
    isEnding: false,
    onAnswer: undefined,
  }
  return socket[PIPELINE]
}

/** Node.js's handle of a connection; null once it has ended. */
export function handleOf(socket: Socket): Handle | null {
  return (socket as unknown as { _handle: Handle | null })._handle
}

export interface Handle {
  reading: boolean
  readStart(): void
  readStop(): void
  /** Counts what waits for the kernel, too: `writeQueueSize`. */
  bytesWritten: number
  writeQueueSize: number
  /** The handle that sends what this one encrypts. */
  _parent?: Handle
  /** What is wrong with the certificate of the client. */
  verifyError?(): Error | null
}

/** The number of requests that are being handled on these connections. */
export function countUnanswered(connections: Set<Socket>): number {
  return connections.values().reduce((count, connection) => count + pipelineOf(connection).unanswered, 0)
}

/** Whether a connection has as many unanswered requests as it may have. */
export function isFull(pipeline: Pipeline): boolean {
  return pipeline.unanswered >= MAX_UNANSWERED || (pipeline.unanswered > 0 && pipeline.isCrowded?.() === true)
}

/** Whether the server waits for the client: no complete request is unanswered. */
export function isIdle({ unanswered, last }: Pipeline): boolean {
  return unanswered === 0 || (unanswered === 1 && last?.req.complete === false)
}

/** Node.js's parser of a connection. */
interface Parser {
  onIncoming(request: IncomingMessage & { upgrade: boolean }, keepAlive: boolean): number
  /** The bytes that it read last. */
  getCurrentBuffer(): Buffer
}

const NO_BYTES = Buffer.alloc(0)

/** What `onIncoming` returns to stop the parser after the headers of a request. */
const STOP = 2

/**
 * Stops the parser of a new connection at a request if too many are unanswered, if the previous response closes the
 * connection, or if its framing is invalid. Nothing else stops it in the middle of a chunk, which may hold thousands of
 * requests: the server takes the request for an upgrade, and detaches the parser. Real upgrades are ignored (RFC 9110 §7.8);
 * the parser stops after them nevertheless, so their response closes the connection.
 */
export function boundParser(connection: Socket, isCrowded: (connection: Socket) => boolean): void {
  const pipeline = Object.assign(pipelineOf(connection), { isCrowded: () => isCrowded(connection) })
  const { parser } = connection as unknown as { parser: Parser }
  const { onIncoming } = parser
  // Node.js would copy 64 KiB for each connection whose parser stops.
  parser.getCurrentBuffer = () => NO_BYTES
  parser.onIncoming = (request, keepAlive) => {
    const asksForUpgrade = request.upgrade
    const isExcess = isFull(pipeline) || pipeline.last?.shouldKeepAlive === false
    request.upgrade = isExcess || request.method === 'CONNECT' || isAmbiguous(request)
    return request.upgrade ? STOP : onIncoming(request, keepAlive && !asksForUpgrade)
  }
}

/**
 * Whether a request is refused although Node.js can parse it: a version other than HTTP/1 (RFC 9110 §15.6.6), an unknown
 * transfer coding (RFC 9112 §6.1), or two Host headers (RFC 9112 §3.2). A proxy may parse such a request differently, and
 * send the answer to the wrong client.
 */
function isAmbiguous({ httpVersionMajor, httpVersionMinor, headers, rawHeaders }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding']
  // HTTP/1.0 has none.
  const isKnownCoding = coding === undefined || (httpVersionMinor === 1 && coding.toLowerCase() === 'chunked')
  return httpVersionMajor !== 1 || httpVersionMinor > 1 || !isKnownCoding || timesGiven('host', rawHeaders) > 1
}

/** The path and query of a request target, which may be a whole URL (RFC 9112 §3.2.2). */
export function originForm(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '')
}

/**
 * How many times a request has a header. `name`: in lower case. `rawHeaders`: names and values, alternating. If there are
 * several, Node.js uses the first, but a proxy may use the last.
 */
export function timesGiven(name: string, rawHeaders: string[]): number {
  let times = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] as string
    if (given.length === name.length && given.toLowerCase() === name) times++
  }
  return times
}
