import t, { type Test } from 'tap'
import { createAdminWorld } from '../../support/admin.ts'

/** Sends requests with given headers. Resolves to whether they are refused as from another site. */
async function asks(t: Test, given = {}) {
  const { ask, events } = await createAdminWorld(t, given)
  return async (headers: Record<string, string>, method: 'POST' | 'DELETE' | 'GET' = 'POST', url = '/nothing') => {
    events.length = 0
    await ask(url, { method, headers })
    const [event] = events as { reason?: string }[]
    return event?.reason === 'another site'
  }
}

t.test('Console: a change requested by a page of another site is refused (CSRF)', async (t) => {
  const isRefused = await asks(t)
  for (const site of ['cross-site', 'same-site', 'none', '', 'Same-Origin', 'same-origin, same-origin']) {
    t.ok(await isRefused({ 'sec-fetch-site': site, origin: 'http://localhost', host: 'localhost' }), site)
  }
  t.notOk(await isRefused({ 'sec-fetch-site': 'same-origin', origin: 'https://a.example' }))
  t.ok(await isRefused({ 'sec-fetch-site': 'cross-site' }, 'DELETE'))
  t.notOk(await isRefused({ 'sec-fetch-site': 'cross-site' }, 'GET'), 'a link may lead here')
})

t.test('Console: without Sec-Fetch-Site, the Origin must be that of this listener', async (t) => {
  const isRefused = await asks(t, { adminUrl: 'https://console.example' })
  const host = 'localhost:8081'
  for (const origin of [
    'null',
    'http://localhost',
    'http://localhost:8082',
    'https://localhost:8081',
    'http://a.example',
  ]) {
    t.ok(await isRefused({ host, origin }), origin)
  }
  t.ok(await isRefused({ host }), 'no origin at all')
  t.notOk(await isRefused({ host, origin: 'http://localhost:8081' }))
  t.notOk(await isRefused({ host, origin: 'https://console.example' }), 'behind a proxy')
})

t.test('Console: without TLS only the origin of a local name is accepted', async (t) => {
  const isRefused = await asks(t, { adminUrl: 'https://localhost:8443', boundHost: '192.0.2.7' })
  for (const host of ['192.0.2.7:8081', 'localhost:8443']) {
    t.ok(await isRefused({ host, origin: `http://${host}` }), host)
    t.notOk(
      await isRefused({ host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }),
      'where the browser says it',
    )
  }
  for (const host of ['localhost:8081', '127.0.0.1:8081', '[::1]:8081']) {
    t.notOk(await isRefused({ host, origin: `http://${host}` }), host)
  }
  t.notOk(await isRefused({ host: 'localhost:8443', origin: 'https://localhost:8443' }))
})

t.test('API: there is no CSRF check, because browsers do not send admin keys by themselves', async (t) => {
  const isRefused = await asks(t)
  t.notOk(await isRefused({ 'sec-fetch-site': 'cross-site' }, 'POST', '/admin/v1/nothing'))
})
