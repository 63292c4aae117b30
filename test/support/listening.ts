import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'

/** Lets an app listen, and connects to it without HTTP in between. */
export async function listening(t: Test, app: FastifyInstance) {
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))

  /** A connection that has sent these bytes. */
  async function dial(bytes = ''): Promise<Socket> {
    const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    socket.on('error', () => {})
    if (bytes !== '') socket.write(bytes)
    return socket
  }

  /** All that the server says until it is done. */
  const exchange = async (bytes: string) => said(await dial(bytes))
  return { dial, exchange }
}

/** All that is said on a connection from now on; what came before a reset, too. */
export async function said(socket: Socket): Promise<string> {
  let all = ''
  socket.on('data', (chunk) => (all += chunk))
  await new Promise((resolve) => socket.once('end', resolve).once('close', resolve))
  socket.end()
  return all
}

/** The statuses of the answers in a text. */
export function statuses(answers: string): number[] {
  return [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
}
