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
    '3ed9e1cb5f4d1ee3cb00': '/refusals?open=3ed9e1cb5f4d1ee3cb00',
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
    t.equal((await search(text)).headers.location, '/refusals?open=3ed9e1cb5f4d1ee3cb00', text)
  t.equal((await search('X-Request-Id: 0F-AB:c')).headers.location, '/refusals?open=0F-AB%3Ac')
  t.equal((await search('request-id-7')).headers.location, '/refusals?open=request-id-7')
})

t.test('Search: words are found in any order', async (t) => {
  const { search, administration } = await start(t)
  const developerEmail = 'jan@jansen.example'
  await administration.applications.register({ clientId: 'feed', name: 'Jansen BV price feed', developerEmail })
  for (const text of ['jansen price', 'Price  JANSEN', 'feed jan@'])
    t.equal((await search(text)).headers.location, '/applications/feed', text)
  t.match((await search('jansen costs')).body, /No matches.*Finds applications/s)
  t.equal((await search('api store')).headers.location, '/suites/store')
})

t.test('Search: several hits are listed by kind', async (t) => {
  const { search, administration, store } = await start(t)
  const { body } = await search('store')
  t.match(
    textOf(body),
    /Search: store Applications Store front shop\/2 Suites Store API store Requests store Audit Database restored/,
  )
  t.match(body, 'name="q" value="store"')
  t.match(textOf((await search('anna')).body), /Applications An application anna Operators anna/)
  const operator = 'https://login.example#7'
  await store.change({ type: 'operator added', operator, role: 'viewer', email: 'anna' }, AUDIT)
  t.match(textOf((await search('anna')).body), `Operators anna anna (login.example) ${operator}`)
  t.match(textOf((await search('owner=we')).body), /Applications An application .* Suites Store API store/)
  t.notMatch(body, 'All that match')
  for (let n = 0; n < 10; n++) await administration.suites.register({ suiteId: `store-${n}`, name: 'S' })
  const many = (await search('store')).body
  t.match(many, '<a href="/suites">The whole list</a>')
  t.notMatch(many, 'store-9')
  for (let n = 10; n < 22; n++) await administration.applications.register({ clientId: `shop/${n}`, name: 'S' })
  t.match(
    textOf((await search('shop/1')).body),
    /Applications Shop <one> shop\/1 S shop\/19 .* S shop\/11 All that match /,
  )
})

t.test('Search: a request is found by the first 8 characters of its id or more, in any case', async (t) => {
  const { search, store } = await start(t)
  await store.recordRefusedRequests([refusedRequest('0f-abcde-1'), refusedRequest('0f-abcde-1'), refusedRequest('r-1')])
  for (const [text, id] of Object.entries({
    '3ed9e1cb': '3ed9e1cb5f4d1ee3cb00',
    'X-Request-Id: 3ED9E1CB5F4': '3ed9e1cb5f4d1ee3cb00',
    '0F-abcde': '0f-abcde-1',
    'r-1': 'r-1',
  }))
    t.equal((await search(text)).headers.location, `/refusals?open=${id}`, text)
  for (const text of ['3ed9e1c', '0f-abcd', 'ed9e1cb5f4d1ee3cb00'])
    t.match((await search(text)).body, 'No matches', text)
  await store.recordRefusedRequests([refusedRequest('0f-abcde-2')])
  t.match(textOf((await search('0f-abcde')).body), 'Requests 0f-abcde-2 0f-abcde-1')
})

t.test('Search: if nothing has the words, what is spelt almost like them is listed, and not opened', async (t) => {
  const { search, administration } = await start(t)
  const developerEmail = 'jan@jansen.example'
  await administration.applications.register({ clientId: 'feed', name: 'Jänsen BV price feed', developerEmail })
  for (const text of ['jannsen', 'jnsen', 'JASNEN bv', 'prise feed', 'jansen.exmaple']) {
    const { statusCode, body } = await search(text)
    t.equal(statusCode, 200, text)
    t.match(textOf(body), 'spelt almost like them: Applications Jänsen BV price feed feed', text)
  }
  const word = 'example'
  for (const at of Array.from(word).keys()) {
    const [before, letter, after] = [word.slice(0, at), word.charAt(at), word.slice(at + 1)]
    const swapped = `${before}${after.charAt(0)}${letter}${after.slice(1)}`
    const wrong = [`${before}${after}`, `${before}0${after}`, `${before}0${letter}${after}`]
    for (const text of after ? [...wrong, swapped] : wrong)
      t.match(textOf((await search(text)).body), 'Applications Jänsen BV price feed feed', text)
  }
  for (const text of ['jasne', 'jansen bz', '!!']) t.match((await search(text)).body, 'No matches', text)
  t.match(textOf((await search('sotre apii')).body), 'almost like them: Suites Store API store')
  t.match(textOf((await search('ovrview')).body), 'almost like them: Pages Overview')
})

