import { once } from 'node:events'
import { type AddressInfo, connect, type ListenOptions } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import fastify from 'fastify'
import t, { type Test } from 'tap'
import { createAdminServer } from '../../src/admin/server.ts'
import type { Event } from '../../src/domain/events.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A server whose app says hello; `load` comes before each load of it. */
async function start(
  t: Test,
  load: (times: number) => Promise<unknown>,
  place: ListenOptions = { port: 0, host: '127.0.0.1' },
) {
  const events: Event[] = []
  let loads = 0
  const { server, close } = createAdminServer(
    async () => {
      await load(++loads)
      const app = fastify({ serverFactory: () => server, clientErrorHandler: () => {} })
      app.get('/', () => 'hello')
      await app.ready()
      return app
    },
    (event) => events.push(event),
  )
  t.teardown(close)
  await once(server.listen(place), 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, port, events, close, loads: () => loads }
}

t.test('Admin server: malformed input is answered without the app', async (t) => {
  const { port, loads } = await start(t, async () => {})
  t.match(
    await text(connect(port, '127.0.0.1').end('nonsense\r\n\r\n')),
    /^HTTP\/1\.1 400 .*This request cannot be read/s,
  )
  t.equal(loads(), 0)
})

t.test('Admin server: if the app cannot be loaded, the answer is 500, and the next request tries again', async (t) => {
  const { url, events, loads } = await start(t, async (times) => {
    if (times === 1) throw new Error('a file is missing')
  })
  const failed = await fetch(url, { headers: { 'x-request-id': 'of-a-client' } })
  t.equal(failed.headers.get('content-type'), 'application/problem+json; charset=utf-8')
  t.equal(failed.headers.get('x-request-id'), 'of-a-client')
  t.match(await failed.json(), { status: 500, code: 'server_error', detail: 'The server failed.' })
  const err = { message: 'a file is missing' }
  const event = { type: 'request failed', method: 'GET', requestId: 'of-a-client', remoteAddress: '127.0.0.1', err }
  t.match(events, [event])
  t.equal(await (await fetch(url)).text(), 'hello')
  t.equal(await (await fetch(url)).text(), 'hello')
  t.equal(loads(), 2)
})

t.test('Admin server: the failure of a request over a Unix socket has no address', async (t) => {
  const path = join(temporaryFolder(t), 'socket')
  const load = async () => Promise.reject(new Error('a file is missing'))
  const { events } = await start(t, load, { path })
  t.match(await text(connect(path).end('GET / HTTP/1.0\r\n\r\n')), /^HTTP\/1\.1 500 /)
  t.match(events, [{ type: 'request failed', remoteAddress: 'unix socket' }])
})

t.test('Admin server: it closes while the app is being loaded', async (t) => {
  const { promise: isLoading, resolve } = Promise.withResolvers<unknown>()
  const { url, close } = await start(t, (times) => {
    resolve(times)
    return new Promise(() => {})
  })
  const answer = fetch(url)
  await isLoading
  await Promise.all([close(), t.rejects(answer)])
})
