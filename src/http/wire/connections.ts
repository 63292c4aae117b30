import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import net, { type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** How long an answer may take after the server began to close, in milliseconds. */
const PATIENCE = 8000

/** The answer to the last request on a connection. */
const LAST = Symbol('last answer')
type Connection = Socket & { [LAST]?: ServerResponse }

/**
 * Makes `app.close()` end every connection as soon as no answer is owed on it: at once where none is (one that never
 * sent a byte would hold the server up), after the answer where one is, and the rest when patience ends.
 */
export function drainOnClose(app: FastifyInstance, patience = PATIENCE): void {
  const connections = new Set<Connection>()

  app.server.on('connection', (connection: Connection) => {
    connections.add(connection)
    connection.once('close', () => connections.delete(connection))
  })
  // Answers are not listened to before the end: a listener for each took 3 % of the CPU of a check. Those to requests
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
    setTimeout(() => app.server.closeAllConnections(), patience).unref()
  })
}

/** Answers are given in the order of the requests, so the last one is the end of what is owed. */
function endAfter(answer: ServerResponse, connection: Connection): void {
  answer.once('close', () => {
    if (connection[LAST] === answer) connection.destroySoon()
  })
}

/**
 * Lets a server end without dropping a request: it takes no new connection, and ends each that it has after the next
 * answer. One that is idle is left to the client, or to the server's own time for idle connections: whoever ends it
 * earlier may meet a request that is on its way. Resolves when the last connection is gone.
 */
export async function retire(server: Server): Promise<void> {
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
  // Not the http server's own close, which ends idle connections.
  net.Server.prototype.close.call(server)
  await once(server, 'close')
}
