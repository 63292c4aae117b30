import { once } from 'node:events'
import { type AddressInfo, Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fastify from 'fastify'
import type { Test } from 'tap'
import { createMalformedAnswers } from '../../../src/http/wire/refuse.ts'
import { serverOptions } from '../../../src/listener/answer.ts'
import { endConnection } from '../../../src/listener/malformed.ts'
import { handleOf, pipelineOf } from '../../../src/listener/pipeline.ts'
import { type ProtectOptions, protect, retire } from '../../../src/listener/protect.ts'
import { dialPort, formHead, heard, LIVE, listening, said, statuses, tokenRequest } from '../../support/listening.ts'
import { testBoth, tlsOf } from '../../support/tls.ts'
import { until } from '../../support/until.ts'
import { createWorld, createWorldWithFile } from '../../support/world.ts'

const MIB = 1024 * 1024
/** Longer than a test may take. */
const HOUR = 3_600_000
const NOT_A_CHUNK = `${formHead('/v1/oauth/revoke')}Transfer-Encoding: chunked\r\n\r\nzz\r\n`
const SLOW = 'GET /slow HTTP/1.1\r\nHost: a\r\n\r\n'
const LARGE = 'GET /large HTTP/1.1\r\nHost: a\r\n\r\n'
const LARGE_BYTES = 32 * MIB
const TOO_SLOW = Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })

async function createListeningWorld(t: Test) {
  const world = await createWorld(t)
  let requests = 0
  world.app.server.on('request', () => requests++)
  return {
    ...world,
    ...(await listening(t, world.app)),
    token: tokenRequest(world.credentials),
    lastToken: tokenRequest(world.credentials, 'Connection: close'),
    issued: () => world.lines.filter((line) => line.includes('"msg":"token issued"')).length,
    requests: () => requests,
  }
}

type DoorOptions = Pick<ProtectOptions, 'drainTimeout' | 'stallTimeout' | 'manyConnections'>

/** A server with an answer that the test releases, and one that is too large for a kernel's buffer. */
async function createDoor(t: Test, options?: DoorOptions) {
  const answerMalformed = createMalformedAnswers({ observe: () => {} })
  const app = fastify({ return503OnClosing: false, http: serverOptions(HOUR) })
  const drain = protect(app.server, {
    observe: () => {},
    limits: undefined,
    answerMalformed,
    tls: tlsOf(t),
    ...options,
  })
  app.addHook('preClose', async () => drain())
  const waiting: (() => void)[] = []
  app.get('/slow', () => new Promise((resolve) => waiting.push(() => resolve('answered'))))
  app.get('/large', async () => 'x'.repeat(LARGE_BYTES))
  app.get('/endless', (_request, reply) => reply.send(Readable.from(endlessly('x'.repeat(64 * 1024)))))
  app.post('/', async () => 'read')
  t.teardown(() => app.close())
  const { dialed, ...door } = await listening(t, app)

  /** Sends slow requests and waits for this many to arrive. `received` resolves to all answers of the connection. */
  async function ask(bytes: string, requests: number) {
    const { socket, served } = await dialed()
    socket.write(bytes)
    const received = said(socket)
    await until(() => waiting.length === requests)
    return { socket, served, received }
  }

  /** Sends the first of the slow answers. */
  const answer = () => waiting.shift()?.()
  const answerAll = () => {
    while (waiting.length > 0) answer()
  }

  /** A client that has asked for something, and takes nothing of it. */
  async function askDeaf(bytes: string) {
    const { socket, served } = await dialed()
    socket.pause()
    socket.write(bytes)
    return { socket, served, pipeline: pipelineOf(served) }
  }
  return { app, ...door, dialed, ask, askDeaf, waiting, answer, answerAll }
}

function* endlessly(text: string): Generator<string> {
  for (;;) yield text
}

