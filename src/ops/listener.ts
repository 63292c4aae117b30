import http from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { hostInUrl } from '../domain/address.ts'
import type { Observer } from '../domain/events.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { COUNTED } from '../listener/answer.ts'
import { MALFORMED_STATUSES, type MalformedReason, malformedReason, sendFinal } from '../listener/malformed.ts'
import { protect } from '../listener/protect.ts'

export interface Page {
  status?: number
  /** Of the body. */
  type: string
  headers?: Record<string, string>
  body: string
}

/** What is at each path. A page that rejects is answered with 500. */
export type Pages = Record<string, () => Page | Promise<Page>>

/** A listener for operators that is open. */
export interface Listener {
  address: string
  close(): Promise<void>
}

/** Few tools ask, and each asks seldom: one connection for each request. */
const MAX_CONNECTIONS = 64

/** Connections of one address. */
const MAX_PER_PREFIX = 32

/** How long a request may take to arrive, and how long its response may take until all of it is sent. */
const TIMEOUT_MS = 5000

/** How long responses may take after the listener began to close. */
const CLOSE_MS = 250

const METHODS = ['GET', 'HEAD']
const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
const TEXT = 'text/plain; charset=utf-8'

/**
 * Answers operators and their tools on a port of its own. Nothing there is secret, and nothing changes anything. Resolves when it
 * listens; throws OperatorError if it cannot. Does not keep the process alive.
 */
export async function listenForOperators(
  { host, port }: { host: string; port: number },
  pages: Pages,
  observe: Observer,
): Promise<Listener> {
  const server = http.createServer({
    ...COUNTED,
    requestTimeout: TIMEOUT_MS,
    headersTimeout: TIMEOUT_MS,
    connectionsCheckingInterval: 1000,
    requireHostHeader: false,
  })
  const { drain, end } = protect(server, {
    observe,
    listener: 'ops',
    answerMalformed,
    drainTimeout: CLOSE_MS,
    stallTimeout: TIMEOUT_MS,
    limits: { perPrefix: MAX_PER_PREFIX, total: MAX_CONNECTIONS },
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    answerMalformed(malformedReason(error), socket as Socket),
  )
  server.on('request', async (request, response) => {
    // The parser stops here: each request behind it would keep its response in memory until it is read.
    response.shouldKeepAlive = false
    const late = setTimeout(() => request.socket.destroy(), TIMEOUT_MS)
    request.socket.once('close', () => clearTimeout(late))
    const { status = 200, type, headers, body } = await answer(request, pages)
    const allow = status === 405 ? { allow: METHODS.join(', ') } : {}
    response.writeHead(status, {
      ...HEADERS,
      ...headers,
      ...allow,
      connection: 'close',
      'content-type': type,
      'content-length': Buffer.byteLength(body),
    })
    response.end(body)
  })
  await new Promise<void>((resolve, reject) => {
    // Not once: errors while it listens, of connections that cannot be accepted, would end the process where nobody hears them.
    server.on('error', (cause) =>
      reject(new OperatorError(`Cannot listen on OPS_ADDRESS, ${host}:${port}: ${cause.message}.`, { cause })),
    )
    server.listen(port, host, resolve)
  })
  server.unref()
  const { address, port: bound } = server.address() as AddressInfo
  return {
    address: `http://${hostInUrl(address)}:${bound}`,
    async close() {
      const ended = new Promise((resolve) => server.close(resolve))
      drain()
      await ended
      end()
    },
  }
}

/** Answers what is not a valid request, and ends the connection. */
function answerMalformed(reason: MalformedReason, socket: Socket): void {
  const headers = { ...HEADERS, 'content-type': TEXT }
  sendFinal(socket, { status: MALFORMED_STATUSES[reason], headers, body: `Refused: ${reason}.\n` })
}

async function answer({ method, url = '' }: http.IncomingMessage, pages: Pages): Promise<Page> {
  const [path = ''] = url.split('?', 1)
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined
  if (!page) return { status: 404, type: TEXT, body: `Here are ${Object.keys(pages).join(', ')}.\n` }
  if (!METHODS.includes(String(method))) return { status: 405, type: TEXT, body: 'Use GET.\n' }
  try {
    return await page()
  } catch {
    return { status: 500, type: TEXT, body: 'The server failed.\n' }
  }
}
