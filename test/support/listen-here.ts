import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import type { Test } from 'tap'

/** Lets a server listen on a free port of 127.0.0.1 until the test ends. `stop`: ends it, and its connections, before. */
export async function listenHere(t: Test, server: Server) {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const stop = () => {
    if (server instanceof http.Server) server.closeAllConnections()
    server.close()
  }
  t.teardown(stop)
  const { port } = server.address() as AddressInfo
  return { port, address: `127.0.0.1:${port}`, stop }
}
