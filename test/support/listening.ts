import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { connectAs } from './tls.ts'

export const LIVE = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n'

/** The bytes of a POST without a length and without a body; a header is a whole line. */
export function formHead(path = '/v1/oauth/accesstoken', ...headers: string[]): string {
  const lines = ['Host: a', 'Content-Type: application/x-www-form-urlencoded', ...headers]
  return [`POST ${path} HTTP/1.1`, ...lines].map((line) => `${line}\r\n`).join('')
}

/** The bytes of a token request. */
export function tokenRequest(credentials: Record<string, string>, ...headers: string[]): string {
  const form = new URLSearchParams(credentials).toString()
  return `${formHead(undefined, ...headers)}Content-Length: ${form.length}\r\n\r\n${form}`
}

/** A connection to a port, without HTTP in between, that has sent these bytes. */
export async function dialPort(t: Test, port: number, bytes = '', localAddress = '127.0.0.1'): Promise<Socket> {
  const { socket, event } = connectAs(t, { port, host: '127.0.0.1', localAddress, allowHalfOpen: true })
  t.teardown(() => socket.destroy())
  await once(socket, event)
  socket.on('error', () => {})
  if (bytes !== '') socket.write(bytes)
  return socket
}

/** Lets an app listen, and connects to it without HTTP in between. */
export async function listening(t: Test, app: FastifyInstance) {
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))
  const dial = (bytes?: string) => dialPort(t, Number(port), bytes)

  /** All that the server says until it is done. */
  async function exchange(bytes: string): Promise<string> {
    return said(await dial(bytes))
  }

  /** A connection, and the server's end of it. */
  async function dialed(): Promise<{ socket: Socket; served: Socket }> {
    const [[served], socket] = await Promise.all([once(app.server, 'connection'), dial()])
    return { socket, served: served as Socket }
  }
  return { dial, dialed, exchange }
}

/** Returns what was received on a connection from now on. */
export function heard(socket: Socket): () => string {
  let all = ''
  socket.on('data', (chunk) => {
    all += chunk
  })
  return () => all
}

/** All that is said on a connection from now on; what came before a reset, too. */
export async function said(socket: Socket): Promise<string> {
  const all = heard(socket)
  await new Promise((resolve) => socket.once('end', resolve).once('close', resolve))
  socket.end()
  return all()
}

/** The statuses of the answers in a text. */
export function statuses(answers: string): number[] {
  return [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
}
