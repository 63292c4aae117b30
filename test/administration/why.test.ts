import t, { type Test } from 'tap'
import type { Health } from '../../src/administration/findings.ts'
import { COMMANDS, type Instructions } from '../../src/administration/findings.ts'
import { diagnosisText } from '../../src/administration/views.ts'
import { AUDIT } from '../support/audit.ts'
import { refusal } from '../support/refusal.ts'
import { createWorldOfSuites } from '../support/suites.ts'
import type { createWorld } from '../support/world.ts'

const MINUTE = 60_000
const OTHER = { name: 'B', developerEmail: 'a@b.example' }
const INTROSPECT = '/v1/oauth/introspect'

type AskedWorld = Awaited<ReturnType<typeof createAskedWorld>>
type Step = (world: AskedWorld, n: number) => unknown

/** A world of suites, and what is said of its application or of another client id. */
async function createAskedWorld(t: Test, options?: Parameters<typeof createWorld>[1]) {
  const world = await createWorldOfSuites(t, options)
  const { credentials, flushUsage, flushRefusals, administration, post, store, clock } = world
  const id = credentials.client_id

  async function explain(clientId = id) {
    // Whose a refused request was is looked up after the answer.
    await new Promise(setImmediate)
    await flushUsage()
    await flushRefusals()
    return administration.why(clientId)
  }

  /** Checks the text of a diagnosis. Resolves to it. */
  async function says(expected: RegExp | string, clientId?: string): Promise<string> {
    const text = diagnosisText(await explain(clientId))
    t.match(text, expected)
    return text
  }

  /** Asks for a token; the credentials are those of the application, but for what is given. */
  const send = (more: Record<string, string>) => post({ ...credentials, ...more })
  const sendWrong = () => send({ client_secret: 'wrong' })
  const suiteSendsWrong = () => post({ token: 'x' }, { authorization: `Basic ${btoa('store:bad')}` }, INTROSPECT)

  /** Stores that requests of the application were refused now. */
  const record = (...rows: Parameters<typeof refusal>[1][]) =>
    store.recordRefusals(rows.map((row) => refusal(id, { firstAt: clock.time, lastAt: clock.time, ...row })))

  /** Registers an application whose secret was not shown yet. */
  async function seedUnseen(clientId: string): Promise<void> {
    const secret = { digest: '$sha256$A', createdAt: clock.time, endsAt: 0 }
    const application = {
      ...OTHER,
      clientId,
      createdAt: clock.time,
      secret,
      suites: 'all',
      skipNamesake: false,
    } as const
    await store.register({ suites: [], applications: [application] }, AUDIT)
  }

  function later(minutes: number): void {
    clock.time += minutes * MINUTE
  }

  return { ...world, id, explain, says, send, sendWrong, suiteSendsWrong, record, seedUnseen, later }
}

