import { once } from 'node:events'
import type { Server } from 'node:http'
import net, { type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { ClosedConnections } from './closed-connections.ts'
import { endConnection } from './ending.ts'
import { isFull, pipelineOf } from './pipeline.ts'

/** How long an answer may take after the server began to close. */
const DRAIN_TIMEOUT_MS = 8000

/** How long a client may take none of the answers that wait for it. */
const STALL_TIMEOUT_MS = 10_000

/** How much is still read behind the last request that is answered: who sends too many may wait until all ends. */
const EXCESS_BYTES = 64 * 1024

/** How often connections are looked at in that time. */
const LOOKS = 10

/**
 * Watches over the connections of a server:
 *
 * - A client that has sent all that it will (RFC 9112 §9.6, a half-closed connection) still gets its answers.
 * - A client that has too many unanswered requests, or takes no answer for a while, loses its connection.
 * - `app.close()` ends every connection as soon as no answer is pending on it: at once where none is (a connection that
 *   never sent a byte would keep the server open), after the answer where one is, and the rest after the timeout.
 *
 * `connections` has those that are open.
 */
export function watchConnections(
  app: FastifyInstance,
  closed: Pick<ClosedConnections, 'count'>,
  {
    drainTimeout = DRAIN_TIMEOUT_MS,
    stallTimeout = STALL_TIMEOUT_MS,
    connections = new Set<Socket>(),
  }: { drainTimeout?: number; stallTimeout?: number; connections?: Set<Socket> | undefined } = {},
): void {
  const looking = setInterval(look, stallTimeout / LOOKS).unref()

  Object.assign(app.server, { httpAllowHalfOpen: true })
  app.server.on('connection', (connection: Socket) => {
    connections.add(connection)
    connection.once('close', () => connections.delete(connection))
  })
  app.server.on('upgrade', (_request, connection: Socket) => {
    if (isFull(pipelineOf(connection))) closed.count('too many unanswered requests', connection.remoteAddress)
    endConnection(connection, { discard: EXCESS_BYTES })
  })
  app.addHook('preClose', async () => {
    for (const connection of connections) {
      const pipeline = pipelineOf(connection)
      const isIdle = pipeline.unanswered === 0 && !pipeline.isEnding
      if (isIdle || connection.writableFinished) {
        connection.destroy()
        continue
      }
      pipeline.onAnswer ??= () => pipeline.unanswered === 0 && connection.destroySoon()
      // A client that does not end its side of a connection that ends is not waited for.
      connection.once('finish', () => connection.destroy())
    }
    setTimeout(() => app.server.closeAllConnections(), drainTimeout).unref()
  })
  app.addHook('onClose', async () => clearInterval(looking))

  function look(): void {
    for (const connection of connections) {
      if (!isStalled(connection)) continue
      if (connection.writableLength > 0) closed.count('answers not taken', connection.remoteAddress)
      connection.destroy()
    }
  }
}

/** Whether answers wait for the client, or the end does behind all of them, and nothing has moved since many looks. */
function isStalled(connection: Socket): boolean {
  const pipeline = pipelineOf(connection)
  const isWaiting = connection.writableEnded || connection.writableLength > 0
  pipeline.stalls = isWaiting ? pipeline.stalls + 1 : 0
  return pipeline.stalls > LOOKS
}

/**
 * Lets a server end without dropping a request: it takes no new connection, and ends each that it has after the next
 * answer behind which no other request waits. An idle one is left to the client, or to the server's own keep-alive timeout:
 * ending it earlier could meet a request that is on its way. Resolves when the last connection is gone.
 */
export async function retire(server: Server): Promise<void> {
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
  // Not the http server's own close, which ends idle connections.
  net.Server.prototype.close.call(server)
  await once(server, 'close')
}
