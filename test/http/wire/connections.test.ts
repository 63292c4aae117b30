import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fastify from 'fastify'
import t, { type Test } from 'tap'
import { COUNTED } from '../../../src/listener/answer.ts'
import { watchConnections } from '../../../src/listener/connections.ts'

/** A server that answers when it is told to. */
async function createDoor(t: Test, options?: Parameters<typeof watchConnections>[2]) {
  const app = fastify({ return503OnClosing: false, http: COUNTED })
  watchConnections(app, { count: () => {} }, options)
  const waiting: (() => void)[] = []
  app.get('/', () => new Promise((resolve) => waiting.push(() => resolve('answered'))))
  app.post('/', async () => 'read')
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))
  t.teardown(() => app.close())
  const dial = async (bytes = '') => {
    const socket = connect(Number(port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(bytes)
    return { send: (more: string) => socket.write(more), received: text(socket).catch(() => 'reset') }
  }
  const until = async (count: number) => {
    while (waiting.length < count) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return { app, dial, until, answer: () => waiting.shift()?.() }
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

t.test('Closing: a connection that never sent a byte, or half a head, does not delay the end', async (t) => {
  const { app, dial } = await createDoor(t)
  const [silent, half] = [await dial(), await dial(GET.slice(0, 20))]
  await app.close()
  t.notMatch(await silent.received, 'HTTP')
  t.notMatch(await half.received, 'HTTP')
})

t.test('Closing: an answer that is pending is given, and then the connection ends, kept alive or not', async (t) => {
  const { app, dial, until, answer } = await createDoor(t)
  const client = await dial(GET)
  await until(1)
  const closed = app.close()
  setTimeout(answer, 50)
  await closed
  t.match(await client.received, /^HTTP\/1\.1 200 OK.*answered$/s)
})

t.test('Closing: two requests in a row on one connection are both answered', async (t) => {
  const { app, dial, until, answer } = await createDoor(t)
  const client = await dial(GET + GET)
  await until(2)
  const closed = app.close()
  setTimeout(answer, 20)
  setTimeout(answer, 50)
  await closed
  t.equal((await client.received).match(/HTTP\/1\.1 200 OK/g)?.length, 2)
})

t.test('Closing: a request that comes while an answer is pending on its connection is answered too', async (t) => {
  const { app, dial, until, answer } = await createDoor(t)
  const client = await dial(GET)
  await until(1)
  const closed = app.close()
  await nextTurn()
  client.send(GET)
  await until(2)
  answer()
  setTimeout(answer, 50)
  await closed
  t.equal((await client.received).match(/HTTP\/1\.1 200 OK/g)?.length, 2)
})

t.test('Closing: a body that never comes is waited for until the timeout', async (t) => {
  const { app, dial } = await createDoor(t, { drainTimeout: 50 })
  const client = await dial('POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nhalf')
  await once(app.server, 'request')
  await app.close()
  t.notMatch(await client.received, '200 OK')
})
