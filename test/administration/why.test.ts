import t, { type Test } from 'tap'
import { COMMANDS, type Instructions } from '../../src/administration/findings.ts'
import { diagnosisText } from '../../src/administration/views.ts'
import { AUDIT } from '../support/audit.ts'
import { createWorldOfSuites } from '../support/suites.ts'
import type { createWorld } from '../support/world.ts'

const MINUTE = 60_000

/** A world of suites, and what is said of its application or of another client id. */
async function createAskedWorld(t: Test, options?: Parameters<typeof createWorld>[1]) {
  const world = await createWorldOfSuites(t, options)
  const { credentials, flushUsage, flushRefusals, administration } = world
  const id = credentials.client_id
  async function explain(clientId = id) {
    // Whose a refused request was is looked up after the answer.
    await new Promise(setImmediate)
    await flushUsage()
    await flushRefusals()
    return administration.why(clientId)
  }
  const diagnosis = async (clientId?: string) => diagnosisText(await explain(clientId))
  return { ...world, id, explain, diagnosis }
}

t.test('Why: where nothing was ever refused or issued, it says what that means', async (t) => {
  const { diagnosis, token, clock, explain, verify } = await createAskedWorld(t)
  t.match(await diagnosis(), /^Nothing has been asked for with it yet\.\nIf the partner still sees .*answered with 503/)
  await token()
  clock.time += 12 * MINUTE
  t.match(
    await diagnosis(),
    /^The last token was issued 12 min ago, and nothing was refused\.\nIf the partner still sees/,
  )
  t.match(await explain(), { refusals: [], application: { tokensThisHour: 1, refusedThisHour: 0 } })
  t.equal((await verify(await token())).statusCode, 200)
})

