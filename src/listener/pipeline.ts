import { IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How many unanswered requests a connection may have; one more ends it. */
const MAX_UNANSWERED = 32

const PIPELINE = Symbol('pipeline')

/** A response that reports its status and duration, once. */
export interface Measured {
  /** The pattern of its route. */
  endpoint: string
  /** Undefined: the client is gone. */
  report(status?: number): void
}

/** The requests of a connection that are being handled. A response counts as sent when the kernel has all of it. */
export interface Pipeline {
  unanswered: number
  /** How many checks in a row have found the connection stalled. */
  stalls: number
  /** The response to the last request. */
  last: (Pick<ServerResponse, 'req' | 'shouldKeepAlive' | 'writableEnded'> & Partial<Measured>) | undefined
  /** No other request is read from it. */
  isEnding: boolean
  /** Called after each response. */
  onAnswer: (() => void) | undefined
}

/** The pipeline of a connection. */
export function pipelineOf(socket: Socket & { [PIPELINE]?: Pipeline }): Pipeline {
  socket[PIPELINE] ??= { unanswered: 0, stalls: 0, last: undefined, isEnding: false, onAnswer: undefined }
  return socket[PIPELINE]
}

/** The number of requests that are being handled on these connections. */
export function countUnanswered(connections: Set<Socket>): number {
  return connections.values().reduce((count, connection) => count + pipelineOf(connection).unanswered, 0)
}

/** Whether a connection has as many unanswered requests as it may have. */
export function isFull({ unanswered }: Pipeline): boolean {
  return unanswered >= MAX_UNANSWERED
}

/** Whether the server waits for the client: no complete request is unanswered. */
export function isIdle({ unanswered, last }: Pipeline): boolean {
  return unanswered === 0 || (unanswered === 1 && last?.req.complete === false)
}

/**
 * A request that Node.js treats as an upgrade if the connection has too many unanswered requests, if the previous response
 * closes the connection, or if its framing is invalid. Nothing else stops the parser in the middle of a chunk, which may hold
 * thousands of requests: the server emits `upgrade`, and detaches the parser. Real upgrades are ignored (RFC 9110 §7.8).
 */
export class BoundedRequest extends IncomingMessage {
  /** Whether the parser stops after this request: the rest of the chunk is lost. */
  asksForUpgrade = false
  readonly #isExcess: boolean
  #isLast: boolean | undefined

  constructor(socket: Socket) {
    super(socket)
    const pipeline = pipelineOf(socket)
    this.#isExcess = isFull(pipeline) || pipeline.last?.shouldKeepAlive === false
  }

  get upgrade(): boolean {
    // Node.js asks twice, the first time when it has the headers.
    this.#isLast ??= this.#isExcess || this.method === 'CONNECT' || isAmbiguous(this)
    return this.#isLast
  }

  /** The parser sets this from the headers. */
  set upgrade(isUpgrade: boolean) {
    if (isUpgrade) this.asksForUpgrade = true
  }
}

/**
 * Whether a request is refused although Node.js can parse it: a version other than HTTP/1 (RFC 9110 §15.6.6), an unknown
 * transfer coding (RFC 9112 §6.1), or two Host headers (RFC 9112 §3.2). A proxy may parse such a request differently, and
 * send the answer to the wrong client.
 */
function isAmbiguous({ httpVersionMajor, httpVersionMinor, headers, rawHeaders }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding']
  const isKnownCoding = coding === undefined || coding.toLowerCase() === 'chunked'
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
