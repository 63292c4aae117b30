import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

const FIRST = 15_000
const STRETCHES = 170
const LENGTH = 100

/**
 * A free port of 127.0.0.1, for a server that may be away for a while. It is not one of those that the system gives to
 * connections: a client that tries often enough would be connected to itself there.
 */
export async function quietPort(): Promise<number> {
  // Each process has a stretch of its own, as far as there are enough: nobody reserves a port until it is listened on.
  const port = FIRST + (process.pid % STRETCHES) * LENGTH + randomInt(LENGTH)
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    return quietPort()
  }
  server.close()
  await once(server, 'close')
  return port
}
