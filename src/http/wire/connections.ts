import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import net, { type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** How long an answer may take after the server began to close. */
const DRAIN_TIMEOUT_MS = 8000

/** The answer to the last request on a connection. */
const LAST = Symbol('last answer')
type Connection = Socket & { [LAST]?: ServerResponse }

/**
 * Makes `app.close()` end every connection as soon as no answer is pending on it: at once where none is (a connection that
 * never sent a byte would keep the server open), after the answer where one is, and the rest after the timeout.
 */
export function drainOnClose(app: FastifyInstance, timeout = DRAIN_TIMEOUT_MS): void {
  const connections = new Set<Connection>()

  app.server.on('connection', (connection: Connection) => {
    connections.add(connection)
    connection.once('close', () => connections.delete(connection))
  })
  // Answers are not listened to before the end: a listener for each is expensive (docs/performance). Those to requests
  // that come after it end their connections anyway, for Fastify says so in a header.
  app.server.on('request', ({ socket }: { socket: Connection }, response) => {
    socket[LAST] = response
  })
  app.addHook('preClose', async () => {
    for (const connection of connections) {
      const last = connection[LAST]
      if (last && !last.closed) endAfter(last, connection)
      else connection.destroy()
    }
    setTimeout(() => app.server.closeAllConnections(), timeout).unref()
  })
}

/** Answers leave in the order of the requests, so after the last one nothing is pending. */
function endAfter(answer: ServerResponse, connection: Connection): void {
  answer.once('close', () => {
    if (connection[LAST] === answer) connection.destroySoon()
  })
}

/**
 * Lets a server end without dropping a request: it takes no new connection, and ends each that it has after the next
 * answer. An idle one is left to the client, or to the server's own keep-alive timeout: ending it earlier could meet a
 * request that is on its way. Resolves when the last connection is gone.
 */
export async function retire(server: Server): Promise<void> {
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
  // Not the http server's own close, which ends idle connections.
  net.Server.prototype.close.call(server)
  await once(server, 'close')
}
