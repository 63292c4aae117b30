import { connect } from 'node:net'
import fastify from 'fastify'
import t, { type Test } from 'tap'
import { createLateAnswers } from '../../../src/http/wire/late-answers.ts'
import { until } from '../../support/until.ts'

const DELAY_MS = 1000

/** A server whose answers are late, on a port of its own. */
async function createWorld(t: Test, { shared = '', capacity = 10 } = {}) {
  const late = createLateAnswers({ isShared: (address) => address === shared, capacity })
  const app = fastify({ trustProxy: '127.0.0.1', forceCloseConnections: true })
  app.get('/', (request, reply) => late.give(request, reply, () => void reply.send('late')))
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  t.teardown(() => app.close())

  /** Sends requests on a connection of their own, all at once. */
  function send(count = 1, headers = '') {
    const socket = connect(Number(port), '127.0.0.1')
    const startedAt = performance.now()
    const sent = { text: '', answers: 0, times: [] as number[], isClosed: false, socket }
    socket.write(`GET / HTTP/1.1\r\nHost: a\r\n${headers}\r\n`.repeat(count))
    socket.on('data', (data) => {
      sent.text += data
      sent.answers = sent.text.split('HTTP/1.1 200').length - 1
      sent.times.push(performance.now() - startedAt)
    })
    socket.on('close', () => {
      sent.isClosed = true
    })
    t.teardown(() => socket.destroy())
    return sent
  }

  return { late, send }
}

t.test('Late answers: an answer leaves after a second, and the connection goes on', async (t) => {
  const { send } = await createWorld(t)
  const sent = send()
  await until(() => sent.answers === 1)
  t.ok((sent.times[0] as number) >= DELAY_MS)
  t.match(sent.text, /connection: keep-alive/i)
  sent.socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await until(() => sent.answers === 2)
  t.ok((sent.times.at(-1) as number) >= 2 * DELAY_MS)
})

t.test('Late answers: who sends more at a time waits a second for each', async (t) => {
  const { send } = await createWorld(t)
  const [two, one] = [send(2), send()]
  await until(() => one.answers === 1)
  await until(() => two.answers === 2)
  t.ok((two.times[0] as number) >= 2 * DELAY_MS)
})

t.test('Late answers: on the connection of a proxy, trusted or not, all leave with the first', async (t) => {
  const trusted = (await createWorld(t)).send
  const untrusted = (await createWorld(t, { shared: '127.0.0.1' })).send
  const own = trusted(20)
  for (const sent of [trusted(20, 'X-Forwarded-For: 192.0.2.1\r\n'), untrusted(20)]) {
    await until(() => sent.answers === 20)
    t.ok((sent.times[0] as number) >= DELAY_MS)
  }
  t.equal(own.answers, 0)
})

t.test('Late answers: where too many wait, a proxy keeps its connection', async (t) => {
  const { send } = await createWorld(t, { capacity: 1 })
  const forwarded = 'X-Forwarded-For: 192.0.2.1\r\n'
  const all = [send(1, forwarded), send(1, forwarded)]
  await until(() => all.every(({ answers }) => answers === 1))
  for (const { text } of all) t.match(text, /connection: keep-alive/i)
})

t.test('Late answers: where too many wait, an answer leaves at once and ends its connection', async (t) => {
  const { send } = await createWorld(t, { capacity: 1 })
  const [first, second] = [send(), send()]
  await until(() => first.isClosed || second.isClosed)
  const [ended, waiting] = first.isClosed ? [first, second] : [second, first]
  t.match(ended.text, /connection: close/i)
  t.equal(waiting.answers, 0)
  await until(() => waiting.answers === 1)
  const third = send()
  await until(() => third.answers === 1)
  t.ok((third.times[0] as number) >= DELAY_MS, 'and then there is place for one')
})

t.test('Late answers: a client that has gone keeps no place', async (t) => {
  const { send } = await createWorld(t, { capacity: 1 })
  const gone = send(30)
  await until(() => gone.socket.bytesWritten > 0)
  gone.socket.destroy()
  await until(async () => {
    const next = send()
    await until(() => next.answers === 1)
    return (next.times[0] as number) >= DELAY_MS
  })
})

t.test('Late answers: a server that stops gives them at once', async (t) => {
  const { late, send } = await createWorld(t)
  const sent = send(20)
  let asked = 0
  await until(() => {
    late.giveAll()
    return sent.answers === 20 || ++asked > 1000
  })
  t.equal(sent.answers, 20)
})
