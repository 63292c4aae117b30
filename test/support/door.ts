import type { Socket } from 'node:net'
import fastify from 'fastify'
import type { Test } from 'tap'
import { COUNTED } from '../../src/http/wire/answer.ts'
import { watchConnections } from '../../src/http/wire/connections.ts'
import { answerMalformed } from '../../src/http/wire/malformed.ts'
import { listening, said } from './listening.ts'
import { until } from './until.ts'

export const SLOW = 'GET /slow HTTP/1.1\r\nHost: a\r\n\r\n'
export const LARGE = 'GET /large HTTP/1.1\r\nHost: a\r\n\r\n'
const LARGE_BYTES = 16 * 1024 * 1024

/** A server with an answer that comes when it is told to, and one that no kernel takes in one piece. */
export async function createDoor(t: Test, options?: Parameters<typeof watchConnections>[2]) {
  const clientErrorHandler = (error: Error, socket: Socket) => answerMalformed({ observe: () => {} }, error, socket)
  const app = fastify({ return503OnClosing: false, http: COUNTED, clientErrorHandler })
  watchConnections(app, { count: () => {} }, options)
  const waiting: (() => void)[] = []
  app.get('/slow', () => new Promise((resolve) => waiting.push(() => resolve('answered'))))
  app.get('/large', async () => 'x'.repeat(LARGE_BYTES))
  app.post('/', async () => 'read')
  t.teardown(() => app.close())
  const { dialed, ...door } = await listening(t, app)

  /** A connection with slow requests, so many of which have arrived, and all that will be said on it. */
  async function ask(bytes: string, requests: number) {
    const { socket, served } = await dialed()
    socket.write(bytes)
    const received = said(socket)
    await until(() => waiting.length === requests)
    return { socket, served, received }
  }

  /** Gives the first of the slow answers. */
  const answer = () => waiting.shift()?.()
  const answerAll = () => {
    while (waiting.length > 0) answer()
  }
  return { app, ...door, dialed, ask, waiting, answer, answerAll }
}
