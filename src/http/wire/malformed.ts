import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { errorBody, NOT_HTTP, UNREADABLE } from './refusals.ts'
import { JSON_TYPE, NO_STORE } from './refuse.ts'

/** Answers what never became a request, and closes the connection. Logs nothing: the bytes may be a secret. */
export function answerMalformed(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const answer = UNREADABLE[String(error.code)] ?? NOT_HTTP
  const body = errorBody(answer)
  const headers = { ...NO_STORE, 'content-type': JSON_TYPE, 'content-length': body.length, connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.write([`HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}`, ...lines, '', body].join('\r\n'))
  // Not `end`: what came afterwards would still be read, and executed.
  socket.destroySoon()
}
