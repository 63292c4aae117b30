import t, { type Test } from 'tap'
import { howToCheckTokens } from '../../../src/admin/console/secrets.ts'
import { copyOf, createConsoleWorld, textOf, unescaped } from '../../support/console-world.ts'
import { refusal } from '../../support/refusal.ts'
import { START } from '../../support/world.ts'

const HOSTILE = `<script>alert(1)</script>"'&amp;`

/** A console with a suite, and a signed-in operator. */
async function setting(t: Test) {
  const world = await createConsoleWorld(t)
  const { applications, suites } = world.administration
  await suites.register({ suiteId: 'store', name: 'Store API' })
  const register = (clientId: string, suites = ['store']) =>
    applications.register({ name: `N ${clientId}`, clientId, suites })
  return { ...world, register, browser: await world.signIn() }
}

t.test('Suites: they are listed with their state and the number of approved applications', async (t) => {
  const { browser, administration, register, store } = await setting(t)
  const { secrets, suites } = administration
  const text = () => browser.text('/suites')
  await register('a')
  await suites.register({ suiteId: 'other', name: HOSTILE })
  await secrets.rotate('other', 3_600_000)
  t.match(await text(), /Store API store active 0 0 1 \S+ \S+ UTC /)
  t.match(await text(), / other active 0 0 0 \S+ \S+ UTC /)
  const [old, young] = (await secrets.list('other')).map(({ id }) => id) as [number, number]
  await secrets.revoke('other', young)
  t.match(await text(), ' other secret ends ')
  t.match(await browser.text('/suites/other'), `${HOSTILE} secret ends Approve or withdraw… Edit `)
  t.match(await browser.text('/suites/other'), / revoked by tester , .* end set by tester , /)
  await secrets.revoke('other', old, { force: true })
  await store.recordRefusals([refusal('other', { endpoint: '/v1/oauth/introspect' })])
  t.match(await text(), ' other failing no secret ')
  t.match(await browser.text('/suites/other'), `${HOSTILE} failing no secret Approve or withdraw… Edit `)
  t.notMatch(await browser.body('/suites'), '<script>alert')
  store.countApproved = async (ids) => ids.map(() => 1000)
  t.match(await text(), '1,000 or more')
})

t.test('Suites: they have the checks and refusals of the last hour, and are sorted by them, or by name', async (t) => {
  const { browser, administration, store } = await setting(t)
  for (const [n, name] of ['b', 'c', 'a'].entries()) {
    await administration.suites.register({ suiteId: name, name })
    await store.addUsage([{ clientId: name, tokens: 0, checks: 1200 + n, refusals: 9 - n }], START - n * 20 * 60_000)
  }
  const idsIn = async (query: string) =>
    [...(await browser.body(`/suites?${query}`)).matchAll(/<code title="(\w+)">/g)].map(([, id]) => id)
  t.strictSame(await idsIn(''), ['store', 'b', 'c', 'a'])
  t.strictSame(await idsIn('sort=name'), ['a', 'b', 'c', 'store'])
  t.strictSame(await idsIn('sort=checks'), ['a', 'c', 'b', 'store'])
  t.strictSame(await idsIn('sort=refusals'), ['b', 'c', 'a', 'store'])
  t.match(await browser.text('/suites'), ' b active 1,200 9 0 ')
  t.match(await browser.text('/suites'), ' 4 suites · Export')
})

