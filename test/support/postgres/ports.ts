import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A free port of 127.0.0.1, for a server that may be away for a while. It is not one of those that the system gives to
 * connections: a client that tries often enough would be connected to itself there.
 */
export async function quietPort(): Promise<number> {
  const port = randomInt(15_000, 32_000)
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return quietPort()
  }
  server.close()
  await once(server, 'close')
  return port
}
