import fastify from 'fastify'
import t, { type Test } from 'tap'
import { createLateAnswers, type Later } from '../../../src/http/wire/late-answers.ts'
import { heard, listening, statuses } from '../../support/listening.ts'
import { until } from '../../support/until.ts'

const FORWARDED = 'X-Forwarded-For: 192.0.2.1\r\n'

/** A server with delayed answers, and their timers. */
async function createWorld(t: Test, { shared = '', capacity = 10 } = {}) {
  const timers: { delay: number; end: () => void }[] = []
  const later: Later = (end, delay, socket) => void timers.push({ delay, end: () => end(socket) })
  const late = createLateAnswers({ isShared: (address) => address === shared, capacity, later })
  const app = fastify({ trustProxy: '127.0.0.1', forceCloseConnections: true })
  let given = 0
  app.get('/', (request, reply) => {
    late.delay(request, reply, () => void reply.send('late'))
    given++
  })
  t.teardown(() => app.close())
  const { dialed } = await listening(t, app)

  /** Sends requests at once on a new connection, and waits until they have arrived. */
  async function send(count = 1, headers = '') {
    const { socket, served } = await dialed()
    const text = heard(socket)
    const answers = () => statuses(text()).length
    async function more(count: number) {
      const all = given + count
      socket.write(`GET / HTTP/1.1\r\nHost: a\r\n${headers}\r\n`.repeat(count))
      await until(() => given === all)
    }
    await more(count)
    return { text, answers, socket, served, more }
  }

  /** Fires the next timer. */
  const wait = () => timers.shift()?.end()
  return { late, timers, wait, send }
}

t.test('Late answers: one is sent after one to two seconds, and the connection continues', async (t) => {
  const { timers, wait, send } = await createWorld(t)
  const sent = await send()
  t.equal(timers.length, 1)
  wait()
  await until(() => sent.answers() === 1)
  t.match(sent.text(), /connection: keep-alive/i)
  const delays = new Set<number>()
  for (let n = 0; n < 20; n++) {
    await sent.more(1)
    delays.add(timers[0]?.delay as number)
    wait()
  }
  await until(() => sent.answers() === 21)
  for (const delay of delays) t.ok(delay >= 1000 && delay < 2000, String(delay))
  t.ok(delays.size > 3, 'and not all after the same time')
})

t.test('Late answers: one waits once more for each throttled request after it', async (t) => {
  const { timers, wait, send } = await createWorld(t)
  const [two, one] = [await send(2), await send()]
  t.equal(timers.length, 2)
  wait()
  wait()
  await until(() => one.answers() === 1)
  t.strictSame([two.answers(), timers.length], [0, 1])
  wait()
  await until(() => two.answers() === 2)
  t.equal(timers.length, 0)
})

t.test('Late answers: on the connection of a proxy, trusted or not, all are sent with the first', async (t) => {
  for (const [shared, headers] of Object.entries({ '': FORWARDED, '127.0.0.1': '' })) {
    const { timers, wait, send } = await createWorld(t, { shared })
    const sent = await send(20, headers)
    wait()
    await until(() => sent.answers() === 20)
    t.equal(timers.length, 0)
  }
})

t.test("Late answers: at capacity one is sent at once, and closes a client's connection", async (t) => {
  const { timers, wait, send } = await createWorld(t, { capacity: 1 })
  const waiting = await send()
  const [proxy, client] = [await send(1, FORWARDED), await send()]
  await until(() => proxy.answers() === 1 && client.socket.readableEnded)
  t.match(proxy.text(), /connection: keep-alive/i)
  t.match(client.text(), /connection: close/i)
  t.equal(waiting.answers(), 0)
  wait()
  await until(() => waiting.answers() === 1)
  const gone = await send(30)
  t.equal(timers.length, 1, 'then one more may wait')
  gone.socket.resetAndDestroy()
  await until(() => gone.served.destroyed)
  wait()
  t.equal(timers.length, 0)
  await send()
  t.equal(timers.length, 1, 'a client that has disconnected does not count')
})

t.test('Late answers: a server that closes sends them at once', async (t) => {
  const { late, wait, send } = await createWorld(t)
  const sent = await send(20)
  t.equal(sent.answers(), 0)
  late.sendAll()
  await until(() => sent.answers() === 20)
  wait()
})