t.test('Search: changes, kinds of changes, secrets and pages are found, and lead to their lists', async (t) => {
  const { search, context, store, signIn } = await start(t)
  const author = { actor: 'bert', origin: 'API', remoteAddress: '192.0.2.1', requestId: 'Deploy-42.2026' } as const
  await context.administration(author).suites.register({ suiteId: 'late', name: 'Late' })
  const [event] = await store.listAuditEvents({ requestId: 'Deploy-42.2026', limit: 1 })
  for (const [text, page] of Object.entries({
    'request id Deploy-42.2026': `/audit?open=${event?.id}`,
    'LOY-42.2026': `/audit?open=${event?.id}`,
    'withdrawn approval': '/audit?action=approval+withdrawn',
    'secret 2': '/secrets?open=2',
    refusals: '/refusals',
    about: '/about',
  }))
    t.equal((await search(text)).headers.location, page, text)
  t.match((await search('secret 99')).body, 'No matches')
  const many = textOf((await search('ed')).body)
  t.match(many, /Audit Application registered Application updated .* The whole list/)
  t.match(textOf((await search('')).body), /Search Pages Overview Applications .* About Documents Find anything/)
  t.match(
    textOf(await (await signIn()).body('/search')),
    /About Documents Register an application Register a suite Find/,
  )
})

t.test('Search: an admin finds what can be done with an application, a viewer does not', async (t) => {
  const { search, signIn, administration } = await start(t)
  await administration.applications.suspend('shop/2')
  const admin = await signIn()
  const ask = (text: string) => admin(`/search?q=${encodeURIComponent(text)}`)
  for (const [text, page] of Object.entries({
    'rotate secret of shop <one>': '/applications/shop%2F1#rotate',
    'Front rotate': '/applications/shop%2F2#rotate',
    'approve front for store': '/applications/shop%2F2/edit#approvals',
    'suspend shop': '/applications/shop%2F1#suspend',
    'resume shop': '/applications/shop%2F2',
    'edit front': '/applications/shop%2F2/edit',
    'remove front': '/applications/shop%2F2/remove',
  }))
    t.equal((await ask(text)).headers.location, page, text)
  t.match(
    textOf((await ask('rotate shop')).body),
    'Actions Rotate secret of Store front shop/2 Rotate secret of Shop <one> shop/1',
  )
  t.match(textOf((await ask('rotaet')).body), 'No matches')
  t.match(textOf((await ask('suspend frnot')).body), 'No matches', 'it is suspended')
  t.match(textOf((await ask('resume frnot')).body), 'almost like them: Actions Resume Store front shop/2')
  t.match(textOf((await ask('register suite')).body), 'Audit Suite registered Pages Register a suite')
  t.match((await search('rotate shop')).body, 'No matches')
  t.match((await search('register suite')).headers.location, 'action=suite+registered')
  t.match(await admin.body('/applications/shop%2F1'), '<p class="question" id="suspend">')
})

t.test('Search: what is called exactly so comes first, then what begins so, then the newest', async (t) => {
  const { signIn, administration } = await start(t)
  const names = ['Returns', 'Returns EU', 'Old returns', ...Array.from({ length: 12 }, (_, n) => `More returns ${n}`)]
  for (const [n, name] of names.entries())
    await administration.applications.register({ clientId: `app-${n}`, name, suites: [] })
  const admin = await signIn()
  const ask = async (text: string) => textOf(await admin.body(`/palette?q=${encodeURIComponent(text)}`))
  t.match(await ask('RETURNS'), /Applications Returns app-0 Returns EU app-1 More returns 11 app-14 .* All that match/)
  const near = await admin.body('/palette?q=retunrs')
  t.match(near, 'spelt almost like them')
  t.notMatch(near, 'search=retunrs', 'the list would not find them')
  t.match(
    await ask('rotate secret of returns'),
    'Actions Rotate secret of Returns app-0 Rotate secret of Returns EU app-1 Rotate secret of More returns 11 app-14',
  )
  t.match(await ask('approve returns for store'), 'Actions Approve Returns for a suite app-0 Approve Returns EU')
  t.match(await ask('old returns'), 'Applications Old returns app-2')
  t.match(await admin.text('/applications/app-0'), 'Rotate secret… Rotate the secret of Returns?')
})

t.test('Search: the palette gets the same hits without the page, and nothing without a session', async (t) => {
  const { visit, signIn } = await start(t)
  const browser = await signIn('viewer')
  const page = await browser.body('/search?q=store')
  const part = await browser.body('/palette?q=store')
  const [, hits = 'none'] = /<div data-found>(.*)<\/div>$/s.exec(part) ?? []
  t.ok(page.includes(hits.replaceAll('palette-', 'found-')))
  t.match(await browser.body('/palette?q=anna'), 'href="/applications/anna"', 'a single hit, too')
  t.equal(await visit.location('/palette?q=anna'), '/login')
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

t.test('Search: a federated credential is found by its subject', async (t) => {
  const { search, administration } = await start(t)
  const rule = { issuer: 'https://ci.example', subject: 'repo:acme/price-feed:ref:main', audience: null, claims: {} }
  await administration.federated.add('shop/1', { ...rule, keys: null, ends_at: null })
  const [credential] = (await administration.secrets.list('shop/1')).filter(({ federated }) => federated)
  for (const text of ['acme/price', 'main price-feed', rule.subject])
    t.equal((await search(text)).headers.location, `/secrets?open=${credential?.id}`, text)
  await administration.secrets.revoke('shop/1', Number(credential?.id))
  t.match((await search('acme/price')).body, 'No matches', 'unless it is revoked')
})
