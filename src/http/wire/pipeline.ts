import { IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How many requests of one connection may be under way. The next one ends it. */
const MAX_UNANSWERED = 32

const PIPELINE = Symbol('pipeline')

/** An answer that says once which it was, and how long it took. */
export interface Measured {
  /** The pattern of its route. */
  endpoint: string
  say(status: number): void
  abandon(): void
}

/** What is under way on a connection. An answer counts as given when all of it has left for the kernel. */
export interface Pipeline {
  unanswered: number
  /** How often it was seen to be stalled since the last answer was given. */
  stalls: number
  /** The answer to the last request. */
  last: (Pick<ServerResponse, 'req' | 'shouldKeepAlive' | 'writableEnded'> & Partial<Measured>) | undefined
  /** No other request is read from it. */
  isEnding: boolean
  /** Called after each answer that was given. */
  onAnswer: (() => void) | undefined
}

export function pipelineOf(socket: Socket & { [PIPELINE]?: Pipeline }): Pipeline {
  socket[PIPELINE] ??= { unanswered: 0, stalls: 0, last: undefined, isEnding: false, onAnswer: undefined }
  return socket[PIPELINE]
}

/** How many requests are under way on these connections. */
export function countUnanswered(connections: Iterable<Socket>): number {
  let count = 0
  for (const connection of connections) count += pipelineOf(connection).unanswered
  return count
}

/** Whether as many requests are under way as may be. */
export function isFull({ unanswered }: Pipeline): boolean {
  return unanswered >= MAX_UNANSWERED
}

/**
 * A request that Node.js takes for an upgrade where too many before it are unanswered, or the last answer was given. This is
 * the one way to stop the parser in the middle of what was read, which may be thousands of requests: the server gets the
 * event `upgrade`, and the connection has no parser any more. What asks for another protocol is ignored (RFC 9110 §7.8).
 */
export class BoundedRequest extends IncomingMessage {
  readonly #isExcess: boolean

  constructor(socket: Socket) {
    super(socket)
    const pipeline = pipelineOf(socket)
    this.#isExcess = isFull(pipeline) || pipeline.last?.shouldKeepAlive === false
  }

  get upgrade(): boolean {
    return this.#isExcess || this.method === 'CONNECT'
  }

  /** What the parser makes of the headers. */
  set upgrade(_: boolean) {}
}
