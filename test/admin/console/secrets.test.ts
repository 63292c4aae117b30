import t, { type Test } from 'tap'
import { findGenerated } from '../../../src/domain/secret.ts'
import { actionsOf, copyOf, createConsoleWorld, textOf, valuesOf, withoutIcons } from '../../support/console-world.ts'
import { registrationJson } from '../../support/registration.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A console with an application or a suite with the id `client` and one secret. */
async function setting(t: Test, kind: 'application' | 'suite' = 'application') {
  const world = await createConsoleWorld(t)
  const { applications, suites, secrets } = world.administration
  if (kind === 'suite') await suites.register({ suiteId: 'client', name: 'The <b>' })
  else await applications.register({ clientId: 'client', name: 'The <b>' })
  const browser = await world.signIn()
  const path = `/${kind}s/client`
  /** The form of a page as a browser submits it, with these fields. */
  const form = async (fields: Record<string, string> = {}, page = path) => {
    const [request_key = ''] = valuesOf(await browser.body(page), 'request_key')
    return { request_key, overlap: '86400', hours: '', ...fields }
  }
  const rotate = (form: Record<string, string>) => browser(`${path}/secrets`, { form })
  const revoke = (id: unknown, form = {}) => browser(`${path}/secrets/${id}/revoke`, { form })
  const list = (id = 'client') => secrets.list(id)
  return { ...world, browser, path, form, rotate, revoke, list }
}

const NEW_APPLICATION = registrationJson({ client_id: 'new' })
/** The forms that make credentials: the address, the fields, whose they are, and other fields. */
const MAKERS: [kind: 'application' | 'suite', url: string, fields: object, id: string, others: object][] = [
  ['application', '/new-application', NEW_APPLICATION, 'new', { client_id: 'other' }],
  ['suite', '/new-suite', { suite_id: 'new', name: 'New' }, 'new', { suite_id: 'other' }],
  ['application', '/applications/client/secrets', {}, 'client', { overlap: '0' }],
  ['suite', '/suites/client/secrets', {}, 'client', { overlap: '0' }],
]

for (const [kind, url, fields, id, others] of MAKERS) {
  t.test(`Credentials: those made at ${url} are shown once, and a reload makes no others`, async (t) => {
    const { form, list, browser, signIn, lines, store, clock } = await setting(t, kind)
    const page = url.replace('/secrets', '')
    const sent = await form({ ...fields }, page)
    t.not((await form({}, page)).request_key, sent.request_key)
    const { statusCode, headers, body } = await browser(url, { form: sent })
    t.strictSame([statusCode, headers['cache-control']], [200, 'no-store'])
    const secret = copyOf(body, 'client-secret')
    t.equal(copyOf(body, 'client-id'), id)
    const made = await list(id)
    t.ok(findGenerated(made, secret))
    t.match(body, `<a class="button primary" href="/${kind}s/${id}">`)
    t.notMatch(body, 'The <b>')
    clock.time += MINUTE
    t.equal(await browser.body(url, { form: sent }), body, 'a reload')
    t.strictSame(await list(id), made)
    for (const path of [page, `/${kind}s`, `/${kind}s/${id}`, '/audit']) t.notMatch(await browser.body(path), secret)
    t.notMatch(JSON.stringify([lines, made, await store.listAuditEvents({ limit: 100 })]), secret)

    const inAnotherSession = await (await signIn())(url, { form: sent })
    const changed = await browser(url, { form: { ...sent, ...others } })
    for (const { statusCode, body } of [inAnotherSession, changed]) {
      t.equal(statusCode, 422)
      t.match(textOf(body), 'This idempotency key was used for another request')
    }
    t.strictSame(await list(id), made)
    const [request_key = ''] = valuesOf(changed.body, 'request_key')
    t.not(request_key, sent.request_key)
    t.equal(await browser.status(url, { form: { ...sent, ...others, request_key } }), 200, 'sent once more')
  })
}

for (const kind of ['application', 'suite'] as const) {
  t.test(`Secrets: revoking the last active one of an ${kind} needs the name of its owner`, async (t) => {
    const { browser, path, list, revoke } = await setting(t, kind)
    const [only] = await list()
    t.match(await browser.body(path), /<input type="hidden" name="force" value="yes">/)
    const refused = await revoke(only?.id)
    t.equal(refused.statusCode, 409)
    t.match(textOf(refused.body), 'is the last active one of client')
    t.equal((await list())[0]?.state, 'active')
    t.equal(
      (await revoke(only?.id, { force: 'yes', typed_name: 'The <b>' })).headers.location,
      `${path}?done=secret-revoked`,
    )
    const { body } = await browser(path)
    t.match(textOf(body), 'None of its secrets is valid')
    t.match(withoutIcons(body), '<span class="badge quiet">revoked</span>')
    t.notOk(actionsOf(body).some((action) => action.endsWith('/revoke')))
    for (const id of [999, 'x', '1e3']) t.equal((await revoke(id)).statusCode, 404)
  })

  t.test(`Console: the URLs of other kinds cannot change an ${kind}`, async (t) => {
    const { form, browser, list, store } = await setting(t, kind)
    const state = async () => JSON.stringify([await list(), await store.listAuditEvents({ limit: 100 })])
    const before = await state()
    const [only] = await list()
    const fields = { ...(await form()), force: 'yes', suite: 'client', name: 'X', developer_email: 'x@y.example' }
    const ofApplications = ['/suspend', '/resume', '/revoke-tokens']
    const others = kind === 'suite' ? '/applications/client' : '/suites/client'
    for (const action of [
      ...['', '/secrets', `/secrets/${only?.id}/revoke`, '/remove'],
      ...(kind === 'suite' ? ofApplications : []),
    ]) {
      t.equal(await browser.status(others + action, { form: fields }), 404, others + action)
    }
    for (const page of ['', '/remove']) t.equal(await browser.status(`${others}${page}`), 404)
    t.equal(await state(), before)
  })
}

