import t, { type Test } from 'tap'
import { findGenerated } from '../../../src/domain/secret.ts'
import { createConsoleWorld } from '../../support/console-world.ts'
import { actionsOf, copyOf, textOf, valuesOf } from '../../support/pages.ts'
import { SQLITE, startPostgresStore, type TestedStore } from '../../support/stores.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const OWNERS = { application: '/applications/client', suite: '/suites/client' } as const

/** A console with an application or a suite with the id `client` and one secret. */
async function setting(t: Test, kind: keyof typeof OWNERS, options?: Parameters<typeof createConsoleWorld>[1]) {
  const world = await createConsoleWorld(t, options)
  const { applications, suites, secrets } = world.administration
  if (kind === 'suite') await suites.register({ suiteId: 'client', name: 'The <b>' })
  else await applications.register({ clientId: 'client', name: 'The <b>', developerEmail: 'a@b.example' })
  const browser = await world.signIn()
  const path = OWNERS[kind]
  const form = async (fields: Record<string, string> = {}) => {
    const [request_key = ''] = valuesOf((await browser(path)).body, 'request_key')
    return { request_key, overlap: '86400', hours: '', ...fields }
  }
  const rotate = (form: Record<string, string>) => browser(`${path}/secrets`, { form })
  const list = () => secrets.list('client')
  return { ...world, browser, path, form, rotate, list }
}

for (const kind of ['application', 'suite'] as const) {
  t.test(`Secrets of an ${kind}: a new one is shown once, and a reload does not make another`, async (t) => {
    const { form, rotate, list, browser, path, lines, store, clock } = await setting(t, kind)
    const sent = await form()
    const { statusCode, body } = await rotate(sent)
    t.equal(statusCode, 200)
    const secret = copyOf(body, 'client-secret')
    t.ok(findGenerated(await list(), secret))
    t.equal(copyOf(body, 'client-id'), 'client')
    t.match(body, `<a class="button primary" href="${path}">`)
    t.notMatch(body, 'The <b>')
    const curl = kind === 'application' ? `'client_secret=${secret}'` : ''
    t.ok(copyOf(body, 'curl').endsWith(curl), 'an application gets tokens with it')
    t.equal(copyOf(body, 'curl') === '', kind === 'suite')
    const introspection = kind === 'suite' ? `'client_secret=${secret}'` : ''
    t.ok(copyOf(body, 'introspect-curl').endsWith(introspection), 'a suite introspects tokens with it')
    clock.time += MINUTE
    t.equal((await rotate(sent)).body, body, 'a reload')
    const [old, young] = await list()
    t.equal(old?.endsAt, clock.time - MINUTE + DAY)
    t.equal(young?.endsAt, null)
    t.equal((await list()).length, 2)
    for (const page of [path, '/audit']) t.notMatch((await browser(page)).body, secret)
    t.notMatch(lines.join('\n'), secret)
    t.notMatch(JSON.stringify([await list(), await store.listAuditEvents({ limit: 100 })]), secret)
  })

  t.test(`Secrets of an ${kind}: revoking the last active one needs a second confirmation`, async (t) => {
    const { browser, path, list } = await setting(t, kind)
    const [only] = await list()
    const revoke = (id: unknown, form = {}) => browser(`${path}/secrets/${id}/revoke`, { form })
    t.match((await browser(path)).body, /<input type="checkbox" name="force" value="yes" required>/)
    const refused = await revoke(only?.id)
    t.equal(refused.statusCode, 409)
    t.match(textOf(refused.body), 'is the last active one of client')
    t.equal((await list())[0]?.state, 'active')
    t.equal((await revoke(only?.id, { force: 'yes' })).headers.location, `${path}?done=secret-revoked`)
    const { body } = await browser(path)
    t.match(textOf(body), 'None of its secrets is valid')
    t.match(body, '<span class="badge quiet">revoked</span>')
    t.notOk(actionsOf(body).some((action) => action.endsWith('/revoke')))
    for (const id of [999, 'x', '1e3']) t.equal((await revoke(id)).statusCode, 404)
  })
}

t.test('Secrets: the others end after the chosen overlap, or after a number of hours', async (t) => {
  const { form, rotate, list, clock } = await setting(t, 'application')
  const last = async (fields: Record<string, string>) => {
    const shown = (await rotate(await form(fields))).body
    const isOver = fields.overlap === '0' && fields.hours === undefined
    t.match(textOf(shown), `The previous secrets ${isOver ? 'do not work any more.' : 'work until'}`)
    return Number((await list()).at(-2)?.endsAt) - clock.time
  }
  t.equal(await last({ overlap: '604800' }), 7 * DAY)
  t.equal(await last({ overlap: '3600' }), HOUR)
  t.equal(await last({ overlap: '0' }), 0)
  t.equal(await last({ overlap: '0', hours: '36' }), 36 * HOUR)
  t.equal(await last({ hours: '8760' }), 365 * DAY)
})

t.test('Secrets: an invalid overlap is reported at its field, and makes no secret', async (t) => {
  const { form, rotate, list } = await setting(t, 'application')
  for (const wrong of [
    { hours: '0' },
    { hours: '8761' },
    { hours: '1.5' },
    { hours: '-1' },
    { overlap: '5' },
    { overlap: '' },
  ]) {
    const sent = await form(wrong)
    const { statusCode, body } = await rotate(sent)
    t.equal(statusCode, 422)
    t.match(body, /<details class="confirm" open>.*id="field-hours-error">It must be a whole number of hours/s)
    t.strictSame(valuesOf(body, 'request_key'), [sent.request_key])
    t.strictSame(valuesOf(body, 'hours'), [sent.hours])
  }
  t.equal((await list()).length, 1)
})

