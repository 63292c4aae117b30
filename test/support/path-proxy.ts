import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { until } from './until.ts'

/** A reverse proxy that sends each path to a server of its own, and can send it to another one while it runs. */
export async function startPathProxy(t: Test, first: number) {
  const targets = new Map<string, number>()
  /** How many requests a server has of a path. */
  const underWay = new Map<string, number>()
  const agent = new http.Agent({ keepAlive: true })

  const server = http.createServer((request, response) => {
    const path = request.url?.startsWith('/v1/oauth/verify') ? '/v1/oauth/verify' : (request.url as string)
    const port = targets.get(path) ?? first
    const key = `${port} ${path}`
    underWay.set(key, (underWay.get(key) ?? 0) + 1)
    response.once('close', () => underWay.set(key, (underWay.get(key) as number) - 1))
    const { method, url, headers } = request
    const onward = http.request({ port, path: url, method, headers, agent }, (answer) => {
      response.writeHead(answer.statusCode as number, answer.headers)
      answer.pipe(response)
    })
    onward.once('error', () => response.destroy())
    request.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
    agent.destroy()
  })
  return {
    port: (server.address() as AddressInfo).port,
    /** Sends a path to another server. Resolves when the first one has no request of it any more. */
    async send(path: string, port: number): Promise<void> {
      targets.set(path, port)
      await until(() => !underWay.get(`${first} ${path}`))
    },
  }
}