t.test('Secrets: the others end after the chosen overlap, or after a number of hours', async (t) => {
  const { form, rotate, list, clock } = await setting(t)
  for (const [fields, overlap] of [
    [{ overlap: '604800' }, 7 * DAY],
    [{ overlap: '0' }, 0],
    [{ overlap: '0', hours: '36' }, 36 * HOUR],
    [{ hours: '8760' }, 365 * DAY],
  ] as const) {
    const { body } = await rotate(await form(fields))
    t.match(textOf(body), `The previous secrets ${overlap === 0 ? 'do not work any more.' : 'work until'}`)
    t.ok(copyOf(body, 'curl').endsWith(`'client_secret=${copyOf(body, 'client-secret')}'`), 'and how to use it')
    t.equal(Number((await list()).at(-2)?.endsAt) - clock.time, overlap)
  }
  const ofSuite = await setting(t, 'suite')
  t.match(copyOf((await ofSuite.rotate(await ofSuite.form())).body, 'introspect-curl'), 'client_secret=')
})

t.test('Secrets: a rotation names the secrets that it ends, if there are several', async (t) => {
  const { administration, browser, path, list } = await setting(t)
  const question = async () => /Rotate the secret of .*?Current secrets/.exec(textOf(await browser.body(path)))?.[0]
  t.notMatch(await question(), 'All of these end')
  await administration.secrets.rotate('client', DAY)
  const [old, newer] = (await list()).map(({ id }) => id)
  t.match(
    await question(),
    `All of these end then, if not before: Secret ${old}, until 2027-01-16 08:00 UTC Secret ${newer} `,
  )
})

t.test('Secrets: none is made for a removed owner', async (t) => {
  const { form, rotate, administration } = await setting(t)
  const { request_key: _, ...without } = await form()
  t.equal((await rotate(without)).statusCode, 200, 'a form without a request key is accepted')
  const sent = await form()
  await rotate(sent)
  await administration.applications.remove('client')
  for (const changed of [{}, { request_key: 'other' }, { request_key: 'third', hours: 'x' }]) {
    t.equal((await rotate({ ...sent, ...changed })).statusCode, 404)
  }
})

t.test('Secrets: state, end, age, origin and last use are shown, newest first', async (t) => {
  const { path, signIn, administration, store, list, clock } = await setting(t)
  await administration.applications.addSecret('client', 'an imported one')
  const [first] = await list()
  await store.recordSecretUses([{ secretId: Number(first?.id), lastUsedAt: clock.time, lastUsedFrom: '192.0.2.1' }])
  clock.time += 3 * DAY
  await administration.secrets.rotate('client', HOUR)
  const browser = await signIn()
  const text = await browser.text(path)
  t.match(text, /secret 3 · generated active never 0 s ago not used yet Revoke/)
  t.match(text, /secret 2 · imported active, ends \S+ \S+ UTC end set by tester , \S+ \S+ UTC 3 days ago not used yet/)
  t.match(
    text,
    /secret 1 · generated active, ends \S+ \S+ UTC end set .* UTC 3 days ago \d+ \w+ ago from 192\.0\.2\.1 /,
  )
})

t.test('Secrets: who revokes one is told which was used last, and how long the others stay valid', async (t) => {
  const { path, browser, administration, store, list, clock } = await setting(t)
  /** What is said before a secret is revoked, oldest secret first. */
  const questions = async () => {
    const text = await browser.text(path)
    return [...text.matchAll(/This cannot be undone\. (.*?) Revoke Cancel/g)].map(([, question]) => question).reverse()
  }
  await administration.secrets.rotate('client', DAY)
  const [first, second] = (await list()).map(({ id }) => id) as [number, number]
  const none = 'None of the active secrets has been used yet.'
  const tomorrow = '2027-01-16 08:00 UTC'
  t.match(await questions(), [
    `${none} Secret ${second} stays valid.`,
    `${none} Secret ${first} stays valid until ${tomorrow} .`,
  ])
  await store.recordSecretUses([{ secretId: first, lastUsedAt: clock.time }])
  clock.time += MINUTE
  const [ofFirst, ofSecond] = await questions()
  t.match(ofFirst, /^This secret was used last, 60 s ago \. /)
  t.match(ofSecond, new RegExp(`^Secret ${first} was used last, 60 s ago \\. Secret ${first} stays valid until`))
  await administration.secrets.rotate('client', HOUR)
  t.match((await questions())[0], 'The 2 others stay valid.')
  t.match((await questions())[2], 'The 2 others stay valid until 2027-01-15 09:01 UTC at the latest.')
})
