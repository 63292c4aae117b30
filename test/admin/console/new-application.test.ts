import t, { type Test } from 'tap'
import { createConsoleWorld } from '../../support/console-world.ts'
import { copyOf, deadLinksOf, textOf, valuesOf } from '../../support/pages.ts'

const HOUR = 3_600_000

async function setting(t: Test) {
  const world = await createConsoleWorld(t)
  for (const suiteId of ['store', 'product'])
    await world.administration.suites.register({ suiteId, name: `The ${suiteId}` })
  const browser = await world.signIn()
  /** The form as a browser submits it right after loading. */
  async function form(fields: Record<string, string | string[]> = {}) {
    const { body } = await browser('/new-application')
    const [request_key = ''] = valuesOf(body, 'request_key')
    return {
      request_key,
      name: 'Shop',
      developer_email: 'dev@partner.example',
      client_id: '',
      suite: valuesOf(body, 'suite'),
      ...fields,
    }
  }
  const send = (form: Record<string, string | string[]>) => browser('/new-application', { form })
  const count = () => world.store.countApplications()
  return { ...world, browser, form, send, count }
}

t.test('New application: the form has every suite ticked, and a new request key each time', async (t) => {
  const { browser, form } = await setting(t)
  const { body } = await browser('/new-application')
  t.equal(body.match(/name="suite" value="[a-z]+" checked/g)?.length, 2)
  t.match(body, /<details><summary>Use an existing client id/)
  t.match(body, /<input id="field-name"[^>]* autofocus/, 'the first field has the focus')
  t.match(body, 'A suite is an API.')
  t.not((await form()).request_key, (await form()).request_key)
})

t.test(
  'New application: the response has the credentials, a command that works with them, and a link to the application',
  async (t) => {
    const { form, send, administration } = await setting(t)
    const { statusCode, body, headers } = await send(await form())
    t.equal(statusCode, 200)
    t.equal(headers['cache-control'], 'no-store')
    const [clientId, secret] = [copyOf(body, 'client-id'), copyOf(body, 'client-secret')]
    t.match(clientId, /^[A-Za-z0-9]{32}$/)
    t.match(secret, /^[A-Za-z0-9]{40}$/)
    t.equal(
      copyOf(body, 'curl'),
      `curl 'http://localhost:8080/v1/oauth/accesstoken' \\
  -d 'grant_type=client_credentials' \\
  --data-urlencode 'client_id=${clientId}' \\
  --data-urlencode 'client_secret=${secret}'`,
    )
    t.match(textOf(body), 'Use it at store')
    t.equal(
      copyOf(body, 'use'),
      `curl -i 'http://localhost:8080/v1/oauth/verify/store' \\\n  -H "Authorization: Bearer ACCESS_TOKEN"`,
    )
    t.match(textOf(body), 'Copy the secret now. When you leave this page, it cannot be shown again.')
    t.match(body, `href="/applications/${clientId}"`)
    t.match(await administration.applications.show(clientId), {
      name: 'Shop',
      developerEmail: 'dev@partner.example',
      suites: ['store', 'product'],
    })
  },
)

t.test(
  'New application: a reload shows the same secret and registers nothing; no other page has the secret',
  async (t) => {
    const { form, send, count, lines, store, browser } = await setting(t)
    const sent = await form()
    const first = await send(sent)
    const again = await send(sent)
    t.equal(copyOf(again.body, 'client-secret'), copyOf(first.body, 'client-secret'))
    t.equal(again.body, first.body)
    t.equal(await count(), 1)
    const secret = copyOf(first.body, 'client-secret')
    const clientId = copyOf(first.body, 'client-id')
    for (const page of ['/applications', `/applications/${clientId}`, '/audit', '/new-application']) {
      t.notMatch((await browser(page)).body, secret, page)
    }
    t.notMatch(lines.join('\n'), secret)
    t.notMatch(JSON.stringify(await store.listAuditEvents({ limit: 100 })), secret)
    t.notMatch(JSON.stringify(await store.findApplication(clientId)), secret)
  },
)

