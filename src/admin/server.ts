import type { FastifyInstance } from 'fastify'
import type { Observer } from '../domain/events.ts'
import { serverOptions } from '../listener/answer.ts'
import { protect } from '../listener/protect.ts'
import type { Tls } from '../listener/tls.ts'
import { createServer } from '../web/http.ts'
import { answerFailure, answerMalformed } from './wire/problem.ts'

/** Enough for the few operators there are: an open overview uses one connection. */
const MAX_CONNECTIONS = 64

/** How long a request may take to arrive, headers and body. */
const REQUEST_TIMEOUT_MS = 10_000

/** How long a connection may be idle: while a request is being handled, and between two requests. */
const IDLE_TIMEOUT_MS = 60_000
const KEEP_ALIVE_MS = 5000

/** How long pending responses may take when the server closes. */
const CLOSE_MS = 250

export type AdminServer = ReturnType<typeof createAdminServer>

/** Creates the server of the admin listener, which is protected. `loadApp` is called for each request until it has succeeded. */
export function createAdminServer(loadApp: () => Promise<FastifyInstance>, observe: Observer, tls?: () => Tls) {
  let app: FastifyInstance | undefined
  const server = createServer(serverOptions(REQUEST_TIMEOUT_MS), async (request, response) => {
    try {
      app ??= await loadApp()
    } catch (error) {
      return answerFailure(observe, error, request, response)
    }
    app.routing(request, response)
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.setTimeout(IDLE_TIMEOUT_MS)
  const drain = protect(server, {
    observe,
    listener: 'admin',
    tls,
    answerMalformed,
    drainTimeout: CLOSE_MS,
    limits: { total: MAX_CONNECTIONS },
  })
  return {
    server,
    async close(): Promise<void> {
      const ended = new Promise((resolve) => server.close(resolve))
      drain()
      await ended
    },
  }
}