testBoth('Log: invalid HTTP has a line without any of its bytes', async (t) => {
  const { exchange, lines, logged } = await createListeningWorld(t)
  t.match(await exchange('SECRET nonsense\r\n\r\n'), /^HTTP\/1\.1 400 /)
  t.match(await exchange(`GET / HTTP/1.1\r\nHost: a\r\nX: ${'SECRET'.repeat(5000)}\r\n\r\n`), /^HTTP\/1\.1 431 /)
  t.notMatch(lines.join(''), /SECRET/)
  const line = { msg: 'request refused', remote_address: '127.0.0.1' }
  const reasons = { 'not HTTP': 400, 'headers too large': 431 }
  const expected = Object.entries(reasons).map(([reason, status]) => ({ ...line, reason, status }))
  t.match(logged(), expected)
})

testBoth('RFC 9110 §15.5.9: a request that takes too long gets 408, and the rest is not read', async (t) => {
  const { dialed, requests } = await createListeningWorld(t)
  const { socket, served } = await dialed()
  const answerMalformed = createMalformedAnswers({ observe: () => {} })
  answerMalformed('request too slow', served)
  answerMalformed('not HTTP', served)
  const arrived = once(served, 'data')
  socket.write(LIVE)
  await arrived
  t.match(await said(socket), /^HTTP\/1\.1 408 Request Timeout\r\n/)
  t.equal(requests(), 0)
})

testBoth('RFC 9110 §15.5.9: a request that was answered before its body arrived is not answered again', async (t) => {
  const { app, dialed, lines } = await createListeningWorld(t)
  const { socket, served } = await dialed()
  socket.write('POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n')
  const answers = said(socket)
  await once(socket, 'data')
  app.server.emit('clientError', TOO_SLOW, served)
  t.strictSame(statuses(await answers), [404])
  t.equal(lines.length, 1)
})

testBoth('RFC 9112 §9.6: a client that has closed its sending side still gets its answers', async (t) => {
  const { dialed, token, issued } = await createListeningWorld(t)
  const cases: [what: string, bytes: string, answers: number[]][] = [
    ['no request', '', []],
    ['one request', LIVE, [200]],
    ['half a request', LIVE + LIVE.slice(0, 20), [200, 400]],
    ['many requests', token.repeat(20), Array(20).fill(200)],
  ]
  for (const [what, bytes, expected] of cases) {
    const { socket, served } = await dialed()
    socket.end(bytes)
    t.strictSame(statuses(await said(socket)), expected, what)
    await until(() => served.destroyed)
  }
  t.equal(issued(), 20)
})

testBoth('RFC 9112 §2.2, §9.6: pending answers are sent before a connection ends, and nothing after it', async (t) => {
  const { exchange, token, lastToken, lines, issued } = await createListeningWorld(t)
  const cases: [what: string, bytes: string, answers: number[]][] = [
    ['nothing follows the last answer', lastToken + LIVE, [200]],
    ['nor does a refusal', `${lastToken}nonsense\r\n\r\n`, [200]],
    ['RFC 9110 §9.3.6: CONNECT is refused', `${token}CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n`, [200, 400]],
    ['a body that cannot be read', token + NOT_A_CHUNK, [200, 400]],
    ['what is not HTTP', `${token}nonsense\r\n\r\n`, [200, 400]],
    ['requests behind 32 unanswered ones', token.repeat(33), Array(32).fill(200)],
  ]
  for (const [what, bytes, expected] of cases) t.strictSame(statuses(await exchange(bytes)), expected, what)
  t.equal(issued(), 5 + 32, 'no token is issued after the end')
  t.equal(lines.filter((line) => line.includes('not HTTP')).length, 3)
})

testBoth('Log: a connection that ends within a body, or a malformed body, is reported once', async (t) => {
  const { dialed, exchange, lastToken, lines } = await createListeningWorld(t)
  for (const bytes of [NOT_A_CHUNK, NOT_A_CHUNK.replace('zz\r\n', '5\r\nab')]) {
    for (const how of ['end', 'destroySoon'] as const) {
      const { socket, served } = await dialed()
      socket.write(bytes)
      socket[how]()
      socket.resume()
      await once(served, 'close')
      await exchange(lastToken)
      const said = lines.splice(0)
      t.equal(said.length, 2)
      t.match(said, [/"reason":"not HTTP"/, /token issued/], how)
    }
  }
})

