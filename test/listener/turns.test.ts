import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import t from 'tap'
import { handleInTurns } from '../../src/listener/turns.ts'
import { until } from '../support/until.ts'

const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

t.test(
  'Turns: an address that sends many requests does not delay those of another until all are handled',
  async (t) => {
    const server = createServer()
    const order: string[] = []
    handleInTurns(server, ({ socket }) => {
      order.push(String(socket.remoteAddress))
      if (socket.remoteAddress === '127.0.0.3') socket.destroy()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    const { port } = server.address() as AddressInfo
    const open = async (localAddress: string, requests: number) => {
      const accepted = once(server, 'connection')
      const socket = connect({ port, host: '127.0.0.1', localAddress })
      t.teardown(() => socket.destroy())
      await Promise.all([once(socket, 'connect'), accepted])
      return () => socket.write(REQUEST.repeat(requests))
    }
    const [sendMany, sendAndGo, sendFew] = [
      await open('127.0.0.2', 400),
      await open('127.0.0.3', 9),
      await open('127.0.0.4', 2),
    ]
    sendMany()
    await once(server, 'request')
    sendAndGo()
    sendFew()
    const handled = (address: string) => order.filter((one) => one === address).length
    await until(() => handled('127.0.0.2') === 400)
    t.equal(handled('127.0.0.4'), 2)
    t.ok(order.lastIndexOf('127.0.0.4') < order.lastIndexOf('127.0.0.2'), 'it need not wait for all')
    t.equal(handled('127.0.0.3'), 1, 'a request of a closed connection is not handled')
  },
)
