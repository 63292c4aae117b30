import { once } from 'node:events'
import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { endConnection } from '../../../src/listener/ending.ts'
import { listening, said, statuses } from '../../support/listening.ts'
import { until } from '../../support/until.ts'
import { createWorld } from '../../support/world.ts'

const LIVE = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n'
const MIB = 1024 * 1024

async function createListeningWorld(t: Test) {
  const world = await createWorld(t)
  const form = new URLSearchParams(world.credentials).toString()
  const tokenRequest = (headers = '') =>
    `POST /v1/oauth/accesstoken HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n${headers}` +
    `Content-Length: ${form.length}\r\n\r\n${form}`
  const logged = (message: string) => world.lines.filter((line) => line.includes(`"msg":"${message}"`)).length
  return { ...world, ...(await listening(t, world.app)), tokenRequest, logged }
}

t.test('RFC 9112 §9.6: a client that has sent all that it will still gets its answers', async (t) => {
  const { dial, tokenRequest, logged } = await createListeningWorld(t)
  const socket = await dial()
  socket.end(tokenRequest().repeat(20))
  const answers = await said(socket)
  t.strictSame(statuses(answers), Array(20).fill(200))
  t.equal(answers.match(/"access_token"/g)?.length, 20)
  t.equal(logged('token issued'), 20)
})

t.test(
  'RFC 9112 §9.6: half-closed connections end: without a request, behind one, and in the middle of one',
  async (t) => {
    const { app, dial } = await createListeningWorld(t)
    const cases: [string, number[]][] = [
      ['', []],
      [LIVE, [200]],
      [LIVE + LIVE.slice(0, 20), [200, 400]],
    ]
    for (const [bytes, expected] of cases) {
      const [[served], socket] = (await Promise.all([once(app.server, 'connection'), dial()])) as [[Socket], Socket]
      socket.end(bytes)
      t.strictSame(statuses(await said(socket)), expected)
      await until(() => served.destroyed)
    }
  },
)

t.test('RFC 9112 §2.2: what is not HTTP takes no answer away from the requests before it', async (t) => {
  const { exchange, tokenRequest, logged } = await createListeningWorld(t)
  const answers = await exchange(`${tokenRequest()}SECRET nonsense\r\n\r\n`)
  t.strictSame(statuses(answers), [200, 400])
  t.match(answers, /"access_token".*not HTTP/s)
  t.equal(logged('token issued'), 1)
})

t.test('RFC 9112 §2.2: a body that cannot be read takes no answer away from the requests before it', async (t) => {
  const { exchange, tokenRequest } = await createListeningWorld(t)
  const broken =
    'POST /v1/oauth/revoke HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n' +
    'Transfer-Encoding: chunked\r\n\r\nzz\r\n'
  t.strictSame(statuses(await exchange(tokenRequest() + broken)), [200, 400])
})

t.test('Log: who ends a connection within a body, or sends one that cannot be read, is said once', async (t) => {
  const { app, dial, lines } = await createListeningWorld(t)
  const head =
    'POST /v1/oauth/revoke HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n' +
    'Transfer-Encoding: chunked\r\n\r\n'
  for (const body of ['zz\r\n', '5\r\nab']) {
    const [[served], socket] = (await Promise.all([once(app.server, 'connection'), dial()])) as [[Socket], Socket]
    socket.end(head + body)
    socket.resume()
    await once(served, 'close')
    await sleep(50)
    t.equal(lines.length, 1, body)
    t.match(lines.pop(), /"reason":"not HTTP"/)
  }
})

t.test('Closing: a client that was told what is wrong, and does not end its side, is not waited for', async (t) => {
  for (const bytes of [
    'POST /v1/oauth/revoke HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    'x\r\n\r\n',
  ]) {
    const { app, dial } = await createListeningWorld(t)
    const socket = await dial(bytes)
    socket.resume()
    await once(socket, 'end')
    const closed = app.close()
    t.equal(await Promise.race([closed.then(() => 'closed'), sleep(5000, 'still waiting', { ref: false })]), 'closed')
  }
})

t.test('RFC 9112 §9.6: nothing follows the answer that is the last', async (t) => {
  const { exchange, tokenRequest, lines } = await createListeningWorld(t)
  const last = tokenRequest('Connection: close\r\n')
  for (const more of [LIVE, 'nonsense\r\n\r\n']) t.strictSame(statuses(await exchange(last + more)), [200])
  t.notMatch(lines.join(''), /not HTTP/)
})

t.test('RFC 9110 §15.5.9: a request that was answered before its body came is not answered again', async (t) => {
  const { app, dial, lines } = await createListeningWorld(t)
  const connected = once(app.server, 'connection')
  const socket = await dial('POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n')
  const [served] = await connected
  const answers = said(socket)
  await once(socket, 'data')
  app.server.emit('clientError', Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), served)
  t.strictSame(statuses(await answers), [404])
  t.equal(lines.length, 1)
})

t.test('RFC 9110 §9.3.6: CONNECT is refused behind the answers that are due', async (t) => {
  const { exchange, tokenRequest } = await createListeningWorld(t)
  t.strictSame(statuses(await exchange(`${tokenRequest()}CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n`)), [200, 400])
})

t.test('RFC 9110 §7.8: what asks for another protocol is answered in this one', async (t) => {
  const { exchange } = await createListeningWorld(t)
  const upgrade = LIVE.replace('\r\n\r\n', '\r\nUpgrade: h2c\r\nConnection: close, Upgrade\r\n\r\n')
  t.strictSame(statuses(await exchange(upgrade)), [200])
})

t.test('Bodies: one that nobody will read is not swallowed, and the client reads why', async (t) => {
  const { app, dial } = await createListeningWorld(t)
  const heads = {
    'of a known length': 'Content-Length: 1073741824',
    'in chunks': 'Transfer-Encoding: chunked',
  }
  for (const [what, header] of Object.entries(heads)) {
    const connected = once(app.server, 'connection')
    const socket = await dial(`POST /v1/oauth/accesstoken HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n`)
    const [served] = (await connected) as [Socket]
    const answer = said(socket)
    const chunk = `${(MIB / 16).toString(16)}\r\n${'x'.repeat(MIB / 16)}\r\n`
    const pump = () => {
      while (!socket.destroyed && socket.write(chunk));
    }
    socket.on('drain', pump)
    pump()
    t.match(await answer, /^HTTP\/1\.1 400 .*^connection: close.*x-www-form-urlencoded/ims, what)
    socket.destroy()
    t.ok(served.bytesRead < 2 * MIB, `${what}: ${served.bytesRead} bytes`)
  }
})

t.test('Bodies: behind a short one that is not read, the connection goes on', async (t) => {
  const { dial } = await createListeningWorld(t)
  const socket = await dial('POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n')
  await once(socket, 'data')
  socket.end(`hello${LIVE}`)
  t.strictSame(statuses(await said(socket)), [200])
})

t.test('Ending: to a client that is gone nothing is said', async (t) => {
  t.equal(endConnection(new Socket().destroy(), { farewell: 'farewell' }), false)
})
