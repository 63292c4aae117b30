import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { cachedDataVersionTag, setFlagsFromString } from 'node:v8'
import t, { type Test } from 'tap'
import { boundParser, pipelineOf } from '../../src/listener/pipeline.ts'
import { speakTls } from '../../src/listener/tls.ts'
import { handleInTurns } from '../../src/listener/turns.ts'
import { connectAs, testBoth, tlsOf } from '../support/tls.ts'
import { until } from '../support/until.ts'

/** How many requests begin at once if none waits. */
const BEGIN_AT_ONCE = 64

const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

/** Connections of some addresses, accepted in their order. */
async function connectFrom(t: Test, server: Server, addresses: string[]) {
  const tls = tlsOf(t)
  if (tls) speakTls(server, tls)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const sockets: Socket[] = []
  for (const localAddress of addresses) {
    const accepted = once(server, 'connection')
    const { socket, event } = connectAs(t, { port, host: '127.0.0.1', localAddress })
    t.teardown(() => socket.destroy())
    await Promise.all([accepted, once(socket, event)])
    sockets.push(socket)
  }
  return sockets
}

testBoth('Turns: in a crowd the heap grows less; when it is gone, its memory is collected', async (t) => {
  // The collection sets it, too.
  setFlagsFromString('--expose-gc')
  const usual = cachedDataVersionTag()
  const flags: number[] = []
  const server = createServer()
  handleInTurns(server, () => flags.push(cachedDataVersionTag()), { crowdGone: 100 })
  const [many] = await connectFrom(t, server, ['127.0.0.2'])
  for (let crowd = 0; crowd < 2; crowd++) {
    const garbage = new WeakRef({})
    many?.write(REQUEST.repeat(400))
    await until(() => flags.length === 400)
    const isOther = flags.splice(0).some((flag) => flag !== usual)
    t.ok(isOther, 'in a crowd V8 has another flag')
    await until(() => cachedDataVersionTag() === usual)
    t.equal(garbage.deref(), undefined)
  }
})

testBoth('Turns: an address that sends many requests does not hold back those of another', async (t) => {
  const server = createServer()
  const order: string[] = []
  handleInTurns(server, ({ socket }) => {
    order.push(String(socket.remoteAddress))
    if (socket.remoteAddress === '127.0.0.3') socket.destroy()
  })
  const sockets = await connectFrom(t, server, ['127.0.0.2', '127.0.0.3', '127.0.0.4'])
  const [many, gone, few] = sockets as [Socket, Socket, Socket]
  many.write(REQUEST.repeat(400))
  await once(server, 'request')
  gone.write(REQUEST.repeat(40))
  few.write(REQUEST.repeat(2))
  const handled = (address: string) => order.filter((one) => one === address).length
  await until(() => handled('127.0.0.2') === 400)
  t.equal(handled('127.0.0.4'), 2)
  t.ok(order.lastIndexOf('127.0.0.4') < order.lastIndexOf('127.0.0.2'), 'it need not wait for all')
  t.ok(handled('127.0.0.3') <= 16, 'a waiting request of a closed connection is not handled')
})

t.test('Turns: while many requests of an address wait, those of another begin at once, 16 at most', async (t) => {
  const server = createServer()
  const handled = new Set<IncomingMessage>()
  handleInTurns(server, (request) => handled.add(request))
  const beganAtOnce: boolean[] = []
  server.on('request', (request) => {
    if (request.socket.remoteAddress === '127.0.0.3') beganAtOnce.push(handled.has(request))
  })
  const [many, few] = (await connectFrom(t, server, ['127.0.0.2', '127.0.0.3'])) as [Socket, Socket]
  many.write(REQUEST.repeat(400))
  await once(server, 'request')
  few.write(REQUEST.repeat(30))
  await until(() => handled.size === 430)
  t.ok(beganAtOnce[0])
  t.ok(beganAtOnce.lastIndexOf(true) < 16)
})

