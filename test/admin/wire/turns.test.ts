import { setImmediate as turn } from 'node:timers/promises'
import fastify from 'fastify'
import t, { type Test } from 'tap'
import { problemOf, sendProblem } from '../../../src/admin/wire/problem.ts'
import { takeTurns } from '../../../src/admin/wire/turns.ts'

/** An app whose requests take turns. */
function createApp(t: Test) {
  const app = fastify()
  t.teardown(() => app.close())
  takeTurns(app)
  return app
}

t.test('Turns: requests run one at a time, whatever their result, and other work runs in between', async (t) => {
  const app = createApp(t)
  let atWork = 0
  let most = 0
  const order: string[] = []
  app.get<{ Params: { name: string } }>('/:name', async ({ params: { name } }) => {
    most = Math.max(most, ++atWork)
    await turn()
    atWork--
    order.push(name)
    if (name.startsWith('bad')) throw new Error('It failed.')
    return name
  })
  const names = ['a', 'bad', 'b', 'c']
  const answers = await Promise.all(names.map((name) => app.inject(`/${name}`)))
  t.strictSame(
    answers.map(({ statusCode }) => statusCode),
    [200, 500, 200, 200],
  )
  t.strictSame(order, names)
  t.equal(most, 1)
})

t.test('Turns: an unread response or a stream does not block the next request', async (t) => {
  const app = createApp(t)
  const endless = new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from('more follows')) })
  app.get('/stream', (_request, reply) => reply.send(endless))
  app.get('/next', async () => 'next')
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const leaving = new AbortController()
  await fetch(`${address}/stream`, { signal: leaving.signal })
  t.equal(await (await fetch(`${address}/next`)).text(), 'next')
  leaving.abort()
})

t.test('Turns: the queue is limited, and requests whose sender has disconnected are skipped', async (t) => {
  const app = createApp(t)
  app.setErrorHandler((error, _request, reply) => sendProblem(reply, problemOf(error)))
  const { promise: later, resolve: goOn } = Promise.withResolvers<void>()
  let worked = 0
  app.get('/', () => {
    worked++
    return later.then(() => 'done')
  })
  const ask = async () => (await app.inject('/')).statusCode
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const first = ask()
  const leaving = new AbortController()
  const gone = fetch(address, { signal: leaving.signal })
  const closed = new Promise<void>((resolve) => {
    app.server.once('connection', (connection) => connection.once('close', () => resolve()))
  })
  await new Promise<void>((resolve) => app.server.once('request', () => resolve()))
  await turn()
  const others = Array.from({ length: 63 }, ask)
  t.equal(await ask(), 503)
  leaving.abort()
  await t.rejects(gone)
  await closed
  goOn()
  t.equal(await first, 200)
  t.strictSame(new Set(await Promise.all(others)), new Set([200]))
  t.equal(worked, 64)
})
