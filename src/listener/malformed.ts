import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { STATUS_CODES } from '../web/http.ts'
import { handleOf, type Pipeline, pipelineOf } from './pipeline.ts'

/** Why input is not a valid request, and the status of the answer. */
export const MALFORMED_STATUSES = { 'not HTTP': 400, 'request too slow': 408, 'headers too large': 431 }

export type MalformedReason = keyof typeof MALFORMED_STATUSES

/** The reason for an error that Node.js reports to `clientError`. */
export function malformedReason({ code }: NodeJS.ErrnoException): MalformedReason {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request too slow'
  return code === 'HPE_HEADER_OVERFLOW' ? 'headers too large' : 'not HTTP'
}

/**
 * Sends the final response of a connection, after the pending ones, and ends it. Returns false if nothing was sent, because
 * the client has disconnected or the last response was sent already.
 */
export function sendFinal(
  socket: Socket,
  { status, headers, body }: { status: number; headers: OutgoingHttpHeaders; body: string },
): boolean {
  const all = { ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  const finalResponse = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n')
  return endConnection(socket, { finalResponse })
}

/** The request of a connection whose body could not be read to its end, if there is one. */
export function unreadRequest(socket: Socket): IncomingMessage | undefined {
  const { last } = pipelineOf(socket)
  return last?.req.complete === false ? last.req : undefined
}

/** How many bytes are still read from a connection that is closing: any unread byte could cost the client the response. */
const DISCARDED_BYTES = 1024 * 1024

/** How long a client has to read the last response, while so many requests wait that nothing more is read. */
const LINGER_MS = 3000

/**
 * Ends a connection without reading another request (RFC 9112 §9.6): sends the pending responses in their order, then the final
 * one, unless the last pending one closes the connection. Then waits a while for the client to close its side, and reads at most
 * `discard` bytes, or none while many requests wait. Returns whether the final response is sent.
 */
export function endConnection(
  socket: Socket,
  { finalResponse = '', discard = DISCARDED_BYTES }: { finalResponse?: string; discard?: number } = {},
): boolean {
  const pipeline = pipelineOf(socket)
  if (pipeline.isEnding) return false
  pipeline.isEnding = true
  // Node.js no longer handles errors of this socket, and an unhandled one would end the process.
  socket.on('error', () => {})
  if (!socket.writable) {
    socket.destroy()
    return false
  }
  // Node.js calls this after the last response, and would close at once.
  socket.destroySoon = () => {}
  const isCrowded = pipeline.isCrowded?.()
  // Nothing would reveal that the client has disconnected.
  if (isCrowded) socket.once('finish', () => setTimeout(() => socket.destroy(), LINGER_MS).unref())
  discardInput(socket, isCrowded ? 0 : discard)

  const { isMissing, isFinal } = lastOf(pipeline)
  pipeline.onAnswer = () => {
    if (pipeline.unanswered > (isMissing ? 1 : 0)) return
    pipeline.onAnswer = undefined
    socket.end(isFinal ? '' : finalResponse)
  }
  pipeline.onAnswer()
  return !isFinal
}

/** `isMissing`: the last response will not be sent, because its request cannot be read. `isFinal`: nothing may follow it. */
function lastOf({ last }: Pipeline): { isMissing: boolean; isFinal: boolean } {
  if (!last) return { isMissing: false, isFinal: false }
  if (last.req.complete) return { isMissing: false, isFinal: !last.shouldKeepAlive }
  return { isMissing: !last.writableEnded, isFinal: last.writableEnded }
}

function discardInput(socket: Socket, bytes: number): void {
  let left = bytes
  // Node.js's parser releases a connection that gets another listener for its data.
  socket.removeAllListeners('data')
  socket.on('data', (chunk) => {
    left -= chunk.length
    if (left <= 0) stopReading(socket)
  })
  if (bytes > 0) socket.resume()
  else stopReading(socket)
}

/** For good: a paused socket would still read 64 KiB and keep them, and the turns would read it again. */
function stopReading(socket: Socket): void {
  socket.pause()
  socket._read = () => {}
  // What TLS has received and is about to decrypt.
  socket.push = () => false
  const handle = handleOf(socket)
  if (handle) handle.reading = false
  handle?.readStop()
}
