import type { Socket } from 'node:net'
import { type Pipeline, pipelineOf } from './pipeline.ts'

/** How much is still read from a connection that ends: if unread bytes were left, the client could lose the response. */
const DISCARDED_BYTES = 1024 * 1024

/**
 * Ends a connection without reading another request (RFC 9112 §9.6): the responses that are due leave in their order, then
 * the final one, if it may follow them. Then the server waits a while for the client to close its side, and reads no more than
 * `discard` bytes. Returns whether the final response was sent.
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
  discardInput(socket, discard)

  const { isMissing, isFinal } = lastOf(pipeline)
  const finish = () => {
    if (pipeline.unanswered > (isMissing ? 1 : 0)) return
    pipeline.onAnswer = undefined
    socket.end(isFinal ? '' : finalResponse)
  }
  pipeline.onAnswer = finish
  finish()
  return !isFinal
}

/** Whether the last response will not come, because its request cannot be read, and whether nothing may follow it. */
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
    if (left <= 0) socket.pause()
  })
  socket.resume()
}