t.test('Secrets: a form that is sent again with another overlap makes no second secret', async (t) => {
  const { form, rotate, list } = await setting(t, 'application')
  const sent = await form()
  await rotate(sent)
  const { statusCode, body } = await rotate({ ...sent, overlap: '0' })
  t.equal(statusCode, 422)
  t.match(textOf(body), 'This idempotency key was used for another request')
  t.equal((await list()).length, 2)
  const { request_key: _, ...without } = sent
  t.equal((await rotate(without)).statusCode, 200, 'a form without a request key is accepted')
})

t.test('Secrets: no secret is made for a removed owner', async (t) => {
  const { form, rotate, administration } = await setting(t, 'application')
  const sent = await form()
  await rotate(sent)
  await administration.applications.remove('client')
  t.equal((await rotate(sent)).statusCode, 404, 'a reload')
  t.equal((await rotate({ ...sent, request_key: 'other' })).statusCode, 404)
  t.equal((await rotate({ ...sent, request_key: 'third', hours: 'x' })).statusCode, 404)
})

t.test('Secrets: an unexpected error is not reported as an error of the form', async (t) => {
  const { form, rotate, store } = await setting(t, 'application')
  const sent = await form()
  store.rotateSecret = async () => {
    throw new Error('a bug')
  }
  t.equal((await rotate(sent)).statusCode, 500)
})

t.test('Console: the URLs of applications cannot change suites, and vice versa', async (t) => {
  for (const [kind, others] of [
    ['application', '/suites/client'],
    ['suite', '/applications/client'],
  ] as const) {
    const { form, browser, list, store } = await setting(t, kind)
    const before = JSON.stringify([await list(), await store.listAuditEvents({ limit: 100 })])
    const [only] = await list()
    const fields = { ...(await form()), force: 'yes', suite: 'client', name: 'X', developer_email: 'x@y.example' }
    const actions = ['secrets', `secrets/${only?.id}/revoke`, 'names', 'remove']
    const ofApplications = ['approvals', 'suspend', 'resume', 'revoke-tokens']
    for (const action of kind === 'suite' ? [...actions, ...ofApplications] : actions) {
      t.equal((await browser(`${others}/${action}`, { form: fields })).statusCode, 404, `${others}/${action}`)
    }
    for (const page of ['', '/remove']) t.equal((await browser(`${others}${page}`)).statusCode, 404)
    t.equal(JSON.stringify([await list(), await store.listAuditEvents({ limit: 100 })]), before)
  }
})

t.test('Secrets: state, end, age, origin and last use are shown, newest first', async (t) => {
  const { signIn, path, administration, store, list, clock } = await setting(t, 'application')
  await administration.applications.addSecret('client', 'an imported one')
  const [first] = await list()
  await store.recordSecretUses([{ secretId: Number(first?.id), lastUsedAt: clock.time }])
  clock.time += 3 * DAY
  await administration.secrets.rotate('client', HOUR)
  const text = textOf((await (await signIn())(path)).body)
  t.match(text, /3 generated active never \S+ \S+ UTC 0 s ago not used yet Revoke/)
  t.match(text, /2 imported active, ends \S+ \S+ UTC \S+ \S+ UTC 3 days ago not used yet/)
  t.match(text, /1 generated active, ends \S+ \S+ UTC \S+ \S+ UTC 3 days ago \d+ \w+ ago/)
})

t.test('Secrets: who revokes one is told which was used last, and how long the others stay valid', async (t) => {
  const { path, browser, administration, store, list, clock } = await setting(t, 'application')
  /** What is said before a secret is revoked, oldest secret first. */
  const questions = async () => {
    const text = textOf((await browser(path)).body)
    return [...text.matchAll(/This cannot be undone\. (.*?) Revoke Cancel/g)].map(([, question]) => question).reverse()
  }
  await administration.secrets.rotate('client', DAY)
  const [first, second] = (await list()).map(({ id }) => id) as [number, number]
  const none = 'None of the active secrets was used yet.'
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

t.test('Secrets: a secret that was never shown is marked as such', async (t) => {
  const { administration, browser } = await setting(t, 'application')
  const seeds = { suites: [], applications: [{ name: 'Seeded', developerEmail: 'a@b.example', clientId: 'seeded' }] }
  for await (const _ of administration.seed.register(await administration.seed.plan('x', seeds))) break
  t.match(textOf((await browser('/applications/seeded')).body), 'never shown – ')
})

const flow = (tested: TestedStore) => async (t: Test) => {
  const { form, rotate, list, browser, path, administration } = await setting(
    t,
    'application',
    await tested.createEnv(t),
  )
  const sent = await form({ hours: '2' })
  const { body } = await rotate(sent)
  t.equal((await rotate(sent)).body, body)
  t.ok(findGenerated(await list(), copyOf(body, 'client-secret')))
  const [old] = await list()
  t.equal((await browser(`${path}/secrets/${old?.id}/revoke`, { form: {} })).statusCode, 303)
  await administration.suites.register({ suiteId: 'store', name: 'Store' })
  t.equal((await browser(`${path}/approvals`, { form: { suite: 'store' } })).statusCode, 303)
  const shown = textOf((await browser(path)).body)
  t.match(shown, /Approval|Application approved/)
  t.match((await browser('/suites')).body, '<a href="/suites/store">')
  t.match(textOf((await browser('/suites/store')).body), 'Approved applications (1)')
  t.match(textOf((await browser('/applications?search=client')).body), ' store ')
  t.equal((await browser(`${path}/remove`, { form: {} })).statusCode, 303)
  t.equal((await browser(path)).statusCode, 404)
}

t.test('Secrets, approvals and lists: all of it works on SQLite', flow(SQLITE))

t.test('Secrets, approvals and lists: all of it works on PostgreSQL', async (t) => flow(await startPostgresStore())(t))
