import t, { type Test } from 'tap'
import { diagnosisText } from '../../src/administration/views.ts'
import type { Application } from '../../src/domain/application.ts'
import { on } from '../support/on.ts'
import { refusal } from '../support/refusal.ts'
import { credential } from '../support/workload-issuer.ts'
import { type createWorld, createWorldOfSuites, START } from '../support/world.ts'

const MINUTE = 60_000
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

  /** Stores that requests of the application were refused now. */
  const record = (...rows: Parameters<typeof refusal>[1][]) =>
    store.recordRefusals(rows.map((row) => refusal(id, { firstAt: clock.time, lastAt: clock.time, ...row })))

  const later = (minutes: number) => Object.assign(clock, { time: clock.time + minutes * MINUTE })

  /** `owner`: who is asked about, and whose secrets are changed; `newest`: the secret of the last rotation. */
  return { ...world, id, explain, says, send, record, later, owner: id, newest: '' }
}

/** What can happen in a case; `n` is the number in it. */
const STEPS: Record<string, Step> = {
  'n min': ({ later }, n) => later(n),
  'n ms': ({ clock }, n) => Object.assign(clock, { time: clock.time + n }),
  'n ms back': ({ clock }, n) => Object.assign(clock, { time: clock.time - n }),
  token: ({ token }) => token(),
  'first secret': ({ post }) => post(),
  'newest secret': ({ send, newest }) => send({ client_secret: newest }),
  'wrong secret': ({ send }) => send({ client_secret: 'wrong' }),
  'wrong grant type': ({ send }) => send({ grant_type: 'password' }),
  'empty secret': ({ send }) => send({ client_secret: '' }),
  'rotation with n min': async (world, n) => {
    const { clientSecret } = await world.administration.rotateSecret(world.owner, n * MINUTE)
    world.newest = clientSecret
  },
  'first secret revoked': ({ administration, id }) => administration.revokeSecret(id, 1, { force: true }),
  'newest secret revoked': async ({ administration, owner }) => {
    const newest = (await administration.listSecrets(owner)).at(-1)
    await administration.revokeSecret(owner, newest?.id as number, { force: true })
  },
  suspension: ({ administration, id }) => administration.suspend(id),
  resumption: ({ administration, id }) => administration.resume(id),
  approval: ({ administration, id }) => administration.approve(id, 'product-information'),
  'no suite': ({ administration, id }) => administration.withdraw(id, 'product-information', 'store'),
  'token at another suite': async ({ token, verify }) => verify(await token(), '/product-information'),
  'token that is used for n min': async ({ token, verify, later }, n) => {
    const old = await token()
    later(n)
    await verify(old)
  },
  'token from n min before a revoke-all': async ({ token, verify, later, administration, id }, n) => {
    const old = await token()
    await administration.revokeAllTokens(id)
    later(n)
    await verify(old)
  },
  'token for the store at another suite': async ({ send, verify, administration }) => {
    await administration.updateSuite('store', { url: 'https://store.example' })
    const { access_token } = (await send({ resource: 'https://store.example' })).json()
    await verify(access_token, '/product-information')
  },
  'token for a URL of no suite': async ({ send, administration }) => {
    await administration.updateSuite('store', { url: 'https://store.example' })
    await send({ resource: 'https://nowhere.example' })
  },
  'token for the URL of another suite': async ({ send, administration }) => {
    await administration.updateSuite('product-information', { url: 'https://products.example' })
    await send({ resource: 'https://products.example' })
  },
  'token that it revokes': async ({ token, verify, post, credentials }) => {
    const old = await token()
    await post({ ...credentials, token: old }, {}, '/v1/oauth/revoke')
    await verify(old)
  },
  'credentials in a header': ({ post, credentials: { client_id, client_secret } }) =>
    post(undefined, { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` }),
  introspection: ({ post, credentials }) => post({ ...credentials, token: 'x' }, {}, INTROSPECT),
  'nothing but too many failures': ({ record }) => {
    const reason = 'too many failures'
    return record({ reason }, { reason, remoteAddress: '192.0.2.2' })
  },
  'n wrong secrets, and some too many': ({ record }, n) =>
    record({ reason: 'too many failures', count: 2 }, { count: n }),
  'broken rule': ({ record }) => record({ reason: 'field missing', endpoint: '/' }),
  'expired token': ({ record }) => record({ reason: 'expired token' }),
  'about the suite': (world) => Object.assign(world, { owner: 'store' }),
  'the id of the suite': ({ send }) => send({ client_id: 'store' }),
  'wrong secret of the suite': ({ post }) =>
    post({ token: 'x' }, { authorization: `Basic ${btoa('store:bad')}` }, INTROSPECT),
  'question of the suite': ({ introspect }) => introspect('x'),
  'question about nothing': ({ post, basic }) => post({}, { authorization: basic }, INTROSPECT),
}

const HEALTHS = ['well', 'doubtful', 'wrong']

/** What happens (a text), and what is said then (a regular expression), or the health, in turn. */
type Script = (string | RegExp)[]

const SAYS_NO_END = /^(?![\s\S]*Its last secret)/

/** An owner's only secret comes to end within a week. */
const ENDING: Script = [
  'rotation with 10080 min',
  SAYS_NO_END,
  'newest secret revoked',
  'doubtful',
  /Its last secret \(\d\) ends at 2027-01-22T08:00:00\.000Z\. After that, all its requests are refused\. "secrets rotate \w+" makes a new one: hand it over before that\./,
  '1 ms back',
  SAYS_NO_END,
  '1 ms',
]

const CASES: Record<string, Script> = {
  'where nothing was ever refused or issued, it says what that means': [
    /^It has not asked for a token yet\.\nIf the partner still sees .*answered with 503/,
    'token; 12 min',
    /^The last token was issued 12 min ago, and nothing was refused\.\nIf the partner still sees/,
  ],
  'a wrong secret is told from one that was right before': [
    'wrong secret; 3 min',
    /^One of its requests was refused 3 min ago, from 127\.0\.0\.1\. The secret .* right one has not been used yet \(/,
    'token; 1 min; wrong secret; 1 min',
    /^Its requests are refused, 2 times, first 5 min ago, last 60 s ago, .* last used 2 min ago.*"secrets rotate \w{32}"/,
  ],
  'a token for one suite at another, and a resource that it may not use': [
    'approval; token for the store at another suite',
    /^One of its tokens was refused .*\. It sends a token that is for another suite alone, as it asked for with the field resource: /,
    '1 min; token; 1 min; token for a URL of no suite',
    /^One of its requests was refused .*\. It asks for a token for a URL that no suite has: the field resource must be/,
  ],
  'a resource is allowed by an approval': [
    'token for the URL of another suite; 1 min',
    /It is not approved for product-information\. If it should be: "applications approve \w+ --suite product-information"\./,
    'approval; 1 min',
    'well',
  ],
  'a secret that was right before a rotation counts as used': [
    'token; 1 min; wrong secret; rotation with 0 min; 1 ms',
    /The secret that it sends is wrong; the right one was last used 60 s ago\..*"secrets rotate \w{32}"/,
  ],
  'after a token another instance may be wrong; ten minutes later that is over': [
    'well',
    'wrong secret',
    'wrong',
    '1 min; token',
    'well',
    /^It works again: it got a token 0 s ago, .* Before its last token: wrong secret, once, 60 s ago, from \S+\.\n/,
    '1 ms; wrong secret; wrong secret; 1 min; token; 1 min',
    'doubtful',
    /^It works again: it got a token 60 s ago, at \S+Z, after its last refusal \(wrong secret, 2 min ago\)\. If it runs in several places/,
    /\nBefore its last token: wrong secret, 3 times, .* it sent was wrong; the right (?!.*secrets rotate)/,
    '10 min',
    'well',
    /^It works again: .* 11 min ago, .* its last refusal \(wrong secret, 12 min ago\)\.\nIf the partner/,
  ],
  'a secret that has ended while a newer one is not used is the first thing that is said': [
    'token; rotation with 1 min; 3 min; first secret',
    /The secret that it uses \(1\) ended 2 min ago, at 2027-01-15T08:01:00\.000Z \(set by tester 3 min ago, at 2027-01-15T08:00:00\.000Z\): it has a newer one \(\d+\), which has not been used yet \(uses of secrets show up within a minute\)\. If the partner does not use that by now, hand it over;/,
    'newest secret; 1 min; first secret',
    /the newer one \(\d+\) was last used 60 s ago, and all of its instances should use that\./,
  ],
  'of several secrets that have ended the one that was used last is meant, though another one ended later': [
    'token; rotation with 1 min; 1 ms; rotation with 1 min; 2 min; first secret',
    /The secret that it uses \(1\) ended /,
  ],
  'of several secrets that have ended and were never used the last one is meant': [
    'rotation with 1 min; rotation with 2 min; 3 min; first secret',
    /The secret that it uses \(4\) ended /,
  ],
  'a secret that was refused as expired, and was revoked since': [
    'rotation with 1 min; 2 min; first secret; first secret revoked',
    /The secret that it uses is not valid: it has a newer one/,
  ],
  'a secret that an operator has revoked': [
    'rotation with 1000 min; first secret revoked; first secret',
    /The secret that it uses \(1\) was revoked by tester 0 s ago, at 2027-01-15T08:00:00\.000Z: it has a newer one/,
  ],
  'the last secret that has ended by itself is not said to be revoked': [
    'rotation with 1 min; 1 ms; newest secret revoked; 3 min',
    /^None of its secrets is valid: the last one ended 2 min ago, at 2027-01-15T08:01:00\.000Z \(set by tester 3 min ago/,
  ],
  'where the last active secret of an application ends within 7 days, that is said with the remedy': [
    'token',
    ...ENDING,
    'wrong secret',
    /Its last secret/,
    'wrong',
    '10080 min',
    /None of its secrets is valid/,
  ],
  'where the last active secret of a suite ends within 7 days, that is said, too': ['about the suite', ...ENDING],
  'a secret that is still used and ends within 7 days, while a newer one is not used, is a warning': [
    'token; 1 min; rotation with 2880 min',
    'doubtful',
    /^The last token .*\nIts secret 1, last used 60 s ago, ends at 2027-01-17T08:01:00\.000Z: it has a newer one \(\d+\), which has not been used yet .* hand it over; if it is lost, "secrets rotate/,
    'newest secret; 1 min; first secret',
    /\nIts secret 1, .*: the newer one \(\d+\) was last used 60 s ago, and all of its instances should use that\./,
    '1 min; newest secret',
    /\nIts secret 1, last used 60 s ago, ends at .*: the newer one \(\d+\) was last used 0 s ago/,
    'newest secret; 1438 min; newest secret',
    /\nIts secret 1, last used 24 h ago/,
    '1 min',
    'well',
    'about the suite; rotation with 14400 min; question of the suite',
    'well',
    '4320 min',
    /Its secret \d, last used 3 days ago, ends at 2027-01-26.*Z: it has a newer one/,
  ],
  'an application that gets no token whatever it sends is told first': [
    'suspension; first secret',
    'wrong',
    /^It was suspended by tester 0 s ago, at 2027-01-15T08:00:00\.000Z: it gets no tokens, .*"applications resume/,
    'resumption',
    /^It has not got a token yet\. The cause of its last refusal \(suspended application, 0 s ago\) is gone\.\n/,
    'first secret revoked; 2 min',
    /^None of its secrets is valid: the last one was revoked by tester 2 min ago, at \S+Z\. "secrets rotate/,
  ],
  'tokens that are refused at a suite that it is not approved for': [
    'token at another suite',
    /^One of its tokens was refused .* It is not approved for product-information\. .*If it should be: "applications approve \w+ --suite product-information"\.$/,
    'approval',
    /^The last token was issued .* ago\. The cause of its last refusal \(application not approved, .*\) is gone\./,
    '1 ms; token',
    /^The last token was issued .* \(application not approved, .*\) is gone; no check has been refused since\./,
    'no suite',
    /It is not approved for product-information/,
  ],
  'tokens that are used for too long, or after a revoke-all': [
    'token that is used for 65 min',
    /^One of its tokens was refused .*longer than their 60 minutes: .* issued 65 min ago\.$/,
    'token from 5 min before a revoke-all',
    /a token that was revoked; the last revoke-all was 5 min ago: it has to ask for a new one/,
    '1 ms; token',
    /^It works again: .*after its last refusal \(revoked token, /,
  ],
  'a token that it has revoked itself': [
    'token that it revokes; 1 ms',
    /One of its tokens was refused.*It uses a token that it has revoked itself/,
  ],
  'an expired token of an application that got none that is known': ['expired token', /old one expires\. ?$/],
  'too many failures come with their cause': [
    '10 wrong secrets, and some too many',
    /^Its requests are refused, 10 times.* it sends is wrong.*\nIts requests are refused with 429, 2 times, .* wrong credentials too often/,
  ],
  'where only too many failures are known, the way out is said, after every other reason': [
    'nothing but too many failures',
    /from 2 addresses\. It has sent wrong credentials too often and has to wait/,
    'broken rule',
    /Its request to \/ breaks a rule: field missing\. The error_description in .* says more\.\nIts .* 429/,
  ],
  'a grant type that there is not': ['wrong grant type', /Its grant_type is wrong: it has to send grant_type=cl/],
  'a request that breaks a rule': [
    'empty secret',
    /Its request to \/v1\/oauth\/accesstoken breaks a rule: field empty\..* So does the server’s log: search it for [\w-]+\.$/,
  ],
  'credentials in the wrong place': [
    'credentials in a header',
    /in the Authorization header: they belong in the body.* CLIENT_AUTHENTICATION=body,basic allows HTTP Basic\./,
    'introspection',
    /It asks for introspection, which only suites may/,
  ],
  'every current problem is named, newest first': [
    'token at another suite; 1 ms; wrong grant type; 1 min; wrong secret; wrong secret; 1 min',
    /^Its requests are refused, 2 times.* it sends is wrong.*\nOne of its requests was refused 2 min ago.* grant_type .*\nOne of its tokens was refused 2 min ago.* not approved for product-information\. .*$/,
    'token; 1 min',
    /^One of its tokens was refused 3 min ago.*\nBefore its last token: wrong secret, 2 times, .* 2 min/,
    /\nBefore its last token: unsupported grant type, once.*$/,
    'no suite',
    /\nIt is approved for no suite, so its tokens are valid nowhere: .*$/,
  ],
  'a suite’s id is told from an application’s': [
    'about the suite',
    'well',
    /^store is a suite: it checks tokens, and cannot get any\. None of .* is refused now\. To get tokens/,
    'the id of the suite',
    'doubtful',
    /A client id like this was refused, once, 0 s ago, from 127\.0\.0\.1\. To get/,
    'wrong secret of the suite',
    'wrong',
    '1 min; question of the suite',
    'doubtful',
  ],
  'a suite that is refused where it asks about tokens is told why': [
    'about the suite; wrong secret of the suite; wrong secret of the suite; wrong secret of the suite; 21 min',
    /^store is a suite: .* Its requests are refused, 3 times, .* it sends is wrong.*"secrets rotate store"/,
    'wrong secret of the suite; 1 min; question of the suite; 1 min',
    / It works again: it was authenticated 60 s ago\. If it runs in several places, one of/,
    /Before that: wrong secret, 4 times, first 23 min ago, last 2 min ago, .*last used 60 s ago/,
    '9 min',
    /None of its requests is refused now\./,
  ],
  'a suite that sends what breaks a rule, whose secret has ended, or that has no secret left': [
    'about the suite; question about nothing',
    /One of its requests was refused .* \/v1\/oauth\/introspect breaks a rule: field missing/,
    'rotation with 1 min; 2 min; question of the suite',
    /The secret that it uses \(\d+\) ended .*: it has a newer one \(\d+\), which has not been used yet /,
    'newest secret revoked',
    /^store is a suite: .* None of its secrets is valid: the last one was revoked by tester .*"secrets rotate store" makes a new one/,
  ],
}

for (const [what, script] of Object.entries(CASES)) {
  t.test(`Why: ${what}`, async (t) => {
    const world = await createAskedWorld(t)
    for (const [index, one] of script.entries()) {
      if (typeof one !== 'string') await world.says(one, world.owner)
      else if (HEALTHS.includes(one)) t.equal((await world.explain(world.owner)).health, one, `${index}`)
      else
        for (const step of one.split('; ')) {
          const act = STEPS[step.replace(/\d+/, 'n')] as Step
          await act(world, Number.parseInt(step.replace(/\D+/, ''), 10))
          // Whose a refused request was is looked up after the answer.
          await new Promise(setImmediate)
        }
    }
  })
}

t.test('Why: who suspended an application or ended a secret is not said where the audit does not tell', async (t) => {
  const { says, store, clock, administration, id, later, send } = await createAskedWorld(t)
  await administration.rotateSecret(id, MINUTE)
  later(2)
  const newest = (await administration.listSecrets(id)).at(-1)
  await administration.revokeSecret(id, newest?.id as number, { force: true })
  await administration.suspend(id)
  await says(/^It was suspended by tester/)
  await administration.update(id, { name: 'Other' })
  await says(/^It was suspended by tester/)
  await store.purge('audit events', clock.time + 1, 100)
  await says(/^It is suspended: it gets no tokens, /)
  await administration.resume(id)
  await says(/: the last one was revoked 0 s ago, at 2027-01-15T08:02:00\.000Z\./)
  later(1)
  await administration.rotateSecret(id, MINUTE)
  await send({})
  await says(/The secret that it uses \(1\) ended 2 min ago, at 2027-01-15T08:01:00\.000Z: it has a newer one/)
})

t.test('Why: an application that has no secret', async (t) => {
  const { says, id, store } = await createAskedWorld(t)
  const { findApplication } = store
  Object.assign(store, { findApplication: async (id: string) => ({ ...(await findApplication(id)), secrets: [] }) })
  await says(new RegExp(`^It has no secret: "secrets rotate ${id}" makes a new one: hand it over\\.$`))
})

t.test('Why: a quota that is used up, and until when', async (t) => {
  const { says, post, explain, later } = await createAskedWorld(t, { tokenQuota: 1 })
  for (let n = 0; n < 3; n++) await post()
  await says(/2 times.*It has used up its quota of tokens for this hour.* use each token .*2027-01-15T09:00:00\.000Z/)
  await says(/ It asked for 3, and got 1\. .* If it needs more: "applications update \w+ --quota N"\.$/)
  t.match(await explain(), { application: { tokensThisHour: 1, issuedThisHour: 1, refusedThisHour: 2 } })
  later(60)
  await says(/^(?!.*It asked for)/)
})

t.test('Why: many tokens in the last 60 minutes, or those before, are a warning', async (t) => {
  const { says, explain, store, id, later, clock, administration } = await createAskedWorld(t)
  const { key } = (await store.findApplication(id)) as Application
  const get = (tokens: number) => store.addUsage([{ clientId: id, tokens, checks: 0, refusals: 0 }], clock.time)
  await store.addTokenCounts([{ applicationKey: key, hour: 1, issued: 1, refused: 0, lastTokenAt: START }])
  await get(360)
  t.equal((await explain()).health, 'well')
  await get(4142)
  for (const [minutes, when] of [
    [0, 'in the last 60 minutes'],
    [60, 'between one and two hours ago'],
  ] as const) {
    later(minutes)
    await says(new RegExp(`many tokens, 4,502 ${when}: .* use each token until it expires\\.`))
    t.equal((await explain()).health, 'doubtful')
  }
  t.match(await explain(), { application: { tokensThisHour: 0, tokensLastHour: 4502 } })
  later(60)
  t.equal((await explain()).health, 'well')
  await get(999)
  await administration.suspend(id)
  t.equal((await explain()).health, 'wrong')
})

t.test('Why: large numbers have separators', async (t) => {
  const { says, store, id } = await createAskedWorld(t)
  await store.recordRefusals([refusal(id, { count: 4563 })])
  await says(/^Its requests are refused, 4,563 times, /)
})

t.test('Why: checks of tokens of no known application are not refusals of the suite itself', async (t) => {
  const { says, verify, store, explain } = await createAskedWorld(t)
  await verify('made-up', '/store')
  await says(/None of its requests is refused now/, 'store')
  t.strictSame((await explain('store')).refusals, [])
  t.match(await store.listRefusals('store'), [{ reason: 'malformed token', remoteAddress: '' }])
})

t.test('Why: for a JWT that is refused it says what exactly was wrong', async (t) => {
  const { says, record, later } = await createAskedWorld(t)
  for (const [reason, detail, advice] of [
    ['federated token mismatch', 'sub is "a", not "b"', 'Correct the rule of the federated credential'],
    ['federated token not trusted', 'alg is "none"', 'It must be the one that the platform signs.'],
    ['federated token not valid now', 'exp is past', 'It must be read anew for each request of a token.'],
    ['issuer unavailable', 'it answered 503', 'This server must reach the issuer'],
  ] as const) {
    later(1)
    await record({ reason, detail: 'an older one' })
    await record({ reason, detail })
    await says(`The JWT that it sends instead of a secret was refused: ${detail}. ${advice}`)
  }
})

t.test('Why: the last federated credential ends: another one is proposed, and no secret', async (t) => {
  const { says, store, id, clock, administration } = await createAskedWorld(t)
  await on(store).addSecret(id, credential('https://issuer.example', {}, { endsAt: clock.time + MINUTE }))
  for (const { origin, id: one } of await administration.listSecrets(id))
    if (origin === 'generated') await administration.revokeSecret(id, one)
  await says(
    /Its last federated credential \(\d+\) ends at \S+\. After that, all its requests are refused\. Add another one before that\./,
  )
})

t.test('Why: requests of a removed application are not taken for those of one with a similar client id', async (t) => {
  const { send, later, explain, administration } = await createAskedWorld(t)
  const { clientId = '' } = (await explain()).application as Application
  const other = `${clientId.slice(0, 4)}${'x'.repeat(clientId.length - 4)}`
  await send({ client_id: other })
  t.match(await explain(), { health: 'doubtful', similarRefusals: { length: 1 } })
  await administration.register({ clientId: other, name: 'Other', suites: [] })
  await administration.remove(other)
  t.match(await explain(), { similarRefusals: { length: 1 } }, 'that was before it was there')
  later(1)
  await send({ client_id: other })
  t.match(await explain(), { similarRefusals: { length: 0 } })
  t.match(await explain(other), { health: 'wrong', similarRefusals: { length: 1 } })
})

t.test('Why: an application that was removed: by whom, when, and whether it still calls', async (t) => {
  const { says, send, id, later, explain, administration } = await createAskedWorld(t)
  const { name } = (await explain()).application as Application
  await send({ client_secret: 'wrong' })
  await administration.remove(id)
  later(3)
  const removed = `${name} (${id}) was removed by tester 3 min ago, at 2027-01-15T08:00:00.000Z.`
  t.equal(await says(/ was removed /, id), `${removed} Its client id has not been refused since.`)
  await send({})
  const refused = 'Since then its client id, or a similar one, was refused, once, 0 s ago, from 127.0.0.1'
  t.equal(await says(/ was removed /, id), `${removed} ${refused}: tell its developer, or register it again.`)
  t.match(await explain(id), { health: 'wrong', application: undefined })
  await administration.register({ clientId: id, name, suites: [] })
  await says(/^(?!.*removed)/, id)
  await administration.suspend(id)
  await says(/^It was suspended by tester 0 s ago/, id)
})

t.test('Why: of the similar client ids ten are named, and how many more there are', async (t) => {
  const { administration, says, send, explain } = await createAskedWorld(t)
  for (let n = 10; n < 22; n++) await administration.register({ clientId: `shop-${n}` })
  const named = Array.from({ length: 10 }, (_, n) => `shop-${n + 10}`).join(', ')
  await t.rejects(explain('shop'), { message: new RegExp(`Did you mean ${named} and 2 more\\?$`) })
  await send({ client_id: 'shop' })
  await says(new RegExp(`Did you mean ${named} and 2 more\\? Compare character by character\\.`), 'shop')
  t.equal((await explain('shop')).similarApplications.length, 12)
})

t.test('Why: a client id that is nobody’s: what looks like it, and whose it may be', async (t) => {
  const { says, send, id, later, explain, token, clock } = await createAskedWorld(t)
  const cut = id.slice(0, -1)
  await t.rejects(explain(cut), {
    name: 'OperatorError',
    message: new RegExp(`^No application has the client id ${cut}, .* Did you mean ${id}\\?$`),
  })
  await t.rejects(explain('nobody'), { message: /Look for the application in "applications list"\.$/ })
  await send({ client_id: cut })
  await send({ client_id: 'xyz' })
  later(3)
  await says(new RegExp(`^No application has the client id ${cut}\\. .* once, 3 min ago.* Did you mean ${id}\\?`), cut)
  t.match(await explain(cut), {
    health: 'wrong',
    application: undefined,
    similarApplications: [{ clientId: id }],
    similarRefusals: { length: 1, 0: { clientId: `${id.slice(0, 4)}... (31 characters)`, reason: 'unknown client' } },
  })
  await says(/^No application has the client id xyz\. .*"applications list"/, 'xyz')

  const said = await says(/^None of its requests is refused, but those of a similar .* are, once, 3 min ago/)
  t.match(said, /one of 31 characters that begins with "\w{4}"\. Compare .* sends with \w+ \(32 characters\)\.$/)
  await token()
  await says(/^The last token was issued/)
  clock.time += 1
  await send({ client_id: `"${id}"` })
  await says(`: one of 34 characters that begins with '"${id.slice(0, 3)}'. Compare`)
  clock.time += 1
  await send({ client_id: `\r\n${id}` })
  const { lines } = await explain()
  t.match(lines.join('|'), `one of 34 characters that begins with "\\u000d\\u000a${id.slice(0, 2)}". Compare`)
  t.notMatch(lines.join('|'), /[\r\n]/, 'on one line')
})