/** What can happen in a case; `n` is the number in it. */
const STEPS: Record<string, Step> = {
  'n min': ({ later }, n) => later(n),
  'n ms': ({ clock }, n) => Object.assign(clock, { time: clock.time + n }),
  token: ({ token }) => token(),
  'token with the first secret': ({ post }) => post(),
  'wrong secret': ({ sendWrong }) => sendWrong(),
  'wrong grant type': ({ send }) => send({ grant_type: 'password' }),
  'empty secret': ({ send }) => send({ client_secret: '' }),
  'rotation with n min': ({ administration, id }, n) => administration.rotateSecret(id, n * MINUTE),
  'newest secret revoked': async ({ administration, id }) =>
    administration.revokeSecret(id, (await administration.listSecrets(id)).at(-1)?.id as number),
  suspension: ({ administration, id }) => administration.suspend(id),
  'no suite': ({ administration, id }) => administration.withdraw(id, 'store'),
  'token at another suite': async ({ token, verify }) => verify(await token(), '/product-information'),
  'token that is used for n min': async ({ token, verify, later }, n) => {
    const old = await token()
    later(n)
    await verify(old)
  },
  'credentials in a header': ({ post, credentials: { client_id, client_secret } }) =>
    post(undefined, { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` }),
  introspection: ({ post, credentials }) => post({ ...credentials, token: 'x' }, {}, INTROSPECT),
  'nothing but too many failures': ({ record }) => {
    const reason = 'too many failures'
    return record({ reason }, { reason, remoteAddress: '192.0.2.2' })
  },
  'n wrong secrets, and n too many': ({ record }, n) => record({ reason: 'too many failures', count: 2 }, { count: n }),
  'broken rule': ({ record }) => record({ reason: 'field missing', endpoint: '/' }),
  'expired token': ({ record }) => record({ reason: 'expired token' }),
  'the id of the suite': ({ send }) => send({ client_id: 'store' }),
  'wrong secret of the suite': ({ suiteSendsWrong }) => suiteSendsWrong(),
  'question of the suite': ({ introspect }) => introspect('x'),
}

/** What happens, and what is said then: the text or the health of the application or of `owner`. */
type Said = [happens: string, expected: RegExp | Health, owner?: string]

const CASES: Record<string, Said[]> = {
  'where nothing was ever refused or issued, it says what that means': [
    ['', /^Nothing has been asked for with it yet\.\nIf the partner still sees .*answered with 503/],
    ['token; 12 min', /^The last token was issued 12 min ago, and nothing was refused\.\nIf the partner still sees/],
  ],
  'a secret that was right before a rotation counts as used': [
    [
      'token; 1 min; wrong secret; rotation with 0 min; 1 ms',
      /The secret that it sends is wrong; the right one was last used 60 s ago\..*"secrets rotate \w{32}"/,
    ],
  ],
  'each reason has a line with its remedy, newest first': [
    [
      '5 min; wrong secret; token that is used for 61 min',
      /^One of its tokens .* 0 s ago, .* has to ask for a new one .*\n/,
    ],
  ],
  'after a token another instance may be wrong; ten minutes later that is over': [
    ['wrong secret; wrong secret; 1 min; token; 1 min', /^It works again: it got a token 60 s ago, at \S+Z, after its/],
    ['', /after its last refusal \(wrong secret, 2 min ago\)\. If it runs in several places/],
    ['', /\nBefore its last token: wrong secret, 2 times, .* it sends is wrong; the right (?!.*secrets rotate)/],
    ['10 min', /^It works again: .* 11 min ago, .* its last refusal \(wrong secret, 12 min ago\)\.\nIf the partner/],
  ],
  'of several secrets that have ended the one that was used last is meant, though another one ended later': [
    [
      'token; rotation with 1 min; 1 ms; rotation with 1 min; 2 min; token with the first secret',
      /The secret that it uses \(1\) ended at /,
    ],
  ],
  'of several secrets that have ended and were never used the last one is meant': [
    [
      'rotation with 1 min; rotation with 2 min; 3 min; token with the first secret',
      /The secret that it uses \(4\) ended at /,
    ],
  ],
  'the last secret that has ended by itself is not said to be revoked': [
    [
      'rotation with 1 min; 1 ms; newest secret revoked; 3 min',
      /^None of its secrets is valid: the last one ended at 2027-01-15T08:01:00\.000Z \(2 min ago\)/,
    ],
  ],
  'too many failures come with their cause': [
    ['10 wrong secrets, and n too many', /^Its requests are refused, 10 times.* it sends is wrong.*\nIts requests are/],
    ['', /\nIts requests are refused with 429, 2 times, .* wrong credentials too often/],
  ],
  'where only too many failures are known, the way out is said, after every other reason': [
    ['nothing but too many failures', /from 2 addresses\. It has sent wrong credentials too often and has to wait/],
    [
      'broken rule',
      /Its request to \/ breaks a rule: field missing\. The error_description in .* says more\.\nIts .* 429/,
    ],
  ],
  'an expired token of an application that got none that is known': [['expired token', /before the old one ends\. ?$/]],
  'a grant type that there is not': [['wrong grant type', /Its grant_type is not client_credentials\./]],
  'a request that breaks a rule': [
    ['empty secret', /Its request to \/v1\/oauth\/accesstoken breaks a rule: field empty\./],
    ['', /So does the server’s log: search it for [\w-]+\.$/],
  ],
  'credentials in the wrong place': [
    ['credentials in a header', /in the Authorization header: they belong in the body/],
  ],
  'introspection by an application': [['introspection', /It asks for introspection, which only suites may/]],
  'every current problem is named, newest first': [
    [
      'token at another suite; 1 ms; wrong grant type; 1 min; wrong secret; wrong secret; 1 min',
      /^Its requests are refused, 2 times.* it sends is wrong.*\nOne of its requests was refused 2 min ago.* grant_type .*\n/,
    ],
    ['', /\nOne of its tokens was refused 2 min ago.* not approved for product-information\. .*$/],
    [
      'token; 1 min',
      /^One of its tokens was refused 3 min ago.*\nBefore its last token: wrong secret, 2 times, .* 2 min/,
    ],
    ['', /\nBefore its last token: unsupported grant type, once.*$/],
    ['no suite', /\nIt is approved for no suite, so its tokens are valid nowhere: .*$/],
  ],
  'a single refusal before a token is harmless; after several another instance may be wrong': [
    ['', 'well'],
    ['wrong secret', 'wrong'],
    ['1 min; token', 'well'],
    [
      '',
      /^It works again: it got a token 0 s ago, .* Before its last token: wrong secret, once, 60 s ago, from \S+\.\n/,
    ],
    ['1 ms; wrong secret; wrong secret; 1 min; token', 'doubtful'],
    ['20 min', 'well'],
    ['suspension', 'wrong'],
  ],
  'a suite’s id is told from an application’s': [
    ['', 'well', 'store'],
    [
      '',
      /^store is a suite: it asks about tokens, and gets none\. None of .* is refused now\. Who needs tokens/,
      'store',
    ],
    ['the id of the suite', 'doubtful', 'store'],
    ['', /A client id like this was refused, once, 0 s ago, from 127\.0\.0\.1\. Who needs/, 'store'],
    ['wrong secret of the suite', 'wrong', 'store'],
    ['1 min; question of the suite', 'doubtful', 'store'],
  ],
}

for (const [what, steps] of Object.entries(CASES)) {
  t.test(`Why: ${what}`, async (t) => {
    const world = await createAskedWorld(t)
    for (const [happens, expected, owner] of steps) {
      for (const step of happens.split('; ').filter(Boolean)) {
        const act = STEPS[step.replace(/\d+/, 'n')] as Step
        await act(world, Number.parseInt(step.replace(/\D+/, ''), 10))
        // Whose a refused request was is looked up after the answer.
        await new Promise(setImmediate)
      }
      if (typeof expected === 'string') t.equal((await world.explain(owner)).health, expected, happens)
      else await world.says(expected, owner)
    }
  })
}

t.test('Why: tokens of an hour that has not begun, by this clock, are not of this one', async (t) => {
  const { explain, token, later } = await createAskedWorld(t)
  await token()
  t.match(await explain(), { refusals: [], application: { tokensThisHour: 1, refusedThisHour: 0 } })
  t.match(await explain('store'), {
    application: undefined,
    suite: { suiteId: 'store', secrets: [{ state: 'active' }] },
  })
  later(-60)
  t.match(await explain(), { application: { tokensThisHour: 0 } })
})

t.test('Why: a wrong secret is told from one that was right before', async (t) => {
  const { says, post, credentials, later, token, explain, id } = await createAskedWorld(t)
  const wrong = () => post({ ...credentials, client_secret: 'wrong' }, { 'x-request-id': 'mine' })
  await wrong()
  later(3)
  await says(
    /^One of its requests was refused 3 min ago, from 127\.0\.0\.1\. The secret .* right one was not used yet \(/,
  )
  await token()
  later(1)
  await wrong()
  later(1)
  const said = await says(/^Its requests are refused, 2 times, first 5 min ago, last 60 s ago, .* last used 2 min ago/)
  t.match(said, `"secrets rotate ${id}"`)
  t.match((await explain()).refusals, [
    { reason: 'wrong secret', endpoint: '/v1/oauth/accesstoken', requestId: 'mine', count: 2 },
  ])
})

t.test('Why: a secret that has ended while a newer one is not used is the first thing that is said', async (t) => {
  const { says, post, send, later, token, administration, id } = await createAskedWorld(t)
  await token()
  const { clientSecret } = await administration.rotateSecret(id, MINUTE)
  later(3)
  t.equal((await post()).statusCode, 401)
  const said = await says(
    /The secret that it uses \(1\) ended at 20\d\d-.*Z: it has a newer one \(\d+\), which was not/,
  )
  t.match(
    said,
    'used yet (uses of secrets show up after a minute). If the partner does not use that by now, hand it over;',
  )
  await send({ client_secret: clientSecret })
  later(1)
  await post()
  await says(/the newer one \(\d+\) was last used 60 s ago, so one of its instances has the old one still/)
})

t.test('Why: a secret that an operator has revoked, and one that was never shown to the end', async (t) => {
  const { says, post, send, administration, id, store, clock } = await createAskedWorld(t)
  await administration.rotateSecret(id, 1000 * MINUTE)
  const [first] = await administration.listSecrets(id)
  await administration.revokeSecret(id, first?.id as number)
  await post()
  await says(/An operator revoked the secret that it uses \(1\) at 2027-01-15T08:00:00\.000Z: it has a newer one/)

  const { clientId } = await administration.register(OTHER)
  await store.addSecret(clientId, { digest: first?.digest as string, createdAt: clock.time, endsAt: 0 }, AUDIT)
  await send({ client_id: clientId })
  await says(/The secret that it uses is not valid: it has a newer one/, clientId)
})

t.test('Why: an application that gets no token whatever it sends is told first', async (t) => {
  const { says, post, administration, id, later, store, seedUnseen } = await createAskedWorld(t)
  await administration.suspend(id)
  await post()
  await says(/^It is suspended: .*"applications resume/)
  await administration.resume(id)
  await says(/^It has not got a token yet\. Its last refusal \(suspended application, 0 s ago\) is over\.\n/)
  await administration.revokeSecret(id, 1, { force: true })
  later(2)
  await says(/^None of its secrets is valid: an operator revoked the last one at .* \(2 min ago\)\. "secrets rotate/)

  await seedUnseen('seeded')
  await says(/^Its secret is not valid yet, .*run the seed again/, 'seeded')

  const { findApplication } = store
  Object.assign(store, { findApplication: async (id: string) => ({ ...(await findApplication(id)), secrets: [] }) })
  await says(/^It has no secret: "secrets rotate seeded" makes a new one: hand it over\.$/, 'seeded')
})

t.test('Why: tokens that are refused at a suite that it is not approved for, or at every one', async (t) => {
  const { says, token, verify, administration, id } = await createAskedWorld(t)
  t.equal((await verify(await token(), '/product-information')).statusCode, 403)
  const said = await says(/^One of its tokens was refused .* It is not approved for product-information\. /)
  t.match(said, /If it should be: "applications approve \w+ --suite product-information"\.$/)
  await administration.approve(id, 'product-information')
  await says(/^The last token was issued .* ago\. Its last refusal \(application not approved, .*\) is over\./)
  await administration.withdraw(id, 'product-information', 'store')
  await says(/It is not approved for product-information/)
  const other = await administration.register({ ...OTHER, suites: [] })
  await says(/^It is approved for no suite/, other.clientId)
})

t.test('Why: tokens that are used for too long, or after they were revoked', async (t) => {
  const { says, token, verify, administration, id, clock, later, post, credentials } = await createAskedWorld(t)
  const first = await token()
  later(65)
  await verify(first)
  await says(/^One of its tokens was refused .*longer than their 60 minutes: .* issued 65 min ago\.$/)
  const second = await token()
  await administration.revokeAllTokens(id)
  later(5)
  await verify(second)
  await says(/a token that was revoked; the last revoke-all was 5 min ago: it has to ask for a new one/)
  clock.time += 1
  await token()
  await says(/^It works again: .*after its last refusal \(revoked token, /)

  const { clientId, clientSecret } = await administration.register({ ...OTHER, suites: ['store'] })
  const theirs = { ...credentials, client_id: clientId, client_secret: clientSecret as string }
  const third = (await post(theirs)).json().access_token
  await post({ ...theirs, token: third }, {}, '/v1/oauth/revoke')
  await verify(third)
  clock.time += 1
  await says(/One of its tokens was refused.*It uses a token that it has revoked itself/, clientId)
})

t.test('Why: a quota that is used up, and until when', async (t) => {
  const { says, post, explain } = await createAskedWorld(t, { tokenQuota: 1 })
  for (let n = 0; n < 3; n++) await post()
  await says(/2 times.*It has got all tokens that it may get in an hour.* use a token .*2027-01-15T09:00:00\.000Z/)
  t.match(await explain(), { application: { tokensThisHour: 1, refusedThisHour: 2 } })
})

t.test('Why: a client id that is nobody’s: what looks like it, and whose it may be', async (t) => {
  const { says, send, id, later, explain, token } = await createAskedWorld(t)
  const cut = id.slice(0, -1)
  await t.rejects(explain(cut), {
    name: 'OperatorError',
    message: new RegExp(`no application with the client id ${cut}, .* Is it ${id}\\?$`),
  })
  await t.rejects(explain('nobody'), { message: /Look for its name in "applications list"\.$/ })
  await send({ client_id: cut })
  await send({ client_id: 'xyz' })
  later(3)
  await says(new RegExp(`^No application has the client id ${cut}\\. .* once, 3 min ago.* Is it ${id}\\?`), cut)
  t.match(await explain(cut), {
    application: undefined,
    similarApplications: [{ clientId: id }],
    similarRefusals: { length: 1, 0: { clientId: `${id.slice(0, 4)}... (31 characters)`, reason: 'unknown client' } },
  })
  t.equal((await explain(cut)).health, 'wrong')
  await says(/^No application has the client id xyz\. .*"applications list"/, 'xyz')

  const said = await says(/^Nothing of it is refused, but an unknown client id that looks like it is, once, 3 min ago/)
  t.match(said, /one of 31 characters that begins with "\w{4}"\. Compare .* sends with \w+ \(32 characters\)\.$/)
  await token()
  await says(/^The last token was issued/)
})

t.test('Why: a client id that is cut off is found by its beginning, and by the whole one', async (t) => {
  const { says, explain, send, id } = await createAskedWorld(t)
  const cut = id.slice(0, 20)
  await t.rejects(explain(cut), { message: new RegExp(`Is it ${id}\\?$`) })
  await send({ client_id: cut })
  await says(new RegExp(`^No application has .* Is it ${id}\\?`), cut)
  await says(`: one of 20 characters that begins with "${id.slice(0, 4)}". Compare`)
  await send({ client_id: `"${id}"` })
  await says(`: one of 34 characters that begins with '"${id.slice(0, 3)}'. Compare`)
})

t.test('Why: a client id that begins with a line break is shown on one line', async (t) => {
  const { explain, send, id } = await createAskedWorld(t)
  await send({ client_id: `\r\n${id}` })
  const { lines, similarRefusals } = await explain()
  t.match(similarRefusals, [{ clientId: `\r\n${id.slice(0, 2)}... (34 characters)` }])
  t.match(lines.join('|'), `one of 34 characters that begins with "\\u000d\\u000a${id.slice(0, 2)}". Compare`)
  t.notMatch(lines.join('|'), /[\r\n]/)
})

t.test('Why: a suite that is refused where it asks about tokens is told why', async (t) => {
  const { says, suiteSendsWrong, explain, introspect, later } = await createAskedWorld(t)
  for (let n = 0; n < 3; n++) await suiteSendsWrong()
  later(1)
  const refused = await says(/^store is a suite: .* Its requests are refused, 3 times, .* it sends is wrong/, 'store')
  t.match(refused, '"secrets rotate store"')
  t.match((await explain('store')).refusals, [
    { clientId: 'store', isKnown: true, reason: 'wrong secret', endpoint: INTROSPECT, count: 3 },
  ])
  later(20)
  await says(/Its requests are refused, 3 times/, 'store')
  await suiteSendsWrong()
  later(1)
  t.equal((await introspect('x')).statusCode, 200)
  later(1)
  const said = await says(
    / It works again: it was authenticated 60 s ago\. If it runs in several places, one of/,
    'store',
  )
  t.match(said, /Before that: wrong secret, 4 times, first 23 min ago, last 2 min ago, .*last used 60 s ago/)
  later(9)
  await says(/None of its requests is refused now\./, 'store')
  t.equal((await explain('store')).refusals.length, 1)
  t.strictSame((await explain('product-information')).refusals, [])
})

t.test('Why: a suite whose secret has ended, that sends what breaks a rule, or that has no secret left', async (t) => {
  const { says, post, administration, later, introspect, basic } = await createAskedWorld(t)
  await post({}, { authorization: basic }, INTROSPECT)
  await says(/One of its requests was refused .* \/v1\/oauth\/introspect breaks a rule: field missing/, 'store')
  await administration.rotateSecret('store', MINUTE)
  later(2)
  t.equal((await introspect('x')).statusCode, 401)
  await says(
    /The secret that it uses \(\d+\) ended at .*: it has a newer one \(\d+\), which was not used yet /,
    'store',
  )
  const active = (await administration.listSecrets('store')).find(({ state }) => state === 'active')
  await administration.revokeSecret('store', active?.id as number, { force: true })
  const said = await says(/^store is a suite: .* None of its secrets is valid: an operator revoked the last/, 'store')
  t.match(said, '"secrets rotate store" makes a new one')
})

t.test('Why: it says until when tokens and refusals are known', async (t) => {
  const { explain, id, send, clock } = await createAskedWorld(t)
  const cut = id.slice(0, 20)
  await send({ client_id: cut })
  const knownUntil = { refusals: clock.time - 5000, tokens: clock.time - MINUTE }
  for (const clientId of [id, 'store', cut]) t.match(await explain(clientId), { knownUntil }, clientId)
})

t.test('Why: where the last active secret ends within 7 days, that is said with the remedy', async (t) => {
  const { administration, explain, clock, id, token, sendWrong } = await createAskedWorld(t)
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
  await sendWrong()
  t.match(await ending(id), 'Its last secret')
  t.equal((await explain()).health, 'wrong')
  clock.time += week
  t.match(await ending(id), 'None of its secrets is valid')
})

t.test('Why: remedies are worded for the command line, the API or the console', async (t) => {
  const { administration, sendWrong, id, explain } = await createAskedWorld(t)
  await sendWrong()
  await explain()
  const rotate = (owner: string) => `the button for ${owner}`
  const instructions: Instructions = { ...COMMANDS, rotate, ofSuite: (_, said) => said }
  const { lines } = await administration.why(id, instructions)
  t.match(lines.join(), `If the secret is lost, use the button for ${id} and hand`)
  t.strictSame((await administration.why('store', instructions)).lines, ['None of its requests is refused now.'])
})
