import { EventEmitter, once } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'
import { Socket } from 'node:net'
import t from 'tap'
import type { Event } from '../../../src/domain/events.ts'
import { countClosedConnections, limitConnections, maxConnections } from '../../../src/listener/connection-limits.ts'
import { pipelineOf } from '../../../src/listener/pipeline.ts'
import { heard, LIVE, listening, statuses } from '../../support/listening.ts'
import { testBoth } from '../../support/tls.ts'
import { until } from '../../support/until.ts'
import { createWorld } from '../../support/world.ts'

const isAnswered = async (socket: Socket) => {
  const answer = heard(socket)
  socket.write(LIVE)
  await until(() => answer() !== '' || socket.readableEnded || socket.destroyed)
  return statuses(answer()).length === 1
}

testBoth('Connections: trusted proxies, and addresses that forward for others, have no limit', async (t) => {
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

t.test('Connections: a process has at most 8,192, and fewer than its limit of open files', (t) => {
  const most = (hasTls: boolean) => ['unlimited', 1_048_576, 1024, 100].map((files) => maxConnections(files, hasTls))
  t.strictSame(most(false), [8192, 8192, 896, 128])
  t.strictSame(most(true), [4096, 4096, 896, 128], 'with TLS')
  t.end()
})

t.test('Connections: at a limit, the oldest idle one of the prefix with the most is closed', async (t) => {
  const closed: string[] = []
  const server = new EventEmitter()
  const limits = { perPrefix: 3, total: 5, isTrusted: (address: string) => address === '10.0.0.1' }
  limitConnections(server as Server, limits, (reason, address) => void closed.push(`${reason}, ${address}`))
  /** `state`: of its last request. */
  const open = (remoteAddress: string, state: 'answered' | 'arriving' | 'due' = 'answered') => {
    const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress })
    const last = { req: { complete: state === 'due' } as IncomingMessage, shouldKeepAlive: true, writableEnded: false }
    if (state !== 'answered') Object.assign(pipelineOf(socket), { unanswered: 1, last })
    server.emit('connection', socket)
    return socket
  }
  const ended = () => closed.splice(0)
  const [busy, idle] = [open('192.0.2.1', 'due'), open('192.0.2.1', 'arriving')]
  open('192.0.2.1')
  t.strictSame(ended(), [])
  open('192.0.2.1')
  t.strictSame(ended(), ['too many connections of one address, 192.0.2.1'])
  t.strictSame([busy.destroyed, idle.destroyed], [false, true])
  await once(idle, 'close')

  open('10.0.0.1')
  open('10.0.0.1')
  t.strictSame(ended(), [], 'a proxy has no limit of its own')
  const stranger = open('198.51.100.7')
  t.strictSame(ended(), ['too many connections, 192.0.2.1'], 'the prefix with the most')
  t.equal(stranger.destroyed, false)

  for (let n = 0; n < 3; n++) open('203.0.113.9', 'due')
  ended()
  t.equal(open('203.0.113.9', 'due').destroyed, true, 'if none is idle, the new one is closed')
  t.equal(ended().length, 1, 'and no other, at both limits')

  for (let n = 0; n < 9; n++) open('10.0.0.1')
  ended()
  open('198.51.100.8')
  t.strictSame(ended(), ['too many connections, 10.0.0.1'], 'a proxy that has the most makes room, too')
})

t.test('Log: closed connections are reported at once, then by their number, and at the end', async (t) => {
  const said: Event[] = []
  const measured: Event[] = []
  const measure = (event: Event) => measured.push(event)
  const { count, end } = countClosedConnections({ observe: (event) => said.push(event), quiet: 20, measure })
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

t.test('Connections: a private proxy that is not trusted may have half of all', async (t) => {
  const closed: string[] = []
  const server = new EventEmitter()
  const limits = { perPrefix: 3, total: 10, isShared: (address: string) => address === '10.0.0.2' }
  limitConnections(server as Server, limits, (reason) => void closed.push(reason))
  for (let n = 0; n < 6; n++) {
    t.strictSame(closed, [])
    server.emit('connection', Object.defineProperty(new Socket(), 'remoteAddress', { value: '10.0.0.2' }))
  }
  t.strictSame(closed, ['too many connections of one address'])
})
