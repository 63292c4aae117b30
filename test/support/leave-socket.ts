import { once } from 'node:events'
import { renameSync } from 'node:fs'
import { createServer } from 'node:net'

/** Leaves what a killed server leaves: the file of a socket, and nobody behind it. */
export async function leaveSocket(path: string): Promise<void> {
  const server = createServer().listen(path)
  await once(server, 'listening')
  // A server that ends removes its file.
  renameSync(path, `${path}.left`)
  server.close()
  await once(server, 'close')
  renameSync(`${path}.left`, path)
}
