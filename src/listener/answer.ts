import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { endConnection } from './malformed.ts'
import { BoundedRequest, pipelineOf } from './pipeline.ts'

/** The rest of a longer body is not read after the response: the connection is closed. Bytes. */
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
   * Closes the connection after this response if the body is too long to be read for nothing, or if the parser has stopped
   * behind the request. While the server closes, every response has `Connection: close`; it is kept only if no other request
   * has arrived.
   */
  override writeHead(status: number, message?: unknown, headers?: unknown): this {
    const { req } = this
    if ((!req.complete && isLong(req)) || (req instanceof BoundedRequest && req.asksForUpgrade))
      this.shouldKeepAlive = false
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
    pipeline.stalls = 0
    pipeline.onAnswer?.()
    if (!this.req.complete && !this.shouldKeepAlive) endConnection(socket)
  }
}

/** The classes of a server that counts the requests and responses of each connection. */
export const COUNTED = { IncomingMessage: BoundedRequest, ServerResponse: CountedAnswer }

/** Whether the body may be longer than what is worth reading. */
function isLong({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > MAX_UNREAD_BYTES
}
