import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import t, { type Test } from 'tap'
import { OperatorError } from '../../src/domain/operator-error.ts'
import { listenForOperators, type Pages } from '../../src/ops/listener.ts'
import { dialPort, said } from '../support/listening.ts'
import { until } from '../support/until.ts'

const PAGES: Pages = {
  '/page': () => ({ type: 'text/html; charset=utf-8', body: '<p>ü' }),
  '/bad': async () => ({ status: 503, type: 'text/plain', body: 'no' }),
  '/broken': () => Promise.reject(new Error('S3CR3T')),
}

async function listen(t: Test, pages = PAGES, host = '127.0.0.1') {
  const listener = await listenForOperators({ host, port: 0 }, pages, () => {})
  t.teardown(listener.close)
  const { address } = listener
  const ask = (path: string, init?: RequestInit) => fetch(address + path, init)
  const dial = (bytes?: string) => dialPort(t, Number(new URL(address).port), bytes)
  return { ...listener, ask, dial }
}

/** Counts answers as they are asked for. */
function createCounter() {
  let times = 0
  const counted = <Answer>(answer: Answer): Answer => {
    times++
    return answer
  }
  return { counted, times: () => times }
}

const isAnswered = (answer: Promise<Response>) =>
  answer.then(
    ({ status }) => status === 200,
    () => false,
  )

t.test('Ops listener: serves the pages to GET and HEAD, and no cache keeps them', async (t) => {
  const { ask } = await listen(t)
  const page = await ask('/page?a=b')
  t.strictSame([page.status, await page.text()], [200, '<p>ü'])
  t.match(Object.fromEntries(page.headers), {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-length': '5',
  })
  const head = await ask('/page', { method: 'HEAD' })
  t.strictSame([head.status, head.headers.get('content-length'), await head.text()], [200, '5', ''])
  t.equal((await ask('/bad')).status, 503)
})

t.test('Ops listener: other methods and paths are refused, and an error reveals nothing', async (t) => {
  const { ask } = await listen(t)
  const post = await ask('/page', { method: 'POST', body: 'x' })
  t.strictSame([post.status, post.headers.get('allow')], [405, 'GET, HEAD'])
  for (const path of ['/', '/nope', '/toString', '/page/']) {
    const answer = await ask(path)
    t.strictSame([answer.status, await answer.text()], [404, 'The pages are /page, /bad, /broken.\n'], path)
  }
  const broken = await ask('/broken')
  t.strictSame([broken.status, await broken.text()], [500, 'The server failed.\n'])
})

t.test('RFC 9112 §3.2: a request of HTTP/1.1 without Host is refused at the ops port', async (t) => {
  const { dial } = await listen(t)
  const answerTo = async (bytes: string) => said(await dial(bytes))
  t.match(await answerTo('GET /page HTTP/1.1\r\n\r\n'), /^HTTP\/1.1 400 [\s\S]*Host header missing/)
  t.match(await answerTo('GET /page HTTP/1.0\r\n\r\n'), /^HTTP\/1.1 200 /)
})

t.test('Ops listener: an address in use is an OperatorError', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  t.teardown(() => other.close())
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const error = await listenForOperators({ host: '127.0.0.1', port }, PAGES, () => {}).catch((cause) => cause)
  t.type(error, OperatorError)
  t.match(error.message, `Cannot listen on OPS_ADDRESS, 127.0.0.1:${port}: `)
})

t.test('Ops listener: an IPv6 address is written as in a URL', async (t) => {
  const { address, ask } = await listen(t, PAGES, '::1')
  t.match(address, /^http:\/\/\[::1\]:\d+$/)
  t.equal((await ask('/page')).status, 200)
})

t.test('Ops listener: connections that cannot be accepted do not end the process', async (t) => {
  const { ask } = await listen(t)
  const servers: Server[] = []
  const notice = (message: unknown) => void servers.push((message as { server: Server }).server)
  channel('http.server.request.start').subscribe(notice)
  t.teardown(() => channel('http.server.request.start').unsubscribe(notice))
  await ask('/page')
  for (let n = 0; n < 2; n++) t.ok(servers[0]?.emit('error', new Error('accept ENOBUFS')))
  t.equal((await ask('/page')).status, 200)
  t.equal(servers.length, 2)
})

t.test('Ops listener: connections with endless requests or unread answers are closed', async (t) => {
  const body = 'x'.repeat(16 * 1024 ** 2)
  const { counted, times: asked } = createCounter()
  const { dial, ask } = await listen(t, {
    ...PAGES,
    '/large': () => counted({ type: 'text/plain', body }),
    '/never': () => counted(new Promise(() => {})),
  })
  async function askOften(path: string): Promise<Socket> {
    const before = asked()
    const socket = await dial(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(20))
    socket.pause()
    await until(() => asked() > before)
    return socket
  }
  const partial = said(await dial('GET /page HTTP/1.1\r\nHost: a\r\n'))
  const slow = await askOften('/large')
  for (let n = 2; n < 32; n++) await askOften('/never')
  t.equal(await isAnswered(ask('/page')), true, 'the connection with a partial request makes room')
  await until(() => isAnswered(ask('/page')))
  t.equal(asked(), 31, 'only the first request of each was handled')
  t.equal(await partial, '')
  t.match(await said(await dial('GET /page HTTP/1.1\r\nHost: a\r\n')), /^HTTP\/1.1 408 /)
  t.ok((await said(slow.resume())).length < body.length, 'an unread answer is lost')
})

t.test('Ops listener: closing waits a moment for a pending answer, and not longer', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { counted, times: arrived } = createCounter()
  const { ask, close } = await listen(t, {
    '/soon': async () => counted(promise.then(() => ({ type: 'text/plain', body: 'here' }))),
    '/never': () => counted(new Promise(() => {})),
  })
  const [soon, never] = [ask('/soon'), ask('/never')]
  never.catch(() => {})
  await until(() => arrived() === 2)
  const closed = close()
  resolve()
  t.equal(await (await soon).text(), 'here')
  await closed
  await t.rejects(never)
})