testBoth('Bodies: an unwanted long one is not read; after a short one the connection continues', async (t) => {
  const { dial, dialed } = await createListeningWorld(t)
  for (const header of ['Content-Length: 1073741824', 'Transfer-Encoding: chunked']) {
    const { socket, served } = await dialed()
    socket.write(`POST /v1/oauth/accesstoken HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n`)
    const answer = said(socket)
    const chunk = `${(MIB / 16).toString(16)}\r\n${'x'.repeat(MIB / 16)}\r\n`
    const pump = () => {
      while (!socket.destroyed && socket.write(chunk));
    }
    socket.on('drain', pump)
    pump()
    t.match(await answer, /^HTTP\/1\.1 400 .*^connection: close.*x-www-form-urlencoded/ims, header)
    socket.destroy()
    t.ok(served.bytesRead < 2 * MIB, `${header}: ${served.bytesRead} bytes`)
  }
  const socket = await dial('POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n')
  await once(socket, 'data')
  socket.end(`hello${LIVE}`)
  t.strictSame(statuses(await said(socket)), [200])
})

testBoth('Pipelining: 32 unanswered requests at a time, and any number in turn', async (t) => {
  const { dial } = await createListeningWorld(t)
  const socket = await dial()
  const answers = heard(socket)
  for (let sent = 32; sent <= 96; sent += 32) {
    socket.write(LIVE.repeat(32))
    await until(() => statuses(answers()).length === sent)
  }
  t.strictSame(new Set(statuses(answers())), new Set([200]))
  t.equal(socket.readableEnded, false)
})

testBoth('Pipelining: pending answers are sent before the end, even if a client keeps sending', async (t) => {
  for (const more of [Buffer.from(SLOW.repeat(7)), Buffer.alloc(16 * MIB)]) {
    const { ask, answerAll } = await createDoor(t)
    const { socket, served, received } = await ask(SLOW.repeat(33), 32)
    socket.write(more)
    if (more.length > MIB) await until(() => served.isPaused())
    answerAll()
    t.equal(statuses(await received).length, 32)
    socket.destroy()
    t.ok(served.bytesRead < 2 * MIB)
  }
})

testBoth('Turns: while a slow store has many unanswered writes, others wait, and checks do not', async (t) => {
  const { app, credentials, other, issuer } = await createWorldWithFile(t)
  const { dial } = await listening(t, app)
  const requests = tokenRequest(credentials).repeat(31) + tokenRequest(credentials, 'Connection: close')
  other.exec('BEGIN IMMEDIATE')
  const answers = Promise.all(Array.from({ length: 40 }, async () => said(await dial(requests))))
  await until(() => issuer.isBusy())
  const { port } = app.server.address() as AddressInfo
  const introspection =
    'POST /v1/oauth/introspect HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\n'
  const forwarded = 'POST /v1/oauth/verify/store HTTP/1.1\r\nHost: a\r\n'
  const checks = [LIVE.replace(/\r\n$/, ''), introspection, forwarded].map(async (check) =>
    said(await dialPort(t, port, `${check}Connection: close\r\n\r\n`, '127.0.0.2')),
  )
  t.same((await Promise.all(checks)).flatMap(statuses), [200, 401, 401])
  t.ok(issuer.isBusy())
  other.exec('ROLLBACK')
  t.same(statuses((await answers).join('')), Array(40 * 32).fill(200))
  t.notOk(issuer.isBusy())
})

testBoth('Pipelining: in a crowd a connection that sends more ends soon, and no more of it is read', async (t) => {
  const { dialed, answerAll } = await createDoor(t, { stallTimeout: HOUR, manyConnections: 8 })
  const clients: Awaited<ReturnType<typeof dialed>>[] = []
  for (let n = 0; n < 8; n++) clients.push(await dialed())
  for (const { socket } of clients) socket.write(SLOW.repeat(32))
  const ended = () => clients.find(({ served }) => pipelineOf(served).isEnding)
  await until(() => ended() !== undefined)
  const { served } = ended() as (typeof clients)[number]
  for (const { socket } of clients) socket.on('error', () => {}).write(Buffer.alloc(2 * MIB))
  let kept = 0
  await until(() => {
    answerAll()
    kept = Math.max(kept, ...clients.map((client) => client.served.readableLength))
    return served.destroyed
  })
  t.equal(kept, 0)
  t.ok(served.bytesRead < MIB, 'not even what another connection may send ahead')
})

