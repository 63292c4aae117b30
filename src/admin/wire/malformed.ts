import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { newRequestId } from '../../domain/request-id.ts'
import { ANSWER_HEADERS } from './headers.ts'
import { PROBLEM_TYPE, type Problem, problemText } from './problem.ts'

/** Answers by the error code of Node.js. */
const PROBLEMS: Record<string, Problem> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, detail: 'The request took too long.' },
  HPE_HEADER_OVERFLOW: { status: 431, detail: 'The headers are too large.' },
}
const NOT_HTTP: Problem = { status: 400, detail: 'This request cannot be read.' }

/** How long the client may take to close the connection. */
const END_MS = 1000

/**
 * Answers data that is not a valid HTTP request, after any answer that is still pending, and closes the connection. `answer`
 * is Fastify's clientErrorHandler.
 */
export function createMalformedAnswers() {
  const last = new WeakMap<Socket, ServerResponse>()

  function watch({ server }: FastifyInstance): void {
    server.prependListener('request', ({ socket }, response) => last.set(socket, response))
    // Node.js would close the connection of a CONNECT request without an answer.
    server.on('connect', (_request, socket: Socket) => answer({}, socket))
    // Node.js would answer unknown expectations with a bare 417. RFC 9110 §10.1.1 allows ignoring them.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  }

  function answer({ code }: { code?: string }, socket: Socket): void {
    // Node.js no longer handles errors of this socket, and an unhandled one would end the process.
    socket.on('error', () => {})
    const end = () => sendAndClose(PROBLEMS[String(code)] ?? NOT_HTTP, socket)
    const pending = last.get(socket)
    const isUnread = pending?.req.complete === false && !pending.headersSent
    if (!pending || pending.writableFinished || isUnread) end()
    else pending.once('finish', end)
  }

  return { watch, answer }
}

function sendAndClose(problem: Problem, socket: Socket): void {
  const body = problemText(problem)
  const headers = {
    ...ANSWER_HEADERS,
    'x-request-id': newRequestId(),
    'content-type': PROBLEM_TYPE,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  // Detach the parser, and discard whatever else the client sends.
  socket.removeAllListeners('data').resume()
  if (socket.writable)
    socket.end([`HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`, ...lines, '', body].join('\r\n'))
  setTimeout(() => socket.destroy(), END_MS).unref()
}
