import type { Socket } from 'node:net'
import { type Pipeline, pipelineOf } from './pipeline.ts'

/** How much is still read from a connection that ends: closing with bytes unread can take the answer from the client. */
const DISCARDED_BYTES = 1024 * 1024

/**
 * Ends a connection without reading another request (RFC 9112 §9.6): the answers that are due leave in their order, then
 * the farewell, where it may follow them; then the server waits until the client is done, too, but not for long, and reads
 * no more than so many bytes. Returns whether the farewell is said.
 */
export function endConnection(
  socket: Socket,
  { farewell = '', discard = DISCARDED_BYTES }: { farewell?: string; discard?: number } = {},
): boolean {
  const pipeline = pipelineOf(socket)
  if (pipeline.isEnding) return false
  pipeline.isEnding = true
  // Node.js listens no more: not after a malformed request, and not when it has handed the connection over.
  socket.on('error', () => {})
  if (!socket.writable) {
    socket.destroy()
    return false
  }
  // Node.js calls this after an answer that is the last, and it would close at once.
  socket.destroySoon = () => {}
  discardInput(socket, discard)

  const { isMissing, isFinal } = lastOf(pipeline)
  const finish = () => {
    if (pipeline.unanswered > (isMissing ? 1 : 0)) return
    pipeline.onAnswer = undefined
    socket.end(isFinal ? '' : farewell)
  }
  pipeline.onAnswer = finish
  finish()
  return !isFinal
}

/** Whether the last answer will not come, because its request cannot be read, and whether nothing may follow it. */
function lastOf({ last }: Pipeline): { isMissing: boolean; isFinal: boolean } {
  if (!last) return { isMissing: false, isFinal: false }
  if (last.req.complete) return { isMissing: false, isFinal: !last.shouldKeepAlive }
  return { isMissing: !last.writableEnded, isFinal: last.writableEnded }
}

function discardInput(socket: Socket, bytes: number): void {
  let left = bytes
  // Node.js's parser lets go of a connection that has another listener for its data.
  socket.removeAllListeners('data')
  socket.on('data', (chunk) => {
    left -= chunk.length
    if (left <= 0) socket.pause()
  })
  socket.resume()
}
