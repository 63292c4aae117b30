import t, { type Test } from 'tap'
import { actionsOf, copyOf, createConsoleWorld, textOf, valuesOf } from '../../support/console-world.ts'
import { registrationJson } from '../../support/registration.ts'
import { createSigner, SUBJECT } from '../../support/workload-issuer.ts'

const DAY = 24 * 60 * 60_000
const PAGE = '/applications/shop'
const RULE = { issuer: 'https://issuer.example', subject: SUBJECT }

/** A console with the application `shop`, which has one secret. */
async function setting(t: Test) {
  const world = await createConsoleWorld(t)
  await world.administration.applications.register({ clientId: 'shop', name: 'Shop' })
  const browser = await world.signIn()
  const list = (id = 'shop') => world.administration.secrets.list(id)
  const add = (form: Record<string, string>) => browser(`${PAGE}/federated`, { form })
  return { ...world, browser, list, add }
}

t.test('Federated: the page of an application adds a credential, once, and lists it with the secrets', async (t) => {
  const { browser, list, add, signIn, lines } = await setting(t)
  const [request_key = ''] = valuesOf(
    /action="[^"]*\/federated">.*/s.exec(await browser.body(PAGE))?.[0] ?? '',
    'request_key',
  )
  const { jwk } = await createSigner()
  const keys = JSON.stringify({ keys: [jwk] })
  const form = { ...RULE, request_key, audience: 'x', claims: 'ref=main\r\n\r\na=<b>', keys, ends_at: '2027-06-30' }
  for (const sent of ['once', 'again'])
    t.equal((await add(form)).headers.location, `${PAGE}?done=federated-added`, sent)
  const rule = { ...RULE, audience: 'x', claims: { a: '<b>', ref: 'main' }, keys: [{ kty: 'EC' }] }
  t.match(await list(), [{}, { id: 2, federated: rule, endsAt: Date.parse('2027-06-30') }])
  t.equal((await list()).length, 2)
  t.match(JSON.parse(lines.at(-1) as string), { msg: 'secret added', client_id: 'shop', actor: 'anna' })
  const text = await browser.text(PAGE)
  t.match(text, `credential 2 · federated ${SUBJECT} active, ends`)
  const shown = `Credential 2 iss=https://issuer.example sub=${SUBJECT} aud=x a=<b> ref=main Given keys: 1`
  t.match(text, shown)
  t.match(await browser.text(`${PAGE}?done=federated-added`), 'The federated credential is added')
  t.match(await browser.text('/secrets'), `Shop shop credential 2 · federated ${SUBJECT}`)
  const viewer = await signIn('viewer')
  t.notMatch(actionsOf(await viewer.body(PAGE)).join(), 'federated')
  t.equal(await viewer.status(`${PAGE}/federated`, { form: RULE }), 403)
  t.equal(await browser.status('/applications/nobody/federated', { form: RULE }), 404)
})

t.test('Federated: what is wrong in the form is said at its field, and what was entered stays', async (t) => {
  const { add, list } = await setting(t)
  for (const [wrong, message, field] of [
    [{ issuer: 'github' }, 'The issuer must be an https URL without a user, a query or a fragment.', 'issuer'],
    [{ subject: '' }, 'The subject must be 1 to 500 characters on one line.', 'subject'],
    [{ subject: 'repo:a/b-*' }, 'In the subject, * must be all that is between two of : and /.', 'subject'],
    [{ claims: 'ref' }, 'A claim must be name=value.', 'claims'],
    [{ keys: '{' }, 'The keys must be a list of JWKs.', 'keys'],
    [{ ends_at: '2027-02-30' }, 'The end must be a time with its zone, such as 2027-01-31T12:00:00Z.', 'ends_at'],
    [{ ends_at: 'x' }, 'The end must be a time with its zone, such as 2027-01-31T12:00:00Z.', 'ends_at'],
  ] as const) {
    const { statusCode, body } = await add({ ...RULE, ...wrong })
    t.equal(statusCode, 422, field)
    t.match(body, `<a href="#field-${field}">${message}</a>`)
    t.match(body, '<details class="confirm" open><summary class="button">Add a federated credential…')
    t.equal(valuesOf(body, 'issuer')[0], wrong === undefined ? '' : { ...RULE, ...wrong }.issuer)
  }
  t.equal((await add(RULE)).statusCode, 303)
  const again = await add(RULE)
  t.equal(again.statusCode, 409)
  t.match(textOf(again.body), 'shop already has this federated credential: 2.')
  t.equal((await list()).length, 2)
})

t.test('Federated: secrets that it has replaced are proposed for the end after a week', async (t) => {
  const { add, signIn, store, clock } = await setting(t)
  const advice = /A federated credential is in use, and no secret was used for a week\. Revoke .*: secret 1\./
  const page = async () => (await signIn()).text(PAGE)
  await add(RULE)
  clock.time += 7 * DAY
  t.notMatch(await page(), advice, 'it is not used')
  await store.recordSecretUses([{ secretId: 2, lastUsedAt: clock.time }])
  t.match(await page(), advice)
  await store.recordSecretUses([{ secretId: 1, lastUsedAt: clock.time - 7 * DAY + 1 }])
  t.notMatch(await page(), advice, 'the secret was used')
})

t.test('Federated: a credential is revoked like a secret, the last one with the name of the application', async (t) => {
  const { browser, add, list, administration } = await setting(t)
  await add(RULE)
  t.match(await browser.text(PAGE), /Requests with this credential are refused/)
  await administration.secrets.revoke('shop', 1)
  t.match(await browser.text(PAGE), 'This is the last active credential. Without it, all requests are refused')
  const revoke = `${PAGE}/secrets/2/revoke`
  t.equal(await browser.status(revoke, { form: {} }), 409)
  t.equal(
    await browser.location(revoke, { form: { force: 'yes', typed_name: 'Shop' } }),
    `${PAGE}?done=credential-revoked`,
  )
  t.match(await list(), [{ state: 'revoked' }, { state: 'revoked' }])
})

t.test('Federated: an application can be registered without a secret', async (t) => {
  const { browser, list } = await setting(t)
  const form = registrationJson({ client_id: 'new', ...RULE })
  const { statusCode, body } = await browser('/new-application', { form })
  t.equal(statusCode, 200)
  t.equal(copyOf(body, 'client-id'), 'new')
  t.notMatch(body, 'client-secret')
  t.match(textOf(body), 'It has no secret')
  t.match(await list('new'), [{ origin: 'federated', federated: RULE }])
  const forgotten = await browser('/new-application', { form: { ...form, client_id: 'other', issuer: '' } })
  t.equal(forgotten.statusCode, 422, 'no secret is made instead')
  t.match(forgotten.body, '<a href="#field-issuer">The issuer must be 1 to 500 characters')
  const refused = await browser('/new-application', { form: { ...form, issuer: 'x' } })
  t.equal(refused.statusCode, 422)
  t.match(refused.body, '<a href="#field-issuer">The issuer must be an https URL without a user, a query or a fragment')
})
