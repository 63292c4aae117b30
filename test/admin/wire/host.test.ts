import t, { type Test } from 'tap'
import { createAdminWorld } from '../../support/admin.ts'
import { listening } from '../../support/listening.ts'

const PATH = '/admin/v1/nothing'

t.test('Host: any name but the local ones and its own is refused for every path (DNS rebinding)', async (t) => {
  const given = { boundHost: '192.0.2.7', adminUrl: 'https://console.example:8443' }
  const { ask, events } = await createAdminWorld(t, given)
  const others = ['rebound.example', 'localhost.rebound.example', 'console.example', 'console.example:443', '192.0.2.8']
  const userInfo = 'localhost@rebound.example'
  const odd = [userInfo, 'localhost:x', '127.0.0.1/', '[::1', 'localhost:8081:1', '[::1]x', 'http://localhost']
  for (const host of [...others, ...odd]) {
    for (const url of [PATH, '/', '/assets/console.css', '/login']) {
      const { statusCode, body } = await ask(url, { as: 'admin', headers: { host } })
      t.equal(statusCode, 421, `${host}${url}`)
      t.notMatch(body, 'rebound')
    }
  }
  t.match(events[0], { type: 'operator refused', reason: 'another host' })
  const own = ['192.0.2.7', '192.0.2.7:8081', 'console.example:8443']
  for (const host of [...own, 'localhost', 'localhost:8081', '127.0.0.1:1', '[::1]', '[::1]:8081', 'LOCALHOST']) {
    t.equal((await ask(PATH, { as: 'admin', headers: { host } })).statusCode, 404, host)
  }
})

t.test('Host: the bound IPv6 address is accepted in any notation', async (t) => {
  const cases: [boundHost: string, host: string, status: number][] = [
    ['FD00::1', '[fd00::1]:8081', 404],
    ['FD00::1', '[fd00::2]:8081', 421],
    ['2001:0DB8:0:0:0::1%eth0', '[2001:db8::1]:8081', 404],
    ['a<b', '[2001:db8::1]', 421],
  ]
  for (const [boundHost, host, status] of cases) {
    const { ask } = await createAdminWorld(t, { boundHost })
    t.equal((await ask(PATH, { as: 'admin', headers: { host } })).statusCode, status, `${boundHost}: ${host}`)
  }
})

t.test('RFC 9112 §3.2: the Host and that of an absolute-form target are checked', async (t) => {
  const { app, keys } = await createAdminWorld(t)
  const { exchange } = await listening(t, app)
  const end = `Authorization: Bearer ${keys.admin}\r\nX-Host: Host\r\nConnection: close\r\n\r\n`
  const cases: [head: string, status: RegExp][] = [
    [`GET ${PATH} HTTP/1.1\r\nHost: localhost\r\n`, /^HTTP\/1\.1 404 /],
    [`GET http://localhost${PATH} HTTP/1.1\r\nHost: localhost\r\n`, /^HTTP\/1\.1 404 /],
    [`GET http://rebound.example${PATH} HTTP/1.1\r\nHost: localhost\r\n`, /^HTTP\/1\.1 421 /],
    [`GET http://localhost${PATH} HTTP/1.1\r\nHost: rebound.example\r\n`, /^HTTP\/1\.1 421 /],
    ['GET / HTTP/1.0\r\n', /^HTTP\/1\.1 421 /],
    ['GET / HTTP/1.1\r\n', /^HTTP\/1\.1 421 /],
  ]
  for (const [head, status] of cases) t.match(await exchange(head + end), status, head)
})

/** Sends requests with given headers. Resolves to whether they are refused as from another site. */
async function asksFrom(t: Test, given = {}) {
  const { ask, events } = await createAdminWorld(t, given)
  return async (headers: Record<string, string>, method: 'POST' | 'DELETE' | 'GET' = 'POST', url = '/nothing') => {
    events.length = 0
    await ask(url, { method, headers })
    const [event] = events as { reason?: string }[]
    return event?.reason === 'another site'
  }
}

t.test('Console: a change requested by a page of another site is refused (CSRF)', async (t) => {
  const isRefused = await asksFrom(t)
  for (const site of ['cross-site', 'same-site', 'none', '', 'Same-Origin', 'same-origin, same-origin']) {
    t.ok(await isRefused({ 'sec-fetch-site': site, origin: 'http://localhost', host: 'localhost' }), site)
  }
  t.notOk(await isRefused({ 'sec-fetch-site': 'same-origin', origin: 'https://a.example' }))
  t.ok(await isRefused({ 'sec-fetch-site': 'cross-site' }, 'DELETE'))
  t.notOk(await isRefused({ 'sec-fetch-site': 'cross-site' }, 'GET'), 'a link may lead here')
  // Browsers do not send admin keys by themselves.
  t.notOk(await isRefused({ 'sec-fetch-site': 'cross-site' }, 'POST', '/admin/v1/nothing'), 'the API')
})

t.test('Console: without Sec-Fetch-Site, the Origin must be that of this listener', async (t) => {
  const isRefused = await asksFrom(t, { adminUrl: 'https://console.example' })
  const host = 'localhost:8081'
  const others = ['http://localhost', 'http://localhost:8082', 'https://localhost:8081', 'http://a.example']
  for (const origin of ['null', ...others]) t.ok(await isRefused({ host, origin }), origin)
  t.ok(await isRefused({ host }), 'no origin at all')
  t.notOk(await isRefused({ host, origin: 'http://localhost:8081' }))
  t.notOk(await isRefused({ host, origin: 'https://console.example' }), 'behind a proxy')
})

t.test('Console: without TLS only the origin of a local name is accepted', async (t) => {
  const isRefused = await asksFrom(t, { adminUrl: 'https://localhost:8443', boundHost: '192.0.2.7' })
  for (const host of ['192.0.2.7:8081', 'localhost:8443']) {
    const sent = { host, origin: `http://${host}` }
    t.ok(await isRefused(sent), host)
    t.notOk(await isRefused({ ...sent, 'sec-fetch-site': 'same-origin' }), 'if the browser confirms it')
  }
  for (const host of ['localhost:8081', '127.0.0.1:8081', '[::1]:8081']) {
    t.notOk(await isRefused({ host, origin: `http://${host}` }), host)
  }
  t.notOk(await isRefused({ host: 'localhost:8443', origin: 'https://localhost:8443' }))
})
