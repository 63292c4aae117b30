import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { watchConnections } from '../../failover/nodes/connections.ts'

t.test(
  'Failover: connections are counted as those of a process to a port',
  { skip: process.platform !== 'linux' && '/proc is that of Linux' },
  async (t) => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const sockets = Array.from({ length: 3 }, () => connect(port, '127.0.0.1'))
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    const here = watchConnections([process.pid], port)
    const elsewhere = watchConnections([process.ppid], port)
    const otherPort = watchConnections([process.pid], port + 1)
    await sleep(500)
    t.equal(here.stop(), 3)
    t.equal(elsewhere.stop(), 0)
    t.equal(otherPort.stop(), 0)
    for (const socket of sockets) socket.destroy()
    server.close()
  },
)
