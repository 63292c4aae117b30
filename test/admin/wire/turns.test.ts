import { setImmediate as turn } from 'node:timers/promises'
import fastify from 'fastify'
import t from 'tap'
import { takeTurns } from '../../../src/admin/wire/turns.ts'

t.test(
  'Turns: one request is worked on at a time, whatever becomes of it, and others get a turn between',
  async (t) => {
    const app = fastify()
    t.teardown(() => app.close())
    takeTurns(app)
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
  },
)

t.test('Turns: an answer that nobody takes, and a stream, do not keep the next request waiting', async (t) => {
  const app = fastify()
  t.teardown(() => app.close())
  takeTurns(app)
  const endless = new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from('more follows')) })
  app.get('/stream', (_request, reply) => reply.send(endless))
  app.get('/next', async () => 'next')
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const leaving = new AbortController()
  await fetch(`${address}/stream`, { signal: leaving.signal })
  t.equal(await (await fetch(`${address}/next`)).text(), 'next')
  leaving.abort()
})