testBoth('Unread answers: a client that reads none for a while loses its connection; an idle one stays', async (t) => {
  const { dialed, askDeaf } = await createDoor(t, { stallTimeout: 300 })
  const [idle, deaf] = [await dialed(), await askDeaf(LARGE)]
  await until(() => deaf.served.destroyed)
  t.equal(idle.served.destroyed, false)
})

testBoth('Unread answers: a client that reads slowly keeps its connection, for many times as long', async (t) => {
  const { askDeaf } = await createDoor(t, { stallTimeout: 100 })
  const { socket, served, pipeline } = await askDeaf('GET /endless HTTP/1.1\r\nHost: a\r\n\r\n')
  for (let pauses = 0; pauses < 15; pauses++) {
    await until(() => pipeline.stalls > 0)
    socket.resume()
    await until(() => pipeline.stalls === 0 || served.destroyed)
    socket.pause()
  }
  t.equal(served.destroyed, false)
})

testBoth('Unread answers: a client that reads one large piece slowly keeps its connection', async (t) => {
  const { askDeaf } = await createDoor(t, { stallTimeout: 100 })
  const { socket, served, pipeline } = await askDeaf(LARGE)
  for (let pauses = 0; pauses < 4; pauses++) {
    await until(() => pipeline.stalls > 2)
    for (let bytes = 0; bytes < 4 * MIB; ) {
      socket.resume()
      const [chunk] = await once(socket, 'data')
      socket.pause()
      bytes += chunk.length
    }
    await until(() => pipeline.stalls === 0 || served.destroyed)
  }
  t.strictSame([served.destroyed, pipeline.unanswered], [false, 1])
})

testBoth('Unread answers: a client that takes little at a time, and never nothing, loses its connection', async (t) => {
  const { askDeaf } = await createDoor(t, { stallTimeout: 100 })
  const { served, pipeline } = await askDeaf(LARGE)
  await until(() => pipeline.stalls > 0)
  let taken = pipeline.taken
  const get = () => (handleOf(served)?.bytesWritten ?? 0) - taken++
  Object.defineProperty(handleOf(served), 'writeQueueSize', { get })
  await until(() => served.destroyed)
})

testBoth('Ending: reads at most one more mebibyte, waits for every answer, and for no client to close', async (t) => {
  const { dialed, ask, answerAll } = await createDoor(t, { stallTimeout: 50 })
  const { received } = await ask(SLOW.repeat(33), 32)
  for (const more of [0, 16 * MIB, 0]) {
    const { socket, served } = await dialed()
    socket.write('nonsense\r\n\r\n')
    const answers = heard(socket)
    socket.write(Buffer.alloc(more))
    // The connection that waits for its answers is checked as often.
    await until(() => served.destroyed)
    t.strictSame([statuses(answers()), socket.writableEnded], [[400], false])
    t.ok(served.bytesRead < 2 * MIB)
  }
  answerAll()
  t.equal(statuses(await received).length, 32)
  const isSent = endConnection(new Socket().destroy(), { finalResponse: 'final' })
  t.equal(isSent, false, 'nothing is sent to a client that has disconnected')
})

testBoth('Closing: a connection without a byte, or with half a request head, does not delay the end', async (t) => {
  const { app, dial } = await createDoor(t, { drainTimeout: HOUR })
  const received = [said(await dial()), said(await dial(LIVE.slice(0, 20)))]
  await app.close()
  for (const all of await Promise.all(received)) t.notMatch(all, 'HTTP')
})

