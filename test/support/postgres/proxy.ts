import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import { quietPort } from './ports.ts'

/** What does not get through: nothing is lost and all gets through, late, when it heals. */
type Swallowed = 'nothing' | 'answers' | 'everything'

interface Pair {
  client: Socket
  server: Socket
}

/** A network between a server on a port of 127.0.0.1 and its clients, which can fail. It is closed with the test. */
export async function startProxy(t: Test, target: number) {
  const port = await quietPort()
  const pairs = new Set<Pair>()
  let swallowed: Swallowed = 'nothing'

  const listener = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    // It was on its way when others were cut: nobody would end it any more.
    if (!listener.listening) return void client.resetAndDestroy()
    const pair = { client, server: connect({ port: target, host: '127.0.0.1', allowHalfOpen: true }) }
    pairs.add(pair)
    forward(client, pair.server)
    forward(pair.server, client)
    for (const socket of [client, pair.server]) socket.once('close', () => pairs.delete(pair))
    flow(pair)
  })

  const listen = async () => {
    listener.listen(port, '127.0.0.1')
    await once(listener, 'listening')
  }

  /** Lets flow what gets through. A socket that is not read fills up, as where packets are dropped. */
  function flow({ client, server }: Pair): void {
    if (swallowed === 'everything') client.pause()
    else client.resume()
    if (swallowed === 'nothing') server.resume()
    else server.pause()
  }

  function swallow(what: Swallowed): void {
    swallowed = what
    for (const pair of pairs) flow(pair)
  }

  /** Resets all connections. New ones get through. */
  function cut(): void {
    for (const { client, server } of pairs) for (const socket of [client, server]) socket.resetAndDestroy()
    pairs.clear()
  }

  /** Resets all connections, and refuses new ones. */
  async function refuse(): Promise<void> {
    const closed = once(listener, 'close')
    listener.close()
    cut()
    await closed
  }

  await listen()
  t.teardown(async () => {
    if (listener.listening) await refuse()
    cut()
  })
  return {
    port,
    /** The same address, through this proxy. */
    through(url: string): string {
      const changed = new URL(url)
      changed.port = String(port)
      return changed.href
    },
    connections: () => pairs.size,
    /** Drops what is sent: connections stay, new ones are made, and no byte gets through. */
    swallow: () => swallow('everything'),
    /** The same, for what the server sends only: it does what it is told, and nobody hears of it. */
    swallowAnswers: () => swallow('answers'),
    cut,
    refuse,
    /** All gets through again. */
    async heal() {
      if (!listener.listening) await listen()
      swallow('nothing')
    },
  }
}

/** By hand: `pipe` would resume what is paused. */
function forward(from: Socket, to: Socket): void {
  from.on('data', (bytes) => to.write(bytes))
  from.on('end', () => to.end())
  from.on('error', () => to.resetAndDestroy())
}
