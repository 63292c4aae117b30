import type { Socket } from 'node:net'
import fastify from 'fastify'
import t from 'tap'
import type { Event } from '../../../src/domain/events.ts'
import { countClosedConnections } from '../../../src/http/wire/closed-connections.ts'
import { limitConnections } from '../../../src/http/wire/connection-limits.ts'
import { LIVE, listening, said, statuses } from '../../support/listening.ts'
import { until } from '../../support/until.ts'
import { createWorld } from '../../support/world.ts'

const isAnswered = async (socket: Socket) => {
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  socket.write(LIVE)
  await until(() => answer !== '' || socket.readableEnded || socket.destroyed)
  return statuses(answer).length === 1
}

t.test('Connections: one address has as many as it may, and a new one in place of each that ends', async (t) => {
  const { app, logged } = await createWorld(t, { connectionLimit: 3 })
  const { dial } = await listening(t, app)
  const open = [await dial(), await dial(), await dial()]
  t.strictSame(await Promise.all(open.map(isAnswered)), [true, true, true])
  for (let more = 0; more < 5; more++) t.equal(await said(await dial(LIVE)), '')

  for (const one of open) one.destroy()
  await until(async () => isAnswered(await dial()))
  const line = { msg: 'connections closed', connections: 1, remote_address: '127.0.0.1' }
  const lines = [{ ...line, reason: 'too many connections of one address' }]
  t.match(logged(), lines, 'the others are for the next line')
})

t.test('Connections: proxies that are trusted, or seen to be some, have as many as they like', async (t) => {
  for (const trustProxy of [['10.0.0.0/8', '127.0.0.0/8', '::1'], false as const]) {
    const { app } = await createWorld(t, { connectionLimit: 1, trustProxy })
    const { dial, exchange } = await listening(t, app)
    if (trustProxy === false) {
      const forwarded = LIVE.replace('\r\n\r\n', '\r\nX-Forwarded-For: 192.0.2.1\r\nConnection: close\r\n\r\n')
      t.strictSame(statuses(await exchange(forwarded)), [200])
    }
    for (let one = 0; one < 3; one++) t.equal(await isAnswered(await dial()), true, String(trustProxy))
  }
})

t.test('Connections: a process has at most 8,192, fewer than it may open files; more are closed', async (t) => {
  const limitWith = (descriptors: number | string, perPrefix = 5) => {
    const app = fastify()
    limitConnections(app, { perPrefix, isShared: () => false, closed: { count() {}, end() {} } }, descriptors)
    return app.server.maxConnections
  }
  t.strictSame(
    ['unlimited', 1_048_576, 1024, 100].map((descriptors) => limitWith(descriptors)),
    [8192, 8192, 896, 128],
  )
  t.equal(limitWith(100, Infinity), undefined, 'without a limit, none is closed')

  const { app, lines } = await createWorld(t, { connectionLimit: 1000 })
  const { dial } = await listening(t, app)
  app.server.maxConnections = 1
  t.equal(await isAnswered(await dial()), true)
  t.equal(await said(await dial(LIVE)), '')
  t.match(lines, [/"reason":"too many connections","connections":1,"remote_address":"127\.0\.0\.1"/])
})

t.test('Log: a reason to close connections is said at once, then how often, and at the end', async (t) => {
  const said: Event[] = []
  const measured: Event[] = []
  const measure = (event: Event) => measured.push(event)
  const { count, end } = countClosedConnections((event) => said.push(event), { quiet: 20, measure })
  const numbers = () => said.map((event) => 'connections' in event && event.connections)
  for (let one = 0; one < 4; one++) count('too many connections', '192.0.2.1')
  t.strictSame(numbers(), [1])
  t.strictSame(measured, Array(4).fill({ type: 'connection closed', reason: 'too many connections' }))
  await until(() => said.length === 2)
  t.strictSame(numbers(), [1, 3])
  count('too many connections', undefined)
  count('answers not taken', '192.0.2.1')
  for (let times = 0; times < 2; times++) {
    end()
    t.equal(said.length, 4)
  }
})
