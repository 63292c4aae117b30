import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { retire } from '../../src/listener/connections.ts'
import { createWorld } from '../support/world.ts'

const LIVE = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n'

async function createListeningWorld(t: Test) {
  const world = await createWorld(t)
  const { port } = new URL(await world.app.listen({ port: 0, host: '127.0.0.1' }))
  const dial = async () => {
    const socket = connect(Number(port), '127.0.0.1')
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    return socket
  }
  return { ...world, dial }
}

t.test('Closing: a request that comes behind one that is being answered is answered as ever', async (t) => {
  const { app, administration, dial } = await createListeningWorld(t)
  const imported = { clientId: 'moved', clientSecret: 'legacy-secret' }
  await administration.register({ name: 'A', developerEmail: 'a@b.example', ...imported })
  // An imported secret takes a while to check.
  const form = 'grant_type=client_credentials&client_id=moved&client_secret=legacy-secret'
  const socket = await dial()
  socket.write(
    `POST /v1/oauth/accesstoken HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n` +
      `Content-Length: ${form.length}\r\n\r\n${form}`,
  )
  await once(app.server, 'request')
  const closed = app.close()
  socket.write(LIVE)
  const answers = await text(socket)
  t.strictSame(answers.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 200'])
  t.match(answers, /^connection: close/im, 'the last one says that it is')
  await closed
})

t.test('Retiring: no new connection; one that is open gets one more answer, which says that it ends', async (t) => {
  const { app, dial } = await createListeningWorld(t)
  const socket = await dial()
  socket.write(LIVE)
  const [first] = await once(socket, 'data')
  t.match(String(first), /^connection: keep-alive/im)

  let retired = false
  const end = retire(app.server).then(() => {
    retired = true
  })
  await t.rejects(dial(), { code: 'ECONNREFUSED' })
  await sleep(50)
  t.equal(retired, false, 'it waits for the connection')
  socket.write(LIVE)
  const second = await text(socket)
  t.match(second, /^HTTP\/1\.1 200 /)
  t.match(second, /^connection: close/im)
  await end
})

t.test('Closing: a connection that never sent a byte ends at once', async (t) => {
  const { app, dial } = await createListeningWorld(t)
  const silent = await dial()
  const closed = app.close()
  const first = await Promise.race([closed.then(() => 'closed'), sleep(3000, 'still waiting', { ref: false })])
  t.equal(first, 'closed')
  t.equal(await text(silent), '')
  await closed
})

t.test('Ending: many requests at once are all answered, by a server that retires and by one that closes', async (t) => {
  for (const how of ['retire', 'close']) {
    const { app, dial, credentials, lines } = await createListeningWorld(t)
    const form = new URLSearchParams(credentials).toString()
    const post =
      'POST /v1/oauth/accesstoken HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n' +
      `Content-Length: ${form.length}\r\n\r\n${form}`
    const [[served], socket] = (await Promise.all([once(app.server, 'connection'), dial()])) as [[Socket], Socket]
    socket.write(post)
    await once(app.server, 'request')
    const requests = once(served, 'data')
    const ended = how === 'retire' ? retire(app.server) : app.close()
    socket.write(post.repeat(24))
    await requests
    const answers = (await text(socket)).match(/HTTP\/1\.1 200/g)?.length
    t.ok(Number(answers) > 0)
    t.equal(answers, lines.filter((line) => line.includes('token issued')).length, how)
    await ended
  }
})
