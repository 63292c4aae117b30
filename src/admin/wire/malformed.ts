import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { newRequestId } from '../../domain/request-id.ts'
import { ANSWER_HEADERS } from './headers.ts'
import { PROBLEM_TYPE, type Problem, problemText } from './problem.ts'

/** What the client is told, by Node.js's name for what is wrong. */
const PROBLEMS: Record<string, Problem> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, detail: 'The request took too long.' },
  HPE_HEADER_OVERFLOW: { status: 431, detail: 'The headers are too large.' },
}
const NOT_HTTP: Problem = { status: 400, detail: 'This request cannot be read.' }

/** How long the other side may take to end a connection that is over. */
const END_MS = 1000

/**
 * Answers what never becomes a request, behind the answer that is due, and ends the connection. To be given what Fastify
 * calls a client error.
 */
export function createMalformedAnswers() {
  const last = new WeakMap<Socket, ServerResponse>()

  function watch({ server }: FastifyInstance): void {
    server.prependListener('request', ({ socket }, response) => last.set(socket, response))
    // Node.js would close the connection without an answer.
    server.on('connect', (_request, socket: Socket) => answer({}, socket))
    // Unknown expectations are ignored (RFC 9110 §10.1.1): Node.js would answer with a bare 417.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  }

  function answer({ code }: { code?: string }, socket: Socket): void {
    // Of what Node.js has handed over, an error that nobody hears would end the process.
    socket.on('error', () => {})
    const end = () => endWith(PROBLEMS[String(code)] ?? NOT_HTTP, socket)
    const due = last.get(socket)
    const isUnread = due?.req.complete === false && !due.headersSent
    if (!due || due.writableFinished || isUnread) end()
    else due.once('finish', end)
  }

  return { watch, answer }
}

function endWith(problem: Problem, socket: Socket): void {
  const body = problemText(problem)
  const headers = {
    ...ANSWER_HEADERS,
    'x-request-id': newRequestId(),
    'content-type': PROBLEM_TYPE,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  // Its parser reads no more. What is still sent is left out.
  socket.removeAllListeners('data').resume()
  if (socket.writable)
    socket.end([`HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`, ...lines, '', body].join('\r\n'))
  setTimeout(() => socket.destroy(), END_MS).unref()
}
