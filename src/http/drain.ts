import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** How long an answer may take after the server began to close, in milliseconds. */
const PATIENCE = 8000

/**
 * Makes `app.close()` end every connection as soon as no answer is owed on it: at once where none is (one that never
 * sent a byte would hold the server up), after the answer where one is, and the rest when patience ends.
 */
export function drainOnClose(app: FastifyInstance, patience = PATIENCE): void {
  const sockets = new Set<Socket>()
  const owed = new Map<Socket, number>()
  let closing = false

  app.server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  app.server.on('request', ({ socket }, response) => {
    owed.set(socket, (owed.get(socket) ?? 0) + 1)
    response.on('close', answered)
  })
  // One function for all: a closure a request is to be seen in a profile.
  function answered(this: ServerResponse): void {
    const { socket } = this.req
    const left = (owed.get(socket) as number) - 1
    if (left > 0) owed.set(socket, left)
    else owed.delete(socket)
    if (closing && left === 0) socket.destroySoon()
  }
  app.addHook('preClose', async () => {
    closing = true
    for (const socket of sockets) if (!owed.has(socket)) socket.destroy()
    setTimeout(() => app.server.closeAllConnections(), patience).unref()
  })
}
