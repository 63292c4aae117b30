import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { endConnection } from './ending.ts'
import { BODY_LIMIT } from './form.ts'
import { BoundedRequest, pipelineOf } from './pipeline.ts'

/** An answer that is counted on its connection, without a listener for each, which is expensive (docs/performance). */
export class CountedAnswer<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  constructor(request: Request) {
    super(request)
    const pipeline = pipelineOf(request.socket)
    pipeline.unanswered++
    pipeline.last = this
  }

  /**
   * This answer is the last where the body is too long to be read for nothing. Where the server ends, every answer says
   * that it is; it is so only if no other request has come behind it.
   */
  override writeHead(status: number, message?: unknown, headers?: unknown): this {
    if (!this.req.complete && isLong(this.req)) this.shouldKeepAlive = false
    else if (this.hasHeader('connection')) {
      if (pipelineOf(this.req.socket).last === this) this.shouldKeepAlive = false
      else this.removeHeader('connection')
    }
    return super.writeHead(status, message as string, headers as OutgoingHttpHeaders)
  }

  /** Node.js calls this when all of the answer has left. */
  override detachSocket(socket: Socket): void {
    super.detachSocket(socket)
    const pipeline = pipelineOf(socket)
    pipeline.unanswered--
    pipeline.stalls = 0
    pipeline.onAnswer?.()
    if (!this.req.complete && !this.shouldKeepAlive) endConnection(socket)
  }
}

/** The classes of a server whose requests and answers are counted on each connection. */
export const COUNTED = { IncomingMessage: BoundedRequest, ServerResponse: CountedAnswer }

/** Whether more may come than a form can have. */
function isLong({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > BODY_LIMIT
}
