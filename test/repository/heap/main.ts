import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

// Prints by how many KiB glibc's heap grows for each of some connections, of which it has both ends.

const CONNECTIONS = 2000

function heap(): number {
  const [, size] = /\[heap\]\nSize: +(\d+)/.exec(readFileSync('/proc/self/smaps', 'utf8')) ?? []
  return Number(size)
}

const server = createServer((_request, response) => response.end())
await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: CONNECTIONS }, resolve))
const { port } = server.address() as AddressInfo
const before = heap()
for (let n = 0; n < CONNECTIONS; n++) connect(port, '127.0.0.1')
while ((await new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))) !== CONNECTIONS)
  await sleep(10)
process.stdout.write(String((heap() - before) / CONNECTIONS), () => process.exit())
