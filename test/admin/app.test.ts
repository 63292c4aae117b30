import { once } from 'node:events'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { createAdminWorld } from '../support/admin.ts'
import { listening as dialing, said } from '../support/listening.ts'

const PATH = '/admin/v1/nothing'
const CONNECT = 'CONNECT a.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n'

/** The Content-Security-Policy of every page. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

/** A listener, and raw TCP connections to it. */
async function listening(t: Test) {
  const world = await createAdminWorld(t)
  const { dial } = await dialing(t, world.app)
  const good = `GET ${PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${world.keys.admin}\r\n\r\n`
  return { ...world, good, dial }
}

t.test('Admin listener: no response may be cached, framed or read by another site, and none allows CORS', async (t) => {
  const { ask } = await createAdminWorld(t)
  const preflight = { origin: 'https://a.example', 'access-control-request-method': 'POST' }
  const answers = [await ask(PATH), await ask('/nothing'), await ask('/%zz')]
  answers.push(await ask('/', { headers: { host: 'a.example' } }))
  for (const url of [PATH, '/']) {
    const answer = await ask(url, { as: 'admin', method: 'OPTIONS', headers: preflight })
    t.ok(answer.statusCode >= 400)
    answers.push(answer, await ask(url, { as: 'admin', headers: preflight }))
  }
  for (const { headers } of answers) {
    t.match(headers, {
      'cache-control': 'no-store',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': /^(no-referrer|same-origin)$/,
      'x-content-type-options': 'nosniff',
      'x-request-id': /^[0-9a-f]{20}$/,
    })
    t.equal(headers['content-security-policy'], POLICY)
    t.notOk(Object.keys(headers).some((name) => name.startsWith('access-control')))
  }
})

t.test('Admin listener: a well-formed request id, and the address from trusted proxies, are logged', async (t) => {
  const { ask, events } = await createAdminWorld(t, { trustProxy: ['127.0.0.1'], adminUrl: 'https://console.example' })
  const { headers } = await ask(PATH, { headers: { 'x-request-id': 'deploy-1' } })
  t.equal(headers['x-request-id'], 'deploy-1')
  t.match(events.at(-1), { type: 'operator refused', requestId: 'deploy-1' })
  for (const [forwarded, remoteAddress] of [
    ['192.0.2.1', '192.0.2.1 via 127.0.0.1'],
    ['192.0.2.1:5678', '192.0.2.1 via 127.0.0.1'],
    ['somebody', '127.0.0.1'],
  ] as const) {
    await ask(PATH, { headers: { host: 'Console.example', 'x-forwarded-for': forwarded } })
    t.match(events.at(-1), { remoteAddress }, forwarded)
  }
  await ask(PATH, { headers: { host: 'localhost:8081', 'x-forwarded-for': '192.0.2.1' } })
  t.match(events.at(-1), { remoteAddress: '127.0.0.1' }, 'a tunnel is not the proxy')
  const direct = await createAdminWorld(t)
  await direct.ask(PATH, { headers: { 'x-forwarded-for': '192.0.2.1' } })
  t.match(direct.events.at(-1), { remoteAddress: '127.0.0.1' }, 'no proxy is trusted')
})

t.test('API: a body must be JSON of at most 64 KiB', async (t) => {
  const { ask } = await createAdminWorld(t)
  const json = 'application/json'
  const notJson = { title: 'Bad Request', status: 400, detail: 'The body is not valid JSON.' }
  const otherType = { status: 415, detail: /takes application\/json\.$/ }
  const cases: [payload: string | Buffer, type: string | undefined, expected: object][] = [
    ['{}', undefined, otherType],
    ['{}', 'application/x-www-form-urlencoded', otherType],
    ['{}', 'multipart/form-data; boundary=a', otherType],
    ['{}', 'application/json-patch+json', otherType],
    ['{}', 'x', otherType],
    ['{"__proto__":{"a":1}}', json, notJson],
    ['nul', json, notJson],
    [Buffer.from('{"name":"\xff"}', 'latin1'), json, { status: 400, detail: /not UTF-8\.$/ }],
    ['', json, { status: 422 }],
    ['{}', 'application/json; charset=utf-8', { status: 422 }],
  ]
  for (const [payload, type, expected] of cases) {
    const headers = { ...(type && { 'content-type': type }) }
    const answer = await ask('/admin/v1/suites', { as: 'admin', method: 'POST', payload, headers })
    t.match(answer.json(), expected, `${payload.toString().slice(0, 20)} ${type}`)
    t.equal(answer.statusCode, answer.json().status)
  }
})

t.test('Admin listener: a disconnect after a malformed request affects only its own connection', async (t) => {
  const { app, dial, store, good, ask } = await listening(t)
  const { promise: later, resolve: goOn } = Promise.withResolvers<void>()
  const { findAdminKey } = store
  Object.assign(store, { findAdminKey: (digest: string) => later.then(() => findAdminKey(digest)) })
  const [handedOver, accepted] = [once(app.server, 'connect'), once(app.server, 'connection')]
  const client = await dial(good + CONNECT)
  await handedOver
  const [connection] = (await accepted) as [Socket]
  const closed = new Promise((resolve) => connection.once('close', resolve))
  client.resetAndDestroy()
  await closed
  goOn()
  t.equal((await ask(PATH, { as: 'admin' })).statusCode, 404)
})

t.test('Admin listener: a change is not made if its connection was reset before it is read', async (t) => {
  const { app, dial, events, administration, store, good } = await listening(t)
  const { clientId } = await administration.applications.register()
  const accepted = once(app.server, 'connection')
  const client = await dial()
  const [connection] = (await accepted) as [Socket]
  // Node.js reports this for a connection that was reset but not yet closed.
  Object.defineProperty(connection, 'remoteAddress', { value: undefined })
  client.end(good.replace(`GET ${PATH}`, `PUT /admin/v1/applications/${clientId}/suspension`))
  t.match(await said(client), / 400 Bad Request/)
  t.match(await store.findApplication(clientId), { status: 'active' })
  t.strictSame(events, [])
})

t.test('Admin listener: neither open connections nor streams delay shutdown', async (t) => {
  const { app, dial } = await listening(t)
  const ended = await dial('')
  const kept = await dial('GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(kept, 'data')
  const begun = await dial('GET /nothing HTTP/1.1\r\n')
  const form = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 10\r\n\r\n'
  const arrived = once(app.server, 'request')
  const endless = await dial(`POST /login HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\n${form}code`)
  await arrived
  t.match(app.server, { headersTimeout: 10_000, requestTimeout: 10_000, timeout: 60_000, keepAliveTimeout: 5000 })
  const all = [ended, kept, begun, endless].map((socket) => once(socket.resume(), 'close'))
  await app.close()
  for (const socket of [ended, kept, begun, endless]) socket.end()
  await Promise.all(all)
})
