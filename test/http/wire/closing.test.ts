import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { retire } from '../../../src/http/wire/connections.ts'
import { createDoor, SLOW } from '../../support/door.ts'
import { LIVE, listening, said, statuses, tokenRequest } from '../../support/listening.ts'
import { until } from '../../support/until.ts'
import { createWorld } from '../../support/world.ts'

/** Longer than a test may take. */
const HOUR = 3_600_000

t.test('Closing: a connection that never sent a byte, or half a head, does not delay the end', async (t) => {
  const { app, dial } = await createDoor(t, { drainTimeout: HOUR })
  const received = [said(await dial()), said(await dial(LIVE.slice(0, 20)))]
  await app.close()
  for (const all of await Promise.all(received)) t.notMatch(all, 'HTTP')
})

t.test('Closing: answers that are pending are given, and then the connection ends, kept alive or not', async (t) => {
  for (const count of [1, 2]) {
    const { app, ask, answer } = await createDoor(t, { drainTimeout: HOUR })
    const { received } = await ask(SLOW.repeat(count), count)
    const closed = app.close()
    for (let n = 0; n < count; n++) {
      await nextTurn()
      answer()
    }
    await closed
    const all = await received
    t.match(all, /^HTTP\/1\.1 200 OK.*answered$/s)
    t.strictSame(statuses(all), Array(count).fill(200))
  }
})

t.test('Closing: a request that comes while an answer is pending on its connection is answered too', async (t) => {
  const { app, ask, waiting, answer } = await createDoor(t, { drainTimeout: HOUR })
  const { socket, received } = await ask(SLOW, 1)
  const closed = app.close()
  await nextTurn()
  socket.write(SLOW)
  await until(() => waiting.length === 2)
  answer()
  await nextTurn()
  answer()
  await closed
  t.strictSame(statuses(await received), [200, 200])
})

t.test('Closing: a body that never comes is waited for until the timeout', async (t) => {
  const { app, dial } = await createDoor(t, { drainTimeout: 50 })
  const half = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nhalf'
  const [socket] = await Promise.all([dial(half), once(app.server, 'request')])
  await app.close()
  t.notMatch(await said(socket), '200 OK')
})

t.test('Closing: the last of the answers that are due says that it is', async (t) => {
  const { app, store } = await createWorld(t)
  const { dial } = await listening(t, app)
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

t.test('Closing: a client that was told what is wrong, and does not end its side, is not waited for', async (t) => {
  for (const bytes of ['POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 'x\r\n\r\n']) {
    const { app, dial } = await createDoor(t, { drainTimeout: HOUR, stallTimeout: HOUR })
    const socket = await dial(bytes)
    socket.resume()
    await once(socket, 'end')
    await app.close()
    t.equal(socket.writableEnded, false)
  }
  const { app, dial, waiting, answerAll } = await createDoor(t, { drainTimeout: HOUR, stallTimeout: HOUR })
  const socket = await dial(`${SLOW}x\r\n\r\n`)
  socket.resume()
  await until(() => waiting.length === 1)
  const closed = app.close()
  await nextTurn()
  answerAll()
  await closed
  t.equal(socket.writableEnded, false, 'nor where an answer was pending')
})

t.test('Retiring: no new connection; one that is open gets one more answer, which says that it ends', async (t) => {
  const { app } = await createWorld(t)
  const { dial } = await listening(t, app)
  const socket = await dial(LIVE)
  const [first] = await once(socket, 'data')
  t.match(String(first), /^connection: keep-alive/im)

  let retired = false
  const end = retire(app.server).then(() => {
    retired = true
  })
  await t.rejects(dial(), { code: 'ECONNREFUSED' })
  t.equal(retired, false, 'it waits for the connection')
  socket.write(LIVE)
  t.match(await said(socket), /^HTTP\/1\.1 200 .*^connection: close/ims)
  await end
})

t.test('Ending: many requests at once are all answered, by a server that retires and by one that closes', async (t) => {
  for (const how of ['retire', 'close']) {
    const { app, credentials, lines } = await createWorld(t)
    const { dialed } = await listening(t, app)
    const { socket, served } = await dialed()
    socket.write(tokenRequest(credentials))
    await once(app.server, 'request')
    const requests = once(served, 'data')
    const ended = how === 'retire' ? retire(app.server) : app.close()
    socket.write(tokenRequest(credentials).repeat(24))
    await requests
    const answers = statuses(await said(socket))
    t.equal(answers[0], 200)
    t.equal(answers.length, lines.filter((line) => line.includes('token issued')).length, how)
    await ended
  }
})
