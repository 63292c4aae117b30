import type { IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Observer } from '../domain/events.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { serverOptions } from '../listener/answer.ts'
import { MALFORMED_STATUSES, type MalformedReason, sendFinal } from '../listener/malformed.ts'
import { protect } from '../listener/protect.ts'
import type { Tls } from '../listener/tls.ts'
import { hostInUrl } from '../web/address.ts'
import { createServer } from '../web/http.ts'

export interface Page {
  status?: number
  type: string
  headers?: Record<string, string>
  body: string
}

/** The page at each path, for this connection. One that throws is answered with 500. */
export type Pages = Record<string, (connection: Socket) => Page | Promise<Page>>

export interface Listener {
  address: string
  close(): Promise<void>
}

/** Low limits: only a few tools send requests, rarely, and each on its own connection. */
const LIMITS = { perPrefix: 32, total: 64 }

/** How long a request may take to arrive, and its response to be sent. */
const TIMEOUT_MS = 5000

/** How long pending responses may take when the listener closes. */
const CLOSE_MS = 250

const METHODS = ['GET', 'HEAD']
const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
const TEXT = 'text/plain; charset=utf-8'

/**
 * Serves these pages to operators and their tools, on a separate port. They are read-only, and public unless a page refuses the
 * connection. Resolves when the port is open; throws OperatorError if it cannot. Does not keep the process alive.
 */
export async function listenForOperators(
  { host, port }: { host: string; port: number },
  pages: Pages,
  observe: Observer,
  tls?: () => Tls,
): Promise<Listener> {
  const server = createServer(serverOptions(TIMEOUT_MS))
  server.on('request', async (request, response) => {
    // Stops the parser, because each further request would keep a response in memory until it is read.
    response.shouldKeepAlive = false
    const late = setTimeout(() => request.socket.destroy(), TIMEOUT_MS)
    request.socket.once('close', () => clearTimeout(late))
    const { status = 200, type, headers, body } = await answer(request, pages)
    const length = Buffer.byteLength(body)
    const own = { connection: 'close', 'content-type': type, 'content-length': length }
    response.writeHead(status, { ...HEADERS, ...headers, ...own }).end(body)
  })
  const drain = protect(server, {
    observe,
    listener: 'ops',
    tls,
    answerMalformed,
    drainTimeout: CLOSE_MS,
    stallTimeout: TIMEOUT_MS,
    limits: LIMITS,
  })
  await new Promise<void>((resolve, reject) => {
    // Not `once`: without a handler, a later error, such as a connection that cannot be accepted, would end the process.
    server.on('error', (cause) =>
      reject(new OperatorError(`Cannot listen on OPS_ADDRESS, ${host}:${port}: ${cause.message}.`, { cause })),
    )
    server.listen(port, host, resolve)
  })
  server.unref()
  const { address, port: bound } = server.address() as AddressInfo
  return {
    address: `${tls ? 'https' : 'http'}://${hostInUrl(address)}:${bound}`,
    async close() {
      const ended = new Promise((resolve) => server.close(resolve))
      drain()
      await ended
    },
  }
}

function answerMalformed(reason: MalformedReason, socket: Socket): void {
  const headers = { ...HEADERS, 'content-type': TEXT }
  sendFinal(socket, { status: MALFORMED_STATUSES[reason], headers, body: `Refused: ${reason}.\n` })
}

async function answer(request: IncomingMessage, pages: Pages): Promise<Page> {
  const { method, url = '', headers, httpVersion, socket } = request
  // RFC 9112 §3.2.
  if (headers.host === undefined && httpVersion === '1.1')
    return { status: 400, type: TEXT, body: 'Refused: Host header missing.\n' }
  const [path = ''] = url.split('?', 1)
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined
  if (!page) return { status: 404, type: TEXT, body: `The pages are ${Object.keys(pages).join(', ')}.\n` }
  if (!METHODS.includes(String(method)))
    return { status: 405, type: TEXT, headers: { allow: METHODS.join(', ') }, body: 'Use GET.\n' }
  try {
    return await page(socket)
  } catch {
    return { status: 500, type: TEXT, body: 'The server failed.\n' }
  }
}
