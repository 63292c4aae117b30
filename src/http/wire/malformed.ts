import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { JSON_TYPE, NO_STORE, refusalBody } from './refusals.ts'

/** What cannot be read as HTTP at all, by Node's name for it. */
const MALFORMED: Record<string, [status: number, description: string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request took too long'],
  HPE_HEADER_OVERFLOW: [431, 'The headers are too large'],
}

/** Answers what never became a request, and closes the connection. Logs nothing: the bytes may hold a secret. */
export function answerMalformed(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const [status, description] = MALFORMED[String(error.code)] ?? [400, 'The request is not HTTP']
  const body = refusalBody({ code: 'invalid_request', description })
  const headers = { ...NO_STORE, 'content-type': JSON_TYPE, 'content-length': body.length, connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.write([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'))
  // Not just `end`: what came afterwards would still be read, and executed.
  socket.destroySoon()
}