testBoth('Closing: requests before the last pending answer are answered, and then the connection ends', async (t) => {
  for (const [before, after] of [
    [1, 0],
    [2, 0],
    [1, 1],
  ] as const) {
    const { app, ask, waiting, answer } = await createDoor(t, { drainTimeout: HOUR })
    const { socket, received } = await ask(SLOW.repeat(before), before)
    const closed = app.close()
    if (after > 0) {
      await nextTurn()
      socket.write(SLOW)
      await until(() => waiting.length === before + after)
    }
    for (let n = 0; n < before + after; n++) {
      await nextTurn()
      answer()
    }
    await closed
    const all = await received
    t.match(all, /^HTTP\/1\.1 200 OK.*answered$/s)
    t.strictSame(statuses(all), Array(before + after).fill(200))
  }
})

testBoth('Closing: waits for a body that never arrives until the timeout', async (t) => {
  const { app, dial } = await createDoor(t, { drainTimeout: 50 })
  const half = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nhalf'
  const [socket] = await Promise.all([dial(half), once(app.server, 'request')])
  await app.close()
  t.notMatch(await said(socket), '200 OK')
})

testBoth('Closing: the last of the pending answers has Connection: close', async (t) => {
  const { app, store, dial } = await createListeningWorld(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  Object.assign(store, { ping: () => promise })
  const [socket] = await Promise.all([dial(LIVE.replace('live', 'ready')), once(app.server, 'request')])
  const closed = app.close()
  socket.write(LIVE)
  await once(app.server, 'request')
  resolve()
  const answers = await said(socket)
  t.strictSame(statuses(answers), [200, 200])
  t.strictSame(answers.match(/^connection: close/gim)?.length, 1)
  await closed
})

testBoth('Closing: does not wait for a client that got an error and does not close its side', async (t) => {
  for (const bytes of [NOT_A_CHUNK.replace('/v1/oauth/revoke', '/'), 'x\r\n\r\n', `${SLOW}x\r\n\r\n`]) {
    const { app, dial, waiting, answerAll } = await createDoor(t, { drainTimeout: HOUR, stallTimeout: HOUR })
    const socket = await dial(bytes)
    socket.resume()
    const isPending = bytes.startsWith(SLOW)
    await (isPending ? until(() => waiting.length === 1) : once(socket, 'end'))
    const closed = app.close()
    await nextTurn()
    answerAll()
    await closed
    t.equal(socket.writableEnded, false, bytes)
  }
})

testBoth('Retiring: no new connection; an open one gets one more answer, with Connection: close', async (t) => {
  const { app, dial } = await createListeningWorld(t)
  const socket = await dial(LIVE)
  const [first] = await once(socket, 'data')
  t.match(String(first), /^connection: keep-alive/im)

  let retired = false
  const end = retire(app.server).then(() => (retired = true))
  await t.rejects(dial(), { code: 'ECONNREFUSED' })
  t.equal(retired, false, 'it waits for the connection')
  socket.write(LIVE)
  t.match(await said(socket), /^HTTP\/1\.1 200 .*^connection: close/ims)
  await end
})

testBoth('Retiring: after an answer with Connection: close, no other request is read', async (t) => {
  const { app, ask, answer } = await createDoor(t)
  const { socket, served, received } = await ask(SLOW, 1)
  const retired = retire(app.server)
  socket.write(LARGE)
  await until(() => pipelineOf(served).last?.writableEnded === true)
  let requests = 0
  app.server.on('request', () => requests++)
  socket.write(SLOW)
  await until(() => pipelineOf(served).isEnding)
  answer()
  t.strictSame(statuses(await received), [200, 200])
  t.equal(requests, 0)
  await retired
})

testBoth(
  'Ending: many requests at once are all answered, by a server that retires and by one that closes',
  async (t) => {
    for (const how of ['retire', 'close']) {
      const { app, token, issued, dialed } = await createListeningWorld(t)
      const { socket, served } = await dialed()
      socket.write(token)
      await once(app.server, 'request')
      const requests = once(served, 'data')
      const ended = how === 'retire' ? retire(app.server) : app.close()
      socket.write(token.repeat(24))
      await requests
      const answers = statuses(await said(socket))
      t.equal(answers[0], 200)
      t.equal(answers.length, issued(), how)
      await ended
    }
  },
)