testBoth('Turns: while many requests of an address wait, no more of its connections are read', async (t) => {
  const server = createServer()
  const waiting = { now: 0, most: 0 }
  server.on('request', ({ socket }) => {
    waiting.now++
    if (late.has(Number(socket.remotePort))) waiting.most = Math.max(waiting.most, waiting.now)
  })
  /** The ports of those that send while others wait. */
  const late = new Set<number>()
  let handled = 0
  handleInTurns(server, () => {
    waiting.now--
    // The first of those that wait.
    if (++handled === BEGIN_AT_ONCE + 1) sendLate()
  })
  const sockets = await connectFrom(t, server, ['127.0.0.2', '127.0.0.2'])
  const [many, one] = sockets as [Socket, Socket]

  function sendLate(): void {
    late.add(one.localPort as number)
    one.write(REQUEST)
    const { socket: newest } = connectAs(t, {
      port: one.remotePort as number,
      host: '127.0.0.1',
      localAddress: '127.0.0.2',
    })
    t.teardown(() => newest.destroy())
    newest.once('connect', () => {
      late.add(newest.localPort as number)
      newest.write(REQUEST)
    })
  }
  many.write(REQUEST.repeat(400))
  one.write(REQUEST)
  await until(() => handled === 403)
  t.ok(waiting.most < 70, `${waiting.most} waited when they were read`)
})

testBoth(
  'Turns: a request that must wait does not hold back others, of its address or not, and begins when it may',
  async (t) => {
    const server = createServer()
    const order: string[] = []
    let isBusy = true
    const turns = { writes: ({ method }: IncomingMessage) => method === 'POST', isBusy: () => isBusy }
    handleInTurns(server, ({ method, socket }) => order.push(`${method} ${socket.remoteAddress}`), turns)
    const [writes, reads] = (await connectFrom(t, server, ['127.0.0.2', '127.0.0.3'])) as [Socket, Socket]
    writes.write(REQUEST.replace('GET', 'POST') + REQUEST)
    await once(server, 'request')
    reads.write(REQUEST)
    await until(() => order.length === 2)
    isBusy = false
    await until(() => order.length === 3)
    t.strictSame(order, ['GET 127.0.0.2', 'GET 127.0.0.3', 'POST 127.0.0.2'])
  },
)

t.test('Turns: while connections are opened, two requests that wait begin in each', async (t) => {
  const server = createServer()
  let handled = 0
  handleInTurns(server, () => handled++)
  const [many, opened] = (await connectFrom(t, server, ['127.0.0.2', '127.0.0.3'])) as [Socket, Socket]
  const accepted = server.listeners('connection')
  // Only the turns are told of the one that is opened in each turn.
  server.removeAllListeners('connection').on('connection', accepted.at(-1) as () => void)
  many.write(REQUEST.repeat(400))
  let turns = 0
  for (; handled < 400; turns++) {
    server.emit('connection', opened)
    await new Promise(setImmediate)
  }
  t.ok(turns >= (400 - BEGIN_AT_ONCE) / 2, `they took ${turns} turns`)
})

testBoth('Pipelining: while many requests of an address wait, each of its connections may have one', async (t) => {
  const server = createServer()
  const isCrowded = handleInTurns(server, () => {})
  server.on('connection', (connection) => boundParser(connection, isCrowded))
  let ofOthers = 0
  server.on('request', ({ socket }) => {
    pipelineOf(socket).unanswered++
    if (socket.remoteAddress === '127.0.0.3') ofOthers++
  })
  const excess: (string | undefined)[] = []
  server.on('upgrade', ({ socket }) => excess.push(socket.remoteAddress))
  const sockets = await connectFrom(t, server, [...Array(8).fill('127.0.0.2'), '127.0.0.3'])
  for (const socket of sockets) socket.write(REQUEST.repeat(32))
  await until(() => excess.length > 0 && ofOthers === 32)
  t.notOk(excess.includes('127.0.0.3'), 'those of another address may have 32')
})

t.test('Pipelining: while requests of many addresses wait, each connection may have one', async (t) => {
  const server = createServer()
  const isCrowded = handleInTurns(server, () => {})
  const addresses = Array.from({ length: 200 }, (_, n) => [`127.0.1.${n}`, `127.0.2.${n}`]).flat()
  const sockets = await connectFrom(t, server, addresses)
  const crowded: boolean[] = []
  server.on('request', ({ socket }) => crowded.push(isCrowded(socket)))
  for (const socket of sockets) socket.write(REQUEST)
  await until(() => crowded.length === addresses.length)
  t.ok(crowded.indexOf(true) >= BEGIN_AT_ONCE + 255, 'once 256 wait')
})
