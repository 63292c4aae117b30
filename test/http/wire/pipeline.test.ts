import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fastify from 'fastify'
import t, { type Test } from 'tap'
import { COUNTED } from '../../../src/listener/answer.ts'
import { retire, watchConnections } from '../../../src/listener/connections.ts'
import { answerMalformed } from '../../../src/http/wire/malformed.ts'
import { pipelineOf } from '../../../src/listener/pipeline.ts'
import { listening, said, statuses } from '../../support/listening.ts'
import { until } from '../../support/until.ts'
import { createWorld } from '../../support/world.ts'

const LIVE = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n'
const SLOW = 'GET /slow HTTP/1.1\r\nHost: a\r\n\r\n'
const LARGE = 'GET /large HTTP/1.1\r\nHost: a\r\n\r\n'
const MIB = 1024 * 1024

/** A server with an answer that comes when it is told to, and one that no kernel takes in one piece. */
async function createDoor(t: Test, options?: Parameters<typeof watchConnections>[2]) {
  const clientErrorHandler = (error: Error, socket: Socket) => answerMalformed({ observe: () => {} }, error, socket)
  const app = fastify({ http: COUNTED, clientErrorHandler })
  watchConnections(app, { count: () => {} }, options)
  const waiting: (() => void)[] = []
  const sockets: Socket[] = []
  app.server.on('connection', (socket: Socket) => sockets.push(socket))
  app.get('/slow', () => new Promise((resolve) => waiting.push(() => resolve('answered'))))
  app.get('/large', async () => 'x'.repeat(16 * MIB))
  t.teardown(() => app.close())
  return { app, ...(await listening(t, app)), sockets, waiting }
}

t.test('Pipelining: what is read at once is answered as far as 32 requests, in order; then the end', async (t) => {
  const { app } = await createWorld(t)
  const { exchange } = await listening(t, app)
  let requests = 0
  app.server.on('request', () => requests++)
  const first = 'GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n'
  const answers = statuses(await exchange(first + LIVE.repeat(1500)))
  t.strictSame(answers, [404, ...Array(31).fill(200)])
  t.equal(requests, 32, 'the others were not even looked at')
})

t.test('Pipelining: 32 unanswered requests at a time, and any number one after the other', async (t) => {
  const { app } = await createWorld(t)
  const { dial } = await listening(t, app)
  const socket = await dial()
  let answers = ''
  socket.on('data', (chunk) => {
    answers += chunk
  })
  for (let sent = 32; sent <= 160; sent += 32) {
    socket.write(LIVE.repeat(32))
    await until(() => statuses(answers).length === sent)
  }
  t.strictSame(new Set(statuses(answers)), new Set([200]))
  t.equal(socket.readableEnded, false)
})

t.test('Pipelining: answers that are not ready yet leave before the connection ends', async (t) => {
  const { dial, waiting } = await createDoor(t)
  const socket = await dial(SLOW.repeat(40))
  await until(() => waiting.length === 32)
  const answers = said(socket)
  for (const answer of waiting) answer()
  t.equal(statuses(await answers).length, 32)
})

t.test('Pipelining: a token that was asked for behind too many others is not issued', async (t) => {
  const { app, lines, credentials } = await createWorld(t)
  const { exchange } = await listening(t, app)
  const form = new URLSearchParams(credentials).toString()
  const post = `POST /v1/oauth/accesstoken HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${form.length}\r\n\r\n${form}`
  const answers = await exchange(post.repeat(32) + post + LIVE)
  t.equal(statuses(answers).length, 32)
  t.equal(lines.filter((line) => line.includes('token issued')).length, 32)
})

t.test('Unread answers: who takes none for a while loses the connection; an idle one stays', async (t) => {
  const { dial, sockets } = await createDoor(t, { stallTimeout: 200 })
  const idle = await dial()
  await until(() => sockets.length === 1)
  const deaf = await dial()
  await until(() => sockets.length === 2)
  deaf.pause()
  deaf.write(LARGE)
  await once(sockets[1] as Socket, 'close')
  t.equal((sockets[0] as Socket).destroyed, false)
  t.equal(idle.readableEnded, false)
})

t.test('Unread answers: a connection that was ended is not waited for longer either', async (t) => {
  const { dial, sockets } = await createDoor(t, { stallTimeout: 200 })
  const socket = await dial('nonsense\r\n\r\n')
  socket.resume()
  await once(socket, 'end')
  // It does not end its side.
  await until(() => sockets[0]?.destroyed === true)
  t.pass()
})

t.test('Unread answers: a connection that was ended is not closed while its answers are not ready', async (t) => {
  const { dial, waiting } = await createDoor(t, { stallTimeout: 200 })
  const socket = await dial(SLOW.repeat(33))
  await until(() => waiting.length === 32)
  const answers = said(socket)
  await sleep(800)
  for (const answer of waiting) answer()
  t.equal(statuses(await answers).length, 32)
})

t.test('Retiring: behind an answer that says that it is the last, no other request is read', async (t) => {
  const { app, dial, sockets, waiting } = await createDoor(t)
  const socket = await dial(SLOW)
  await until(() => waiting.length === 1)
  const retired = retire(app.server)
  socket.write(LARGE)
  await until(() => pipelineOf(sockets[0] as Socket).last?.writableEnded === true)
  let requests = 0
  app.server.on('request', () => requests++)
  const answers = said(socket)
  socket.write(SLOW)
  await until(() => pipelineOf(sockets[0] as Socket).isEnding)
  waiting[0]?.()
  t.strictSame(statuses(await answers), [200, 200])
  t.equal(requests, 0)
  await retired
})

t.test(
  'Ending: at most a mebibyte more is read, and then the client is waited for no longer than others',
  async (t) => {
    const { dial, sockets } = await createDoor(t, { stallTimeout: 200 })
    const socket = await dial('nonsense\r\n\r\n')
    const answer = said(socket)
    socket.write(Buffer.alloc(16 * MIB))
    t.strictSame(statuses(await answer), [400])
    await until(() => sockets[0]?.destroyed === true)
    t.ok((sockets[0] as Socket).bytesRead < 2 * MIB)
  },
)

t.test('Ending: the answers that are due leave, even if a client sends more than is read', async (t) => {
  const { dial, sockets, waiting } = await createDoor(t)
  const socket = await dial(SLOW.repeat(32) + SLOW)
  await until(() => waiting.length === 32)
  const answers = said(socket)
  socket.write(Buffer.alloc(16 * MIB))
  await until(() => sockets[0]?.isPaused() === true)
  for (const answer of waiting) answer()
  t.equal(statuses(await answers).length, 32)
  socket.destroy()
  t.ok((sockets[0] as Socket).bytesRead < 2 * MIB)
})
