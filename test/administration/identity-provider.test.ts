import { rmSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { createIdentityProvider } from '../../src/administration/identity-provider.ts'
import { CLIENT, startProvider } from '../support/provider.ts'
import { START } from '../support/world.ts'

const MINUTE = 60_000
const BROWSER = 'B'.repeat(43)

/** As an error of this reason. */
const refusal = (reason: string, message = /./) => ({ reason, message }) as unknown as Error
const REFUSED = refusal('provider refused')
const UNKNOWN = refusal('unknown sign-in')
const away = (message?: RegExp) => refusal('provider unavailable', message)

/** A provider, and this server as its client. */
async function start(t: Test, options: Parameters<typeof startProvider>[1] = {}) {
  const provider = await startProvider(t, options)
  const clock = { time: START }
  const client = createIdentityProvider(provider.settings, () => clock.time)
  /** Signs in at the provider. Resolves to the query of the callback. */
  const answerFor = async (as = 'anna') => provider.signIn(await client.begin(BROWSER), as)
  /** A whole sign-in. */
  const identify = async (as?: string) => client.complete(BROWSER, await answerFor(as))
  return { ...provider, clock, client, answerFor, identify }
}

t.test('Provider: a person is known by issuer and subject, and has the role that the claims give', async (t) => {
  for (const hasThinTokens of [false, true]) {
    const { issuer, identify, people, state } = await start(t, { hasThinTokens })
    state.isBasicOnly = hasThinTokens
    const anna = { name: `${issuer}#anna`, email: 'anna@company.example', role: 'admin' }
    t.strictSame(await identify(), { ...anna, authenticatedAt: null, back: '' })
    t.match(await identify('vera'), { name: `${issuer}#vera`, email: 'vera', role: 'viewer' })
    t.match(await identify('nora'), {
      ...{ name: `${issuer}#nora`, email: 'nora@company.example', role: undefined },
      whyNoRole:
        /^none of the values of groups gives a role \(values: 1\)\. Claims: .*email, email_verified, exp, groups/,
    })
    people.anna = { groups: [] }
    t.match(await identify(), { name: `${issuer}#anna`, email: null, role: undefined, whyNoRole: /^groups is missing/ })
  }
})

t.test('Provider: claims that are nowhere give no role, with and without UserInfo', async (t) => {
  for (const hasUserInfo of [true, false]) {
    const { settings, signIn } = await startProvider(t, { hasUserInfo })
    const rules = { admin: { claim: 'hd', values: ['company.example'] }, viewer: undefined }
    const client = createIdentityProvider({ ...settings, rules }, Date.now)
    const query = await signIn(await client.begin(BROWSER), 'anna')
    t.match(await client.complete(BROWSER, query), { email: 'anna@company.example', role: undefined })
  }
})

t.test('Provider: an address counts as verified only where the answer that names it says so', async (t) => {
  const { identify, state, people } = await start(t, { hasThinTokens: true })
  const boss = 'boss@company.example'
  const anna = 'anna@company.example'
  for (const [inToken, email] of [
    [{}, anna],
    [{ email: boss }, null],
    [{ email: boss, email_verified: true }, boss],
    [{ email: anna }, anna],
    [{ email: anna, email_verified: false }, null],
  ] as const) {
    state.tamper = ({ claims }) => Object.assign(claims, inToken)
    t.equal((await identify()).email, email, JSON.stringify(inToken))
  }
  people.anna = { email: anna, email_verified: false, groups: [] }
  state.tamper = ({ claims }) => Object.assign(claims, { email_verified: true })
  t.equal((await identify()).email, null, 'the token verifies no address of UserInfo')
})

t.test('Provider: an answer of more than a mebibyte is not read', async (t) => {
  const { identify, people } = await start(t)
  people.anna = { groups: ['x'.repeat(1024 * 1024)] }
  await t.rejects(identify(), away(/more than 1048576 bytes/))
})

t.test('OpenID Connect Core §3.1.2.1: a new sign-in is asked for with max_age, proved by auth_time', async (t) => {
  const { client, clock, state, signIn } = await start(t)
  const back = '/applications/ä%2F/remove'
  const now = () => Math.floor(Date.now() / 1000)
  clock.time = now() * 1000
  /** A new sign-in, with what the provider says about its time. */
  async function again(authTime?: (sent: unknown) => unknown) {
    state.tamper = ({ claims }) => Object.assign(claims, authTime && { auth_time: authTime(claims.auth_time) })
    const url = await client.begin(BROWSER, back)
    t.equal(new URL(url).searchParams.get('max_age'), '600')
    return client.complete(BROWSER, await signIn(url, 'anna'))
  }
  const { authenticatedAt, ...person } = await again()
  t.match(person, { email: 'anna@company.example', role: 'admin', back })
  t.ok(Math.abs(Number(authenticatedAt) - clock.time) < MINUTE, 'the provider sends it')
  const soon = now() + 3600
  t.equal((await again(() => soon)).authenticatedAt, clock.time, 'one that is ahead counts as now')
  for (const [authTime, error] of [
    [undefined, refusal('old sign-in', /^auth_time is missing$/)],
    [clock.time / 1000 - 15 * 60 - 1, refusal('old sign-in', /^auth_time is too old$/)],
    ['today', REFUSED],
  ] as const) {
    const answer = again(() => authTime)
    await t.rejects(answer, error)
  }
  t.equal((await again(() => clock.time / 1000 - 15 * 60)).back, back)
  t.equal((await again(() => clock.time / 1000 - 1.5004)).authenticatedAt, clock.time - 1501, 'whole milliseconds')
  t.equal(new URL(await client.begin(BROWSER)).searchParams.get('max_age'), null, 'only then')
})

t.test('RFC 7636, OpenID Connect: a request has PKCE, state, nonce and the scopes of the claims', async (t) => {
  const { client } = await start(t)
  const [one, other] = await Promise.all([client.begin(BROWSER), client.begin(BROWSER)])
  const { searchParams } = new URL(one)
  t.match(Object.fromEntries(searchParams), {
    ...{ client_id: CLIENT.id, response_type: 'code', scope: 'openid email profile groups' },
    ...{ code_challenge_method: 'S256', code_challenge: /^[\w-]{43}$/, nonce: /^[\w-]{43}$/ },
    redirect_uri: 'https://console.example/login/callback',
  })
  for (const name of ['state', 'nonce', 'code_challenge']) {
    t.not(searchParams.get(name), new URL(other).searchParams.get(name), `each has its own ${name}`)
  }
  t.notMatch(one, BROWSER)
})

t.test('Provider: an answer is for the browser that asked, within ten minutes', async (t) => {
  const { client, clock, answerFor, state } = await start(t)
  const query = await answerFor()
  const asked = state.asked.length
  for (const browser of ['', 'C'.repeat(43)]) await t.rejects(client.complete(browser, query), UNKNOWN)
  for (const wrong of [query.replace('state=', 'state=1'), query.replace(/state=[^&]*/, ''), 'state=..', '']) {
    await t.rejects(client.complete(BROWSER, wrong), UNKNOWN, wrong)
  }
  t.equal(state.asked.length, asked, 'the provider is not asked')
  for (const [later, isKnown] of [
    [10 * MINUTE, false],
    [10 * MINUTE - 1, true],
    [-MINUTE - 1, false],
    [-MINUTE, true],
  ] as const) {
    const answer = await answerFor()
    const begun = clock.time
    clock.time += later
    const completed = client.complete(BROWSER, answer)
    await (isKnown ? t.resolves(completed) : t.rejects(completed, UNKNOWN))
    clock.time = begun
  }
})

t.test('Provider: several tabs and nodes can sign in at once; a code works once, with its own state', async (t) => {
  const { client, settings, answerFor, clock } = await start(t)
  const [first, second, third] = [await answerFor(), await answerFor('vera'), await answerFor()]
  const otherNode = createIdentityProvider(settings, () => clock.time)
  t.match(await otherNode.complete(BROWSER, second), { email: 'vera' })
  t.match(await client.complete(BROWSER, first), { email: 'anna@company.example' })
  const replayed = refusal('provider refused', /^invalid_grant: grant request is invalid \(…\)$/)
  await t.rejects(client.complete(BROWSER, first), replayed, 'the code that the provider repeats is left out')
  const mixed = new URLSearchParams(third)
  mixed.set('state', new URLSearchParams(second).get('state') as string)
  await t.rejects(client.complete(BROWSER, `${mixed}`), refusal('provider refused', /^invalid_grant/))
})

t.test('RFC 9207, OpenID Connect Core §3.1.3.7: an answer that cannot be trusted signs nobody in', async (t) => {
  const { client, answerFor, identify, state, issuer } = await start(t)
  const now = Math.floor(Date.now() / 1000)
  const query = await answerFor()
  for (const iss of ['https://other.example', `${issuer}/`, '']) {
    const wrong = new URLSearchParams(query)
    wrong.set('iss', iss)
    await t.rejects(client.complete(BROWSER, `${wrong}`), REFUSED, `iss=${iss}`)
  }
  const attacks: Record<string, [part: 'header' | 'claims', name: string, value: unknown][]> = {
    'another issuer': [['claims', 'iss', 'https://other.example']],
    'another audience': [['claims', 'aud', 'other']],
    'another party': [
      ['claims', 'aud', [CLIENT.id, 'other']],
      ['claims', 'azp', 'other'],
    ],
    'another nonce': [['claims', 'nonce', 'other']],
    'no nonce': [['claims', 'nonce', undefined]],
    expired: [['claims', 'exp', now - 70]],
    'not valid yet': [['claims', 'nbf', now + 70]],
    unsigned: [['header', 'alg', 'none']],
    'signed with the client secret': [['header', 'alg', 'HS256']],
    'signed with another algorithm': [['header', 'alg', 'ES384']],
    'signed with an unknown key': [['header', 'kid', 'other']],
    'no subject': [['claims', 'sub', undefined]],
    'a subject that is no name': [['claims', 'sub', 'a b\n']],
  }
  for (const [what, changes] of Object.entries(attacks)) {
    state.tamper = (token) => {
      for (const [part, name, value] of changes) token[part][name] = value
    }
    await t.rejects(identify(), REFUSED, what)
  }
  state.tamper = ({ claims }) => Object.assign(claims, { exp: now - 30, nbf: now + 30 })
  t.match(await identify(), { email: 'anna@company.example' }, 'clocks may differ by a minute')
})

t.test('Provider: what it refuses is named, without the code', async (t) => {
  const { client, settings, answerFor, identify } = await start(t)
  await t.rejects(identify('stranger'), refusal('provider refused', /^access_denied: <b>No<\/b> entry$/))
  const query = await answerFor()
  const code = new URLSearchParams(query).get('code') as string
  writeFileSync(settings.secretFile, 'another secret')
  for (const _method of ['post', 'basic']) {
    const error = await client.complete(BROWSER, query).catch((error) => error)
    t.match(error, { reason: 'provider refused', message: /invalid_client/ })
    t.notMatch(JSON.stringify([error, error.message, error.stack]), code)
  }
  writeFileSync(settings.secretFile, CLIENT.secret)
  t.match(await client.complete(BROWSER, query), { role: 'admin' }, 'a new secret is read')
  for (const [prepare, message] of [
    [() => writeFileSync(settings.secretFile, ' \n'), /must not be empty/],
    // The setting may have the secret itself by mistake: the message does not repeat it.
    [() => rmSync(settings.secretFile), /^OIDC_CLIENT_SECRET_FILE cannot be read: ENOENT$/],
  ] as const) {
    const answer = await answerFor()
    prepare()
    await t.rejects(client.complete(BROWSER, answer), away(message))
  }
})

t.test('Provider: one that is away, slow or another refuses nobody for good', async (t) => {
  const { client, settings, state, answerFor, identify, close } = await start(t)
  const other = { ...settings, issuer: settings.issuer.replace('127.0.0.1', 'localhost') }
  await t.rejects(createIdentityProvider(other, Date.now).begin(BROWSER), away(/issuer/))
  const patient = createIdentityProvider(settings, Date.now, { timeout: 1 })
  state.isHanging = true
  await t.rejects(patient.begin(BROWSER), away(/timed out/))
  state.isHanging = false
  await t.resolves(patient.begin(BROWSER), 'it is asked again')
  t.match(await identify(), { role: 'admin' })
  const query = await answerFor()
  await close()
  await t.rejects(client.complete(BROWSER, query), away(/ECONNREFUSED|fetch failed/))
  for (const issuer of [settings.issuer, other.issuer, settings.issuer.replace('http:', 'https:')]) {
    const later = createIdentityProvider({ ...settings, issuer }, Date.now)
    await t.rejects(later.begin(BROWSER), away(/ECONNREFUSED/), issuer)
  }
})

t.test('OpenID Connect Discovery §4.3: metadata of another issuer is refused, also of a shared one', async (t) => {
  const { settings } = await startProvider(t)
  const host = 'https://login.microsoftonline.com'
  const metadata = {
    issuer: `${host}/{tenantid}/v2.0`,
    authorization_endpoint: `${host}/common/oauth2/v2.0/authorize`,
  }
  // Only for this host does openid-client make an exception.
  t.intercept(globalThis, 'fetch', { value: async () => Response.json(metadata) })
  for (const tenant of ['common', 'organizations', 'company.example']) {
    const client = createIdentityProvider({ ...settings, issuer: `${host}/${tenant}/v2.0` }, Date.now)
    await t.rejects(client.begin(BROWSER), away(/^the metadata names another issuer$/), tenant)
  }
  metadata.issuer = `${host}/company/v2.0`
  const client = createIdentityProvider({ ...settings, issuer: metadata.issuer }, Date.now)
  t.match(await client.begin(BROWSER), metadata.authorization_endpoint)
})
