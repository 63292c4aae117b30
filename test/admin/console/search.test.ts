import t, { type Test } from 'tap'
import { createConsoleWorld, textOf } from '../../support/console-world.ts'
import { AUDIT } from '../../support/on.ts'
import { refusedRequest } from '../../support/refusal.ts'

async function start(t: Test) {
  const world = await createConsoleWorld(t)
  const { suites, applications } = world.administration
  await suites.register({ suiteId: 'store', name: 'Store API', labels: { owner: 'web' }, note: 'Ask Zoe' })
  const names = { 'shop/1': 'Shop <one>', 'shop/2': 'Store front', anna: 'An application' }
  for (const [clientId, name] of Object.entries(names)) {
    await applications.register({ labels: { owner: 'web' }, clientId, name, suites: [] })
  }
  await world.store.recordRefusedRequests([refusedRequest('3ed9e1cb5f4d1ee3cb00'), refusedRequest('store')])
  const browser = await world.signIn('viewer')
  return { ...world, search: (text: string) => browser(`/search?q=${encodeURIComponent(text)}`) }
}

t.test('Search: a single hit is opened at once', async (t) => {
  const { search, store } = await start(t)
  const name = 'https://login.example#7'
  await store.change({ type: 'operator added', operator: name, role: 'viewer', email: 'Vera@company.example' }, AUDIT)
  for (const [text, page] of Object.entries({
    'shop/1': '/applications/shop%2F1',
    '3ed9e1cb5f4d1ee3cb00': '/requests/3ed9e1cb5f4d1ee3cb00',
    viktor: '/operators#operator-viktor',
    ' ONE> ': '/applications/shop%2F1',
    api: '/suites/store',
    zoe: '/suites/store',
    vik: '/operators#operator-viktor',
    'vera@': `/operators#operator-${encodeURIComponent(name)}`,
  })) {
    const { statusCode, headers } = await search(text)
    t.strictSame([statusCode, headers.location], [303, page], text)
  }
})

t.test('Search: a request id is found as it was copied: with its name, quotes, in another case', async (t) => {
  const { search, store } = await start(t)
  await store.recordRefusedRequests([refusedRequest('0F-AB:c'), refusedRequest('request-id-7')])
  for (const text of [
    '3ED9E1CB5F4D1EE3CB00',
    ' "3ed9e1cb5f4d1ee3cb00", ',
    'X-Request-Id: 3ed9e1cb5f4d1ee3cb00',
    'x-request-id=3ed9e1cb5f4d1ee3cb00;',
    '"request_id":"3ed9e1cb5f4d1ee3cb00",',
    '“X-Correlation-ID: ‘3ed9e1cb5f4d1ee3cb00’”',
    'request id 3ed9e1cb5f4d1ee3cb00',
  ])
    t.equal((await search(text)).headers.location, '/requests/3ed9e1cb5f4d1ee3cb00', text)
  t.equal((await search('X-Request-Id: 0F-AB:c')).headers.location, '/requests/0F-AB%3Ac')
  t.equal((await search('request-id-7')).headers.location, '/requests/request-id-7')
})

t.test('Search: words are found in any order', async (t) => {
  const { search, administration } = await start(t)
  const developerEmail = 'jan@jansen.example'
  await administration.applications.register({ clientId: 'feed', name: 'Jansen BV price feed', developerEmail })
  for (const text of ['jansen price', 'Price  JANSEN', 'feed jan@'])
    t.equal((await search(text)).headers.location, '/applications/feed', text)
  t.match((await search('jansen prices')).body, 'No matches')
  t.equal((await search('api store')).headers.location, '/suites/store')
})

t.test('Search: several hits are listed by kind', async (t) => {
  const { search, administration } = await start(t)
  const { body } = await search('store')
  t.match(textOf(body), /Search: store Applications Store front shop\/2 Suites Store API store Requests store/)
  t.match(body, 'name="q" value="store"')
  t.match(textOf((await search('anna')).body), /Applications An application anna Operators anna/)
  t.match(textOf((await search('owner=we')).body), /Applications An application .* Suites Store API store/)
  t.notMatch(body, 'All that match')
  for (let n = 0; n < 10; n++) await administration.suites.register({ suiteId: `store-${n}`, name: 'S' })
  const many = (await search('store')).body
  t.match(many, '<a href="/suites">All that match</a>')
  t.notMatch(many, 'store-9')
  for (let n = 10; n < 22; n++) await administration.applications.register({ clientId: `shop/${n}`, name: 'S' })
  t.match(textOf((await search('shop/1')).body), /Applications All that match Shop <one> shop\/1 S shop\/19 /)
})

t.test('Search: a removed application is found by its name and its client id', async (t) => {
  const { search, administration } = await start(t)
  await administration.applications.remove('shop/1')
  for (const text of ['<one>', 'shop/1']) {
    t.equal((await search(text)).headers.location, '/applications/shop%2F1', text)
  }
  t.match(textOf((await search('shop')).body), 'Applications Store front shop/2 Removed Shop <one> shop/1 ')
})

t.test('Search: without a hit it says what is searched, and where a client id is explained', async (t) => {
  const { search } = await start(t)
  const none = (await search('nobody/1')).body
  t.match(textOf(none), 'matches “ nobody/1 ”')
  t.match(none, '<a href="/applications/nobody%2F1">See why it is refused</a>')
  const requestId = (await search('3ed9e1cb5f4d1ee3cb01')).body
  t.match(textOf(requestId), 'A refusal shows up within 5 seconds')
  t.notMatch(requestId, 'See why', 'the request ids of this server are no client ids')
  t.notMatch((await search('no')).body, 'See why')
  t.match((await search('')).body, 'Find anything')
})
