import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { ServerResponse } from '../web/http.ts'
import { endConnection } from './malformed.ts'
import { pipelineOf } from './pipeline.ts'

/** The rest of a longer body is not read after the response: the connection is closed. In bytes. */
const MAX_UNREAD_BYTES = 8 * 1024

/** A response that is counted on its connection. A listener for each would be expensive (docs/performance). */
export class CountedAnswer<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  constructor(request: Request) {
    super(request)
    const pipeline = pipelineOf(request.socket)
    pipeline.unanswered++
    pipeline.last = this
  }

  /**
   * Closes the connection after this response if the body is too long to read and discard. While the server closes, Fastify adds
   * `Connection: close` to every response; only the last one keeps it.
   */
  override writeHead(status: number, message?: unknown, headers?: unknown): this {
    const { req } = this
    if (!req.complete && isLong(req)) this.shouldKeepAlive = false
    else if (this.hasHeader('connection')) {
      if (pipelineOf(req.socket).last === this) this.shouldKeepAlive = false
      else this.removeHeader('connection')
    }
    return super.writeHead(status, message as string, headers as OutgoingHttpHeaders)
  }

  /** Node.js calls this when the kernel has the whole response. */
  override detachSocket(socket: Socket): void {
    super.detachSocket(socket)
    const pipeline = pipelineOf(socket)
    pipeline.unanswered--
    // Otherwise an open connection would keep its last request in memory.
    if (pipeline.last === this && this.shouldKeepAlive && this.req.complete) pipeline.last = undefined
    pipeline.onAnswer?.()
    if (!this.req.complete && !this.shouldKeepAlive) endConnection(socket)
  }
}

/** The options of a server for `protect`. A request, headers and body, must arrive within this many milliseconds. */
export function serverOptions(timeout: number) {
  return {
    ServerResponse: CountedAnswer,
    requestTimeout: timeout,
    headersTimeout: timeout,
    connectionsCheckingInterval: timeout / 10,
    // Node.js would answer with a bare 400.
    requireHostHeader: false,
  }
}

/** Whether the body may be too long to read and discard. */
function isLong({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > MAX_UNREAD_BYTES
}