t.test('Why: a wrong secret is told from one that was right before', async (t) => {
  const { diagnosis, post, credentials, clock, token, explain, id } = await createAskedWorld(t)
  const wrong = () => post({ ...credentials, client_secret: 'wrong' }, { 'x-request-id': 'mine' })
  await wrong()
  clock.time += 3 * MINUTE
  t.match(
    await diagnosis(),
    /^One of its requests was refused 3 min ago, from 127\.0\.0\.1\. The secret that it sends is wrong, and the right one was not used yet \(/,
  )
  await token()
  clock.time += MINUTE
  await wrong()
  clock.time += MINUTE
  const { refusals } = await explain()
  const second = await diagnosis()
  t.match(
    second,
    /^Its requests are refused, 2 times, first 5 min ago, last 60 s ago, .*the right one was last used 2 min ago/,
  )
  t.match(second, new RegExp(`"secrets rotate ${id}"`))
  t.match(refusals, [{ reason: 'wrong secret', endpoint: '/v1/oauth/accesstoken', requestId: 'mine', count: 2 }])
})

t.test('Why: a secret that was right before a rotation counts as used', async (t) => {
  const { diagnosis, post, credentials, clock, token, administration, id } = await createAskedWorld(t)
  await token()
  clock.time += MINUTE
  await post({ ...credentials, client_secret: 'wrong' })
  await administration.rotateSecret(id, 0)
  clock.time += 1
  t.match(await diagnosis(), 'The secret that it sends is wrong; the right one was last used 60 s ago.')
  t.match(await diagnosis(), `"secrets rotate ${id}"`)
})

t.test('Why: each reason has a line with its remedy, newest first', async (t) => {
  const { diagnosis, post, credentials, clock, token, verify } = await createAskedWorld(t)
  const old = await token()
  clock.time += 61 * MINUTE
  await post({ ...credentials, client_secret: 'wrong' })
  clock.time += MINUTE
  await verify(old)
  t.match(
    await diagnosis(),
    /^One of its tokens was refused 0 s ago, .* has to ask for a new one .*\nOne of its requests was refused 60 s ago, .* The secret that it sends is wrong/,
  )
})

t.test('Why: tokens of an hour that has not begun, by this clock, are not of this one', async (t) => {
  const { explain, token, clock } = await createAskedWorld(t)
  await token()
  t.match(await explain(), { application: { tokensThisHour: 1 } })
  clock.time -= 60 * MINUTE
  t.match(await explain(), { application: { tokensThisHour: 0 } })
})

t.test(
  'Why: after a token nothing is refused, but another instance may be wrong; ten minutes later it is over',
  async (t) => {
    const { diagnosis, post, credentials, clock, token } = await createAskedWorld(t)
    for (let n = 0; n < 2; n++) await post({ ...credentials, client_secret: 'wrong' })
    clock.time += MINUTE
    await token()
    clock.time += MINUTE
    const first = await diagnosis()
    t.match(
      first,
      /^It works again: it got a token 60 s ago, at \S+Z, after its last refusal \(wrong secret, 2 min ago\)\. If it runs in several places/,
    )
    t.match(first, /\nBefore its last token: wrong secret, 2 times, .* The secret that it sends is wrong; the right/)
    t.notMatch(first, /secrets rotate/, 'the secret is known')
    clock.time += 10 * MINUTE
    t.match(
      await diagnosis(),
      /^It works again: .* 11 min ago, at \S+Z, after its last refusal \(wrong secret, 12 min ago\)\.\nIf the partner/,
    )
  },
)

t.test('Why: a secret that has ended while a newer one is not used is the first thing that is said', async (t) => {
  const { diagnosis, post, credentials, clock, token, administration, id } = await createAskedWorld(t)
  await token()
  const { clientSecret } = await administration.rotateSecret(id, MINUTE)
  clock.time += 3 * MINUTE
  t.equal((await post()).statusCode, 401)
  t.match(
    await diagnosis(),
    /The secret that it uses \(1\) ended at 20\d\d-.*Z: it has a newer one \(\d+\), which was not used yet \(uses of secrets show up after a minute\)\. If the partner does not use that by now, hand it over;/,
  )
  await post({ ...credentials, client_secret: clientSecret })
  clock.time += MINUTE
  await post()
  t.match(
    await diagnosis(),
    /the newer one \(\d+\) was last used 60 s ago, so one of its instances has the old one still/,
  )
})

t.test('Why: a secret that an operator has revoked, and one that was never shown to the end', async (t) => {
  const { diagnosis, post, credentials, administration, id, store, clock } = await createAskedWorld(t)
  await administration.rotateSecret(id, 1000 * MINUTE)
  const [first] = await administration.listSecrets(id)
  await administration.revokeSecret(id, first?.id as number)
  await post()
  t.match(
    await diagnosis(),
    /An operator revoked the secret that it uses \(1\) at 2027-01-15T08:00:00\.000Z: it has a newer one/,
  )

  const digest = (await administration.listSecrets(id))[0]?.digest as string
  const seeded = await administration.register({ name: 'B', developerEmail: 'a@b.example' })
  await store.addSecret(seeded.clientId, { digest, createdAt: clock.time, endsAt: 0 }, AUDIT)
  await post({ ...credentials, client_id: seeded.clientId })
  t.match(await diagnosis(seeded.clientId), /The secret that it uses is not valid: it has a newer one/)
})

t.test('Why: of several secrets that have ended the one that was used last is meant', async (t) => {
  const { diagnosis, post, clock, token, administration, id } = await createAskedWorld(t)
  await token()
  await administration.rotateSecret(id, MINUTE)
  clock.time += 1
  await administration.rotateSecret(id, MINUTE)
  clock.time += 2 * MINUTE
  await post()
  t.match(await diagnosis(), /The secret that it uses \(1\) ended at /, 'though the other one ended later')
})

t.test('Why: of several secrets that have ended and were never used the last one is meant', async (t) => {
  const { diagnosis, post, clock, administration, id } = await createAskedWorld(t)
  await administration.rotateSecret(id, MINUTE)
  await administration.rotateSecret(id, 2 * MINUTE)
  clock.time += 3 * MINUTE
  await post()
  const [, second] = await administration.listSecrets(id)
  t.match(await diagnosis(), new RegExp(`The secret that it uses \\(${second?.id}\\) ended at `))
})

t.test('Why: an application that gets no token whatever it sends is told first', async (t) => {
  const { diagnosis, post, administration, id, clock, store } = await createAskedWorld(t)
  await administration.suspend(id)
  await post()
  t.match(await diagnosis(), /^It is suspended: .*"applications resume/)
  await administration.resume(id)
  t.match(
    await diagnosis(),
    /^It has not got a token yet\. Its last refusal \(suspended application, 0 s ago\) is over\.\n/,
  )
  await administration.revokeSecret(id, 1, { force: true })
  clock.time += 2 * MINUTE
  t.match(
    await diagnosis(),
    /^None of its secrets is valid: an operator revoked the last one at .* \(2 min ago\)\. "secrets rotate/,
  )

  await store.register(
    {
      suites: [],
      applications: [
        {
          clientId: 'seeded',
          name: 'B',
          developerEmail: 'a@b.example',
          createdAt: clock.time,
          secret: { digest: '$sha256$A', createdAt: clock.time, endsAt: 0 },
          suites: 'all',
          skipNamesake: false,
        },
      ],
    },
    AUDIT,
  )
  t.match(await diagnosis('seeded'), /^Its secret is not valid yet, .*run the seed again/)
})

t.test('Why: tokens that are refused at a suite that it is not approved for, or at every one', async (t) => {
  const { diagnosis, token, verify, administration, id } = await createAskedWorld(t)
  t.equal((await verify(await token(), '/product-information')).statusCode, 403)
  t.match(
    await diagnosis(),
    /^One of its tokens was refused .* It is not approved for product-information\. If it should be: "applications approve \w+ --suite product-information"\.$/,
  )
  await administration.approve(id, 'product-information')
  t.match(
    await diagnosis(),
    /^The last token was issued .* ago\. Its last refusal \(application not approved, .*\) is over\./,
  )
  await administration.withdraw(id, 'product-information', 'store')
  t.match(await diagnosis(), /It is not approved for product-information/)
  const other = await administration.register({ name: 'B', developerEmail: 'a@b.example', suites: [] })
  t.match(await diagnosis(other.clientId), /^It is approved for no suite/)
})

t.test('Why: tokens that are used for too long, or after they were revoked', async (t) => {
  const { diagnosis, token, verify, administration, id, clock, post, credentials } = await createAskedWorld(t)
  const first = await token()
  clock.time += 65 * MINUTE
  await verify(first)
  t.match(await diagnosis(), /^One of its tokens was refused .*longer than their 60 minutes: .* issued 65 min ago\.$/)
  const second = await token()
  await administration.revokeAllTokens(id)
  clock.time += 5 * MINUTE
  await verify(second)
  t.match(await diagnosis(), /a token that was revoked; the last revoke-all was 5 min ago: it has to ask for a new one/)
  clock.time += 1
  const third = await token()
  t.match(await diagnosis(), /^It works again: .*after its last refusal \(revoked token, /)
  const other = await administration.register({ name: 'B', developerEmail: 'a@b.example', suites: ['store'] })
  const theirs = { ...credentials, client_id: other.clientId, client_secret: other.clientSecret as string }
  const fourth = (await post(theirs)).json().access_token
  await post({ ...theirs, token: fourth }, {}, '/v1/oauth/revoke')
  await verify(fourth)
  clock.time += 1
  t.match(await diagnosis(other.clientId), /One of its tokens was refused.*It uses a token that it has revoked itself/)
  t.equal((await verify(third)).statusCode, 200)
})

t.test('Why: too many failures come with their cause, and so does a quota', async (t) => {
  const { diagnosis, post, credentials, explain, id } = await createAskedWorld(t)
  for (let n = 0; n < 12; n++) await post({ ...credentials, client_secret: 'wrong' })
  t.match(
    await diagnosis(),
    /^Its requests are refused, 10 times.*The secret that it sends is wrong.*\nIts requests are refused with 429, 2 times, .* wrong credentials too often.*$/,
  )
  const { refusals } = await explain()
  t.match(
    refusals.find(({ reason }) => reason === 'too many failures'),
    { clientId: id, isKnown: true, count: 2 },
  )

  const other = await createAskedWorld(t, { tokenQuota: 1 })
  for (let n = 0; n < 3; n++) await other.post()
  t.match(
    await other.diagnosis(),
    /2 times.*It has got all tokens that it may get in an hour of the clock: it should use a token .*2027-01-15T09:00:00\.000Z/,
  )
  t.match(await other.explain(), { application: { tokensThisHour: 1, refusedThisHour: 2 } })
})

t.test('Why: where only too many failures are known, the way out is said', async (t) => {
  const { store, diagnosis, id, clock } = await createAskedWorld(t)
  const row = {
    clientId: id,
    isKnown: true,
    endpoint: '/',
    suite: undefined,
    count: 1,
    requestId: undefined,
    traceId: undefined,
  }
  const at = { firstAt: clock.time, lastAt: clock.time }
  const addresses = ['192.0.2.1', '192.0.2.2']
  await store.recordRefusals(
    addresses.map((remoteAddress) => ({ ...row, ...at, remoteAddress, reason: 'too many failures' })),
  )
  t.match(await diagnosis(), /from 2 addresses\. It has sent wrong credentials too often and has to wait/)
  await store.recordRefusals([{ ...row, ...at, remoteAddress: '192.0.2.1', reason: 'field missing' }])
  t.match(
    await diagnosis(),
    /Its request to \/ breaks a rule: field missing\. The error_description in the answer that it got says more\.\nIts requests are refused with 429, 2 /,
  )
  const expired = { ...row, ...at, remoteAddress: '192.0.2.1', reason: 'expired token' }
  const other = await createAskedWorld(t)
  await other.store.recordRefusals([{ ...expired, clientId: other.id }])
  t.match(await other.diagnosis(), /before the old one ends\. ?$/)
})

t.test('Why: requests that break a rule', async (t) => {
  for (const [send, expected] of [
    [{ grant_type: 'password' }, /Its grant_type is not client_credentials\./],
    [
      { client_secret: '' },
      /Its request to \/v1\/oauth\/accesstoken breaks a rule: field empty\. .* So does the server’s log: search it for [\w-]+\.$/,
    ],
  ] as const) {
    const { diagnosis, post, credentials } = await createAskedWorld(t)
    await post({ ...credentials, ...send })
    t.match(await diagnosis(), expected)
  }
  const { diagnosis, post, credentials, clock } = await createAskedWorld(t)
  const basic = btoa(`${credentials.client_id}:${credentials.client_secret}`)
  t.equal((await post(undefined, { authorization: `Basic ${basic}` })).statusCode, 400)
  t.match(await diagnosis(), /It sends its credentials in the Authorization header: they belong in the body/)
  clock.time += 1
  await post({ ...credentials, token: 'x' }, {}, '/v1/oauth/introspect')
  t.match(await diagnosis(), /It asks for introspection, which only suites may/)
})

t.test('Why: a client id that is nobody’s: what looks like it, and whose it may be', async (t) => {
  const { diagnosis, post, credentials, id, clock, explain, token, administration } = await createAskedWorld(t)
  const cut = id.slice(0, -1)
  await t.rejects(explain(cut), {
    name: 'OperatorError',
    message: new RegExp(`no application with the client id ${cut}, .* Is it ${id}\\?$`),
  })
  await t.rejects(explain('nobody'), { message: /Look for its name in "applications list"\.$/ })
  await post({ ...credentials, client_id: cut })
  await post({ ...credentials, client_id: 'xyz' })
  clock.time += 3 * MINUTE
  const unknown = await explain(cut)
  t.match(
    diagnosisText(unknown),
    new RegExp(`^No application has the client id ${cut}\\. .* once, 3 min ago.* Is it ${id}\\?`),
  )
  t.match(unknown, {
    application: undefined,
    similarApplications: [{ clientId: id }],
    similarRefusals: [{ clientId: `${id.slice(0, 4)}... (31 characters)`, reason: 'unknown client' }],
  })
  t.equal(unknown.similarRefusals.length, 1)
  t.match(await diagnosis('xyz'), /^No application has the client id xyz\. .*"applications list"/)

  const known = await explain()
  t.match(
    diagnosisText(known),
    /^Nothing of it is refused, but an unknown client id that looks like it is, once, 3 min ago/,
  )
  t.match(
    diagnosisText(known),
    /one of 31 characters that begins with "\w{4}"\. Compare what the partner sends with \w+ \(32 characters\)\.$/,
  )
  await token()
  t.match(await diagnosis(), /^The last token was issued/, 'it belonged to another one')
  t.ok(administration)
})

t.test('Why: a client id that begins with a line break is shown on one line', async (t) => {
  const { explain, post, credentials, id } = await createAskedWorld(t)
  await post({ ...credentials, client_id: `\r\n${id}` })
  const { lines, similarRefusals } = await explain()
  const diagnosis = lines.join('|')
  t.match(similarRefusals, [{ clientId: `\r\n${id.slice(0, 2)}... (34 characters)` }])
  t.ok(
    diagnosis.includes(`one of 34 characters that begins with "\\u000d\\u000a${id.slice(0, 2)}". Compare`),
    diagnosis,
  )
  t.notMatch(diagnosis, /[\r\n]/)
})

t.test('Why: an application without any secret is told how to get one', async (t) => {
  const { store, diagnosis, clock } = await createAskedWorld(t)
  await store.register(
    {
      suites: [],
      applications: [
        {
          clientId: 'bare',
          name: 'B',
          developerEmail: 'a@b.example',
          createdAt: clock.time,
          secret: { digest: '$sha256$A', createdAt: clock.time },
          suites: 'all',
          skipNamesake: false,
        },
      ],
    },
    AUDIT,
  )
  const findApplication = store.findApplication.bind(store)
  store.findApplication = async (clientId) => {
    const found = await findApplication(clientId)
    return found && { ...found, secrets: [] }
  }
  t.match(await diagnosis('bare'), /^It has no secret: "secrets rotate bare" makes a new one: hand it over\.$/)
})

t.test('Why: a suite’s id is told from an application’s', async (t) => {
  const { diagnosis, post, credentials, explain } = await createAskedWorld(t)
  t.match(
    await diagnosis('store'),
    /^store is a suite: it asks about tokens, and gets none\. None of its requests is refused now\. Who needs tokens/,
  )
  await post({ ...credentials, client_id: 'store' })
  t.match(await diagnosis('store'), /A client id like this was refused, once, 0 s ago, from 127\.0\.0\.1\. Who needs/)
  t.match(await explain('store'), {
    application: undefined,
    suite: { suiteId: 'store', secrets: [{ state: 'active' }] },
    refusals: [],
    similarApplications: [],
  })
})

t.test('Why: a suite that is refused where it asks about tokens is told why', async (t) => {
  const { diagnosis, post, explain, introspect, clock } = await createAskedWorld(t)
  const wrong = () => post({ token: 'x' }, { authorization: `Basic ${btoa('store:bad')}` }, '/v1/oauth/introspect')
  for (let n = 0; n < 3; n++) t.equal((await wrong()).statusCode, 401)
  clock.time += MINUTE
  t.match(
    await diagnosis('store'),
    /^store is a suite: .* Its requests are refused, 3 times, .* secret that it sends is wrong, .*"secrets rotate store"/,
  )
  t.match((await explain('store')).refusals, [
    { clientId: 'store', isKnown: true, reason: 'wrong secret', endpoint: '/v1/oauth/introspect', count: 3 },
  ])
  clock.time += 20 * MINUTE
  t.match(await diagnosis('store'), /Its requests are refused, 3 times/, 'as long as it is not authenticated')
  await wrong()
  clock.time += MINUTE
  t.equal((await introspect('x')).statusCode, 200)
  clock.time += MINUTE
  t.match(
    await diagnosis('store'),
    / It works again: it was authenticated 60 s ago\. If it runs in several places, one of them may still be wrong\. Before that: wrong secret, 4 times, first 23 min ago, last 2 min ago, .*last used 60 s ago/,
  )
  clock.time += 9 * MINUTE
  t.match(await diagnosis('store'), /None of its requests is refused now\./)
  t.equal((await explain('store')).refusals.length, 1)
  t.strictSame((await explain('product-information')).refusals, [])
})

t.test('Why: a suite whose secret has ended, that sends what breaks a rule, or that has no secret left', async (t) => {
  const { diagnosis, post, administration, clock, introspect, basic } = await createAskedWorld(t)
  await post({}, { authorization: basic }, '/v1/oauth/introspect')
  t.match(
    await diagnosis('store'),
    /One of its requests was refused .* \/v1\/oauth\/introspect breaks a rule: field missing/,
  )
  await administration.rotateSecret('store', MINUTE)
  clock.time += 2 * MINUTE
  t.equal((await introspect('x')).statusCode, 401)
  t.match(
    await diagnosis('store'),
    /The secret that it uses \(\d+\) ended at .*: it has a newer one \(\d+\), which was not used yet /,
  )
  const active = (await administration.listSecrets('store')).find(({ state }) => state === 'active')
  await administration.revokeSecret('store', active?.id as number, { force: true })
  t.match(
    await diagnosis('store'),
    /^store is a suite: .* None of its secrets is valid: an operator revoked the last one at .*"secrets rotate store" makes a new one/,
  )
})

t.test('Why: every current problem is named, newest first', async (t) => {
  const { diagnosis, token, verify, post, credentials, clock, administration, id } = await createAskedWorld(t)
  const first = await token()
  clock.time += MINUTE
  await verify(first, '/product-information')
  clock.time += 1
  await post({ ...credentials, grant_type: 'password' })
  await new Promise(setImmediate)
  clock.time += MINUTE
  await post({ ...credentials, client_secret: 'wrong' })
  await post({ ...credentials, client_secret: 'wrong' })
  clock.time += MINUTE
  t.match(
    await diagnosis(),
    /^Its requests are refused, 2 times.* that it sends is wrong.*\nOne of its requests was refused 2 min ago.* grant_type .*\nOne of its tokens was refused 2 min ago.* not approved for product-information\. .*$/,
  )
  await token()
  clock.time += MINUTE
  t.match(
    await diagnosis(),
    /^One of its tokens was refused 3 min ago.*\nBefore its last token: wrong secret, 2 times, .* last 2 min ago.*\nBefore its last token: unsupported grant type, once.*$/,
  )
  await administration.withdraw(id, 'store')
  t.match(await diagnosis(), /\nIt is approved for no suite, so its tokens are valid nowhere: .*$/)
})

t.test('Why: it says until when tokens and refusals are known', async (t) => {
  const { explain, id, post, credentials, clock } = await createAskedWorld(t)
  const known = { refusals: clock.time - 5000, tokens: clock.time - MINUTE }
  t.match(await explain(), { knownUntil: known })
  t.match(await explain('store'), { knownUntil: known })
  await post({ ...credentials, client_id: id.slice(0, 20) })
  t.match(await explain(id.slice(0, 20)), { knownUntil: known })
})

t.test('Why: a client id that is cut off is found by its beginning, and by the whole one', async (t) => {
  const { diagnosis, post, credentials, id } = await createAskedWorld(t)
  const cut = id.slice(0, 20)
  await t.rejects(diagnosis(cut), { message: new RegExp(`Is it ${id}\\?$`) })
  await post({ ...credentials, client_id: cut })
  t.match(await diagnosis(cut), new RegExp(`^No application has .* Is it ${id}\\?`))
  t.match(await diagnosis(), new RegExp(`: one of 20 characters that begins with "${id.slice(0, 4)}"\\. Compare`))
  await post({ ...credentials, client_id: `"${id}"` })
  t.match(await diagnosis(), new RegExp(`: one of 34 characters that begins with '"${id.slice(0, 3)}'\\. Compare`))
})

t.test('Why: the last secret that has ended by itself is not said to be revoked', async (t) => {
  const { diagnosis, administration, id, clock } = await createAskedWorld(t)
  await administration.rotateSecret(id, MINUTE)
  clock.time += 1
  const secrets = await administration.listSecrets(id)
  await administration.revokeSecret(id, secrets.at(-1)?.id as number)
  clock.time += 3 * MINUTE
  t.match(
    await diagnosis(),
    /^None of its secrets is valid: the last one ended at 2027-01-15T08:01:00\.000Z \(2 min ago\)/,
  )
})

t.test('Why: the health is well, doubtful or wrong', async (t) => {
  const { explain, post, credentials, clock, token, administration, introspect, id } = await createAskedWorld(t)
  const health = async (clientId?: string) => (await explain(clientId)).health
  t.equal(await health(), 'well')
  await post({ ...credentials, client_secret: 'wrong' })
  t.equal(await health(), 'wrong')
  clock.time += MINUTE
  await token()
  t.equal(await health(), 'well', 'a single refusal is harmless')
  t.match((await explain()).lines, [
    /^It works again: it got a token 0 s ago, .* Before its last token: wrong secret, once, 60 s ago, from 127\.0\.0\.1\.$/,
  ])
  clock.time += 1
  for (let n = 0; n < 2; n++) await post({ ...credentials, client_secret: 'wrong' })
  clock.time += MINUTE
  await token()
  t.equal(await health(), 'doubtful', 'another instance may still have the wrong one')
  clock.time += 20 * MINUTE
  t.equal(await health(), 'well')
  await administration.suspend(id)
  t.equal(await health(), 'wrong')

  t.equal(await health('store'), 'well')
  await post({ ...credentials, client_id: 'store' })
  t.equal(await health('store'), 'doubtful', 'if its id is used for an application')
  await post({ token: 'x' }, { authorization: `Basic ${btoa('store:bad')}` }, '/v1/oauth/introspect')
  t.equal(await health('store'), 'wrong')
  clock.time += MINUTE
  await introspect('x')
  t.equal(await health('store'), 'doubtful')
  await post({ ...credentials, client_id: id.toLowerCase() })
  t.equal(await health(id.toLowerCase()), 'wrong')
})

t.test('Why: where the last active secret ends within 7 days, that is said with the remedy', async (t) => {
  const { administration, explain, clock, id, token, post, credentials } = await createAskedWorld(t)
  const week = 7 * 24 * 60 * MINUTE
  const ending = async (owner: string) => (await explain(owner)).lines.at(-1) as string
  await token()
  for (const owner of [id, 'store']) {
    await administration.rotateSecret(owner, week)
    t.notMatch(await ending(owner), 'Its last secret', 'a newer one does not end')
    const [first, second] = await administration.listSecrets(owner)
    await administration.revokeSecret(owner, second?.id as number)
    t.equal((await explain(owner)).health, 'doubtful')
    t.equal(
      await ending(owner),
      `Its last secret (${first?.id}) ends at 2027-01-22T08:00:00.000Z. After that, all its requests are refused. ` +
        `"secrets rotate ${owner}" makes a new one: hand it over before that.`,
    )
    clock.time -= 1
    t.notMatch(await ending(owner), 'Its last secret', 'there is more than a week')
    clock.time += 1
  }
  await post({ ...credentials, client_secret: 'wrong' })
  t.match(await ending(id), 'Its last secret')
  t.equal((await explain()).health, 'wrong')
  clock.time += week
  t.match(await ending(id), 'None of its secrets is valid')
})

t.test('Why: remedies are worded for the command line, the API or the console', async (t) => {
  const { administration, post, credentials, id, explain } = await createAskedWorld(t)
  await post({ ...credentials, client_secret: 'wrong' })
  await explain()
  const instructions: Instructions = {
    ...COMMANDS,
    rotate: (owner) => `the button for ${owner}`,
    ofSuite: (_, said) => said,
  }
  t.match(
    (await administration.why(id, instructions)).lines.join(),
    `If the secret is lost, use the button for ${id} and hand`,
  )
  t.strictSame((await administration.why('store', instructions)).lines, ['None of its requests is refused now.'])
})
