import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below those of `quietPort` and of Linux's outgoing connections: either may take one before the program listens on it. */
const [LOWEST, ABOVE] = [10_000, 15_000]

/** A port of 127.0.0.1 that nobody listens on, for programs that cannot choose one themselves. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(LOWEST, ABOVE)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').catch(() => undefined)
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