t.test('New suite: the response says how to use the credentials', async (t) => {
  const { browser, register } = await setting(t)
  await register('a', [])
  const send = (suite_id: string) => browser('/new-suite', { form: { suite_id, name: 'Product API' } })
  const { body } = await send('product')
  t.equal(copyOf(body, 'verify'), 'http://localhost:8080/v1/oauth/verify/product')
  t.match(copyOf(body, 'use'), /^curl -i 'http:\/\/localhost:8080\/v1\/oauth\/verify\/product' .*ACCESS_TOKEN"$/s)
  t.match(textOf(body), 'No application is approved for it yet (there is 1)')
  t.match(body, '<a href="/applications?for=product">Approve those that may use it</a>')
  await register('b', [])
  t.match(textOf((await send('third')).body), '(there are 2)')
  const urls = { publicUrl: 'https://token.example', introspectionUrl: 'https://api.internal/introspect' }
  const docs = (docsUrl: string | undefined) => howToCheckTokens({ clientId: 'store', ...urls, docsUrl }).text
  t.equal(copyOf(docs(undefined), 'introspect'), urls.introspectionUrl)
  t.match(copyOf(docs(undefined), 'introspect-curl'), /^curl 'https:\/\/api\.internal\/introspect' /)
  t.match(docs('https://docs.example'), '<a href="https://docs.example" rel="noreferrer">Read more <svg')
  t.notMatch(docs(undefined), 'Read more')
})

t.test('Suite: its page shows its health, a link to its approved applications, and its last changes', async (t) => {
  const { browser, store, register } = await setting(t)
  const empty = await browser.text('/suites/store')
  t.match(
    empty,
    /Edit .* No problem is known\. None of its requests is refused now\..*Last refusals of its own requests/,
  )
  t.match(empty, 'No application is approved yet')
  await register('a')
  await store.recordRefusals([refusal('store', { endpoint: '/v1/oauth/introspect', count: 3 })])
  const { body } = await browser('/suites/store')
  t.match(textOf(body), /There is a problem\. Its requests are refused, 3 times, .* “Rotate secret”.* Rotate secret… /)
  t.match(textOf(body), 'Approved applications (1)')
  t.match(textOf(body), /Last changes All changes .* Suite registered/)
  t.match(body, '<a class="button" href="/applications?suite=store">List 1 application</a></div>')
  t.match(textOf(body), 'Store API failing Approve or withdraw… Edit')
  t.match(body, /<nav class="contents".*<li><a href="#approved">Approved applications \(1\)</s)
  t.equal(await browser.status('/suites/nowhere'), 404)
})

t.test('Suite: its page lists the checks that were refused there, with the application if it is known', async (t) => {
  const { browser, register, administration, store } = await setting(t)
  await register('a')
  await administration.suites.register({ suiteId: 'other', name: 'Other' })
  const check = { isKnown: true, suite: 'store', endpoint: '/v1/oauth/verify/:suite' }
  await store.recordRefusals([
    refusal('a', { ...check, reason: 'expired token', count: 5, lastAt: START + 1 }),
    refusal('store', { ...check, reason: 'unknown token', remoteAddress: '', count: 7 }),
    refusal('other', { ...check, suite: 'other', reason: 'malformed token' }),
    refusal('a', { ...check, suite: 'other', reason: 'expired token', lastAt: START - 3_600_000 }),
  ])
  const { body } = await browser('/suites/store')
  t.match(textOf(body), /Refused checks .* N a The .* expired token 5 .* no known application .* unknown token 7 /)
  t.match(textOf(body), 'Last refusals of its own requests No request was refused in the last 30 days.')
  t.notMatch(body, 'malformed token</')
  t.match(textOf(body), /This may need attention\. .*refused there within the last hour: see “Refused checks”/)
  t.match(await browser.text('/suites/other'), 'No problem is known.', 'earlier, or of strangers')
})

t.test('Suite: its name can be changed, unless another operator has done so', async (t) => {
  const { browser, administration } = await setting(t)
  const send = (form: Record<string, string>) => browser('/suites/store', { form })
  t.match((await send({ shown_name: 'Store API', name: 'Mine' })).headers.location, /^\/suites\/store\?changed=/)
  const late = await send({ shown_name: 'Store API', name: 'Theirs' })
  t.equal(late.statusCode, 409)
  t.match(textOf(late.body), 'Name: someone else has changed it to Mine in the meantime.')
  t.equal((await administration.suites.show('store')).name, 'Mine')
  t.equal(await browser.status('/suites/nowhere', { form: { name: 'X' } }), 404)
})

t.test('Suites: labels and a note are registered and edited, and a label links to its suites', async (t) => {
  const { browser, administration } = await setting(t)
  const form = { suite_id: 'product', name: 'Product API', labels: 'owner=web', note: 'One\r\nTwo' }
  t.match(await browser.body('/new-suite'), '<details><summary>URL, labels, and note</summary>')
  const refused = await browser.body('/new-suite', { form: { ...form, labels: 'Owner=web' } })
  t.match(refused, '<details open><summary>URL, labels, and note</summary>')
  await browser('/new-suite', { form })
  t.match(await administration.suites.show('product'), { labels: { owner: 'web' }, note: 'One\nTwo' })
  const { body } = await browser('/suites?label=owner%3Dweb')
  t.match(
    unescaped(body),
    '<a class="label" href="/suites/product" title="owner=web" aria-label="+1: owner=web">+1</a>',
  )
  t.match(await browser.body('/suites/product'), 'href="/suites?label=owner%3Dweb"')
  t.match(textOf(body), 'Those with the label owner=web · All suites')
  t.notMatch(body, 'Store API')
  t.match(await browser.body('/suites?label=nobody'), 'No suite has this label')
  await browser('/suites/product', { form: { shown_labels: 'owner=web', labels: '' } })
  const edited = { name: 'Product API', labels: { owner: undefined }, note: 'One\nTwo' }
  t.match(await administration.suites.show('product'), edited)
})

t.test('Suites: a URL is registered, shown and edited, and a wrong one is refused', async (t) => {
  const { browser, administration } = await setting(t)
  const form = { suite_id: 'mcp', name: 'MCP', url: 'https://MCP.example/' }
  await browser('/new-suite', { form })
  t.match(await administration.suites.show('mcp'), { url: 'https://mcp.example' })
  t.match(await browser.text('/suites/mcp'), 'URL https://mcp.example')
  const edit = (url: string) => browser('/suites/store', { form: { shown_url: '', url } })
  for (const [url, message] of [
    ['http://mcp.example', 'Nothing was changed. The URL must be an https URL'],
    ['https://mcp.example', 'The suites mcp and store cannot have the same URL'],
  ] as const) {
    const { statusCode, body } = await edit(url)
    t.equal(statusCode, 422)
    t.match(textOf(body), message)
  }
  await edit('https://store.example/mcp')
  t.match(await administration.suites.show('store'), { url: 'https://store.example/mcp' })
})

t.test('Suites: a page after the last one says so, and does not speak of a label', async (t) => {
  const { signIn, administration } = await createConsoleWorld(t)
  await administration.suites.register({ suiteId: 'store', name: 'Store API' })
  const text = await (await signIn('viewer')).text('/suites?from=50')
  t.match(text, 'The list ends on an earlier page.')
  t.notMatch(text, 'No suite has this label')
})

t.test('Suite: it is removed after a confirmation that says how many applications are affected', async (t) => {
  const { browser, administration, register } = await setting(t)
  const question = () => browser.text('/suites/store/remove')
  t.match(await question(), 'No application is approved for it.')
  await register('a')
  t.match(await question(), '1 application loses its approval for it.')
  await register('b')
  t.match(await question(), '2 applications lose their approval for it.')
  const removed = String(await browser.location('/suites/store/remove', { form: { typed_name: 'Store API' } }))
  t.match(await browser.text(removed), 'Store API is removed, with 1 secret.')
  t.strictSame(await administration.suites.list(), [])
  t.equal(await browser.status('/suites/store/remove'), 404)
})
