import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import net, { type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** How long an answer may take after the server began to close, in milliseconds. */
const PATIENCE = 8000

/** How many answers are owed on a connection. */
const OWED = Symbol('owed')
type CountingSocket = Socket & { [OWED]: number }

/**
 * Makes `app.close()` end every connection as soon as no answer is owed on it: at once where none is (one that never
 * sent a byte would hold the server up), after the answer where one is, and the rest when patience ends.
 */
export function drainOnClose(app: FastifyInstance, patience = PATIENCE): void {
  const sockets = new Set<CountingSocket>()
  let closing = false

  app.server.on('connection', (socket: CountingSocket) => {
    socket[OWED] = 0
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  app.server.on('request', (request, response) => {
    ;(request.socket as CountingSocket)[OWED]++
    response.on('close', answered)
  })
  // One function for all: a closure a request is to be seen in a profile, and so is a map of sockets.
  function answered(this: ServerResponse): void {
    const socket = this.req.socket as CountingSocket
    socket[OWED]--
    if (closing && socket[OWED] === 0) socket.destroySoon()
  }
  app.addHook('preClose', async () => {
    closing = true
    for (const socket of sockets) if (socket[OWED] === 0) socket.destroy()
    setTimeout(() => app.server.closeAllConnections(), patience).unref()
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
