import type { Socket } from 'node:net'
import fastify from 'fastify'
import type { Test } from 'tap'
import { createMalformedAnswers } from '../../src/http/wire/refuse.ts'
import { COUNTED } from '../../src/listener/answer.ts'
import { malformedReason } from '../../src/listener/malformed.ts'
import { type ProtectOptions, protect } from '../../src/listener/protect.ts'
import { listening, said } from './listening.ts'
import { until } from './until.ts'

export const SLOW = 'GET /slow HTTP/1.1\r\nHost: a\r\n\r\n'
export const LARGE = 'GET /large HTTP/1.1\r\nHost: a\r\n\r\n'
const LARGE_BYTES = 16 * 1024 * 1024

/** A server with an answer that comes when it is told to, and one that no kernel takes in one piece. */
export async function createDoor(t: Test, options?: Pick<ProtectOptions, 'drainTimeout' | 'stallTimeout'>) {
  const answerMalformed = createMalformedAnswers({ observe: () => {} })
  const clientErrorHandler = (error: NodeJS.ErrnoException, socket: Socket) =>
    answerMalformed(malformedReason(error), socket)
  const app = fastify({ return503OnClosing: false, http: COUNTED, clientErrorHandler })
  const { drain, end } = protect(app.server, { observe: () => {}, limits: undefined, answerMalformed, ...options })
  app.addHook('preClose', async () => drain())
  app.addHook('onClose', async () => end())
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