t.test('New application: after going back and changing the form, it must be sent once more', async (t) => {
  const { form, send, count } = await setting(t)
  const sent = await form()
  await send(sent)
  const { statusCode, body } = await send({ ...sent, name: 'Another' })
  t.equal(statusCode, 422)
  t.match(valuesOf(body, 'name'), ['Another'])
  const [key = ''] = valuesOf(body, 'request_key')
  t.not(key, sent.request_key)
  t.equal(await count(), 1)
  t.equal((await send({ ...sent, name: 'Another', request_key: key })).statusCode, 200)
  t.equal(await count(), 2)
})

t.test('New application: a form that is sent a day later registers nothing, because the session is over', async (t) => {
  const { form, send, count, clock, signIn } = await setting(t)
  const sent = await form()
  await send(sent)
  clock.time += 25 * HOUR
  t.equal((await send(sent)).statusCode, 401)
  const other = await (await signIn())('/new-application', { form: { ...sent, client_id: 'mine' } })
  t.equal(other.statusCode, 200, 'sealed answers are kept for a day at most')
  t.equal(await count(), 2)
})

t.test('New application: a form from an earlier session is refused for its key, and can be sent again', async (t) => {
  const { form, send, count, signIn } = await setting(t)
  const sent = await form()
  await send(sent)
  const { statusCode, body } = await (await signIn())('/new-application', { form: sent })
  t.equal(statusCode, 422)
  t.not(valuesOf(body, 'request_key')[0], sent.request_key)
  t.equal(await count(), 1)
})

t.test('New application: errors are shown at their fields, and input is kept', async (t) => {
  const { form, send, count } = await setting(t)
  const sent = await form({ name: ' ', developer_email: '<b>', client_id: 'ü', suite: ['product'] })
  const { statusCode, body } = await send(sent)
  t.equal(statusCode, 422)
  t.match(body, /<p class="error" id="field-name-error">The name must not be empty\.</)
  t.match(body, /<p class="error" id="field-developer_email-error">The developer email must be an email address\.</)
  t.match(body, /<details open>.*<p class="error" id="field-client_id-error">The client id must be/s)
  t.match(body, '<a href="#field-name">')
  t.match(valuesOf(body, 'developer_email'), ['<b>'])
  t.match(body, /value="product" checked/)
  t.notMatch(body, /value="store" checked/)
  t.strictSame(valuesOf(body, 'request_key'), [sent.request_key])
  t.equal(await count(), 0)
})

t.test('New application: a taken client id and a removed suite are reported at the field', async (t) => {
  const { form, send, administration } = await setting(t)
  const taken = await send(await form({ client_id: 'store' }))
  t.equal(taken.statusCode, 409)
  t.match(taken.body, /id="field-client_id-error">The id store is taken already\./)
  const sent = await form()
  await administration.suites.remove('product')
  const gone = await send(sent)
  t.equal(gone.statusCode, 422)
  t.match(gone.body, /id="field-suite-error">There is no suite with the id product\.</)
  t.strictSame(
    [taken, gone].flatMap(({ body }) => deadLinksOf(body)),
    [],
  )
  t.notMatch(gone.body, 'value="product"')
})

t.test(
  'New application: an own client id is quoted for the shell, and the page says if there are no suites',
  async (t) => {
    const { form, send } = await setting(t)
    const { body } = await send(await form({ client_id: `it's<b>&x`, suite: [] }))
    t.match(copyOf(body, 'curl'), `--data-urlencode 'client_id=it'\\''s<b>&x' \\`)
    t.match(textOf(body), 'It is not approved for any suite')
    t.notMatch(body, 'client_id=it&#39;\\&#39;&#39;s<b>')
  },
)

t.test('New application: the form works without suites, and viewers do not get it', async (t) => {
  const { browser, administration, signIn, form, count } = await setting(t)
  for (const suiteId of ['store', 'product']) await administration.suites.remove(suiteId)
  t.match((await browser('/new-application')).body, 'There are no suites yet')
  const viewer = await signIn('viewer')
  t.equal((await viewer('/new-application')).statusCode, 403)
  t.equal((await viewer('/new-application', { form: await form() })).statusCode, 403)
  t.equal(await count(), 0)
})

t.test('New application: an internal error is not reported as an error of the form', async (t) => {
  const { send, form, store } = await setting(t)
  const sent = await form()
  store.register = async () => {
    throw new Error('a bug')
  }
  t.equal((await send(sent)).statusCode, 500)
})
