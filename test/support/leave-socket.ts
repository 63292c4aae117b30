import { once } from 'node:events'
import { renameSync } from 'node:fs'
import { createServer } from 'node:net'

/** Leaves a socket file that nobody listens on, as a killed server does. */
export async function leaveSocket(path: string): Promise<void> {
  const server = createServer().listen(path)
  await once(server, 'listening')
  // Renamed, because a server removes its socket file when it closes.
  renameSync(path, `${path}.left`)
  server.close()
  await once(server, 'close')
  renameSync(`${path}.left`, path)
}
