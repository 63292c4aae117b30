import t, { type Test } from 'tap'
import type { FederatedRule } from '../../src/domain/federation.ts'
import type { NewSecret, Secret } from '../../src/domain/secret.ts'
import { createExaminer } from '../../src/federation/examine.ts'
import { createFederated } from '../../src/issuer/federated.ts'
import { registerImported } from '../support/imported.ts'
import { on } from '../support/on.ts'
import {
  answerOf,
  createSigner,
  credential,
  forge,
  given,
  type Signer,
  SUBJECT,
  sign,
  startIssuer,
} from '../support/workload-issuer.ts'
import { createWorld, PUBLIC_URL, START } from '../support/world.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const PARTY = { prefix: '192.0.2.1', isShared: false, isRegistered: true }

/** A credential as a store has it. */
const stored = (id: number, one: NewSecret): Secret => ({ federated: null, endsAt: null, revokedAt: null, ...one, id })

/** A world whose application has a federated credential of a platform. */
async function createFederatedWorld(t: Test, options: Parameters<typeof createWorld>[1] = {}) {
  const world = await createWorld(t, { failureLimit: false, ...options })
  const platform = await startIssuer(t)
  const { store, clock, credentials, post, logged, administration } = world
  const { issuer, signer } = platform
  const id = credentials.client_id
  const add = (more: Partial<FederatedRule> = {}, times = {}) =>
    on(store).addSecret(id, credential(issuer, more, times))
  await add()
  /** A JWT that the platform signs now. */
  const jwt = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}, by: Signer = signer) =>
    sign(by, { iss: issuer, ...claims }, { header, now: clock.time })
  /** Sends a JWT as the secret. Resolves to 200, or to the reason of the refusal and its detail. */
  async function send(token: string, clientId = id) {
    const answer = await post({ ...credentials, client_id: clientId, client_secret: token })
    if (answer.statusCode === 200) return [200]
    if (answer.statusCode !== 401) return [answer.statusCode]
    t.strictSame(answer.json(), { error: 'invalid_client', error_description: 'Unknown client or wrong secret' })
    const line = logged().findLast(({ msg }) => msg === 'authentication refused')
    for (const part of token.split('.').filter(({ length }) => length > 20))
      t.notOk(JSON.stringify(line).includes(part))
    return [line.reason, line.detail]
  }
  const secretIds = async () => (await administration.listSecrets(id)).map((secret) => secret.id)
  const later = (ms: number) => (clock.time += ms)
  return { ...world, ...platform, id, add, jwt, send, secretIds, later }
}

t.test('Federation: a JWT that matches stands where the secret stood', async (t) => {
  const { jwt, send, logged, secretIds, administration, id, flushUsage, credentials, post, later } =
    await createFederatedWorld(t)
  const token = await jwt()
  t.strictSame(await send(token), [200])
  const [, federatedId] = await secretIds()
  t.match(logged().at(-1), { msg: 'token issued', client_id: id, secret_id: federatedId })
  t.strictSame(await send(token), [200])
  later(MINUTE)
  t.strictSame(await send(token), [200])
  await flushUsage()
  t.match(await administration.listSecrets(id), [{}, { origin: 'federated', lastUsedAt: START + MINUTE }])
  const answer = (await post({ ...credentials, client_secret: token })).json()
  const withSecret = (await post()).json()
  t.strictSame(Object.keys(answer), Object.keys(withSecret), 'the answer is that of the contract')
  const revoked = await post(
    { ...credentials, client_secret: token, token: answer.access_token },
    {},
    '/v1/oauth/revoke',
  )
  t.equal(revoked.statusCode, 200, 'and it revokes tokens')
  t.strictSame(await send(await jwt({ exp: START / 1000 + 100 })), [200], 'a renewed one')
})

t.test(
  'Federation: a JWT that matches is refused from an address that is not one of the source addresses',
  async (t) => {
    const { jwt, send, administration, id } = await createFederatedWorld(t)
    const token = await jwt()
    for (const [source, outcome] of [
      ['192.0.2.1', ['address not allowed', undefined]],
      ['127.0.0.1', [200]],
      ['192.0.2.1', ['address not allowed', undefined]],
    ] as const) {
      await administration.update(id, { sourceAddresses: [source] })
      t.strictSame(await send(token), outcome)
    }
  },
)

t.test('Federation: an application without any secret gets tokens through a day of renewals', async (t) => {
  const { jwt, send, administration, id, secretIds, later, credentials, post } = await createFederatedWorld(t)
  const [secretId] = (await secretIds()) as [number]
  await administration.revokeSecret(id, secretId)
  for (let hours = 0; hours < 24; hours++) {
    t.strictSame(await send(await jwt()), [200], `${hours} h`)
    later(HOUR)
  }
  t.equal((await post(credentials)).statusCode, 401)
})

t.test('Federation: all four algorithms are accepted', async (t) => {
  const { jwt, send, state, later } = await createFederatedWorld(t)
  const signers = await Promise.all(['RS256', 'PS256', 'ES256', 'EdDSA'].map((alg) => createSigner(alg, alg)))
  state.keys = signers.map(({ jwk }) => jwk)
  later(MINUTE)
  for (const signer of signers) t.strictSame(await send(await jwt({}, {}, signer)), [200], signer.alg)
})

t.test('Federation: a JWT that is not the right one is refused, and the log says why', async (t) => {
  const { jwt, send, issuer, signer, state, add, administration, store } = await createFederatedWorld(t)
  const seconds = START / 1000
  const stranger = await createSigner('first')
  const es384 = await createSigner('es384', 'ES384')
  const rsa = await createSigner('rsa', 'RS256')
  state.keys.push(es384.jwk, rsa.jwk, { ...rsa.jwk, kid: 'twice' }, { ...signer.jwk, kid: 'twice' })
  const other = await administration.register({ name: 'Other' })
  await on(store).addSecret(other.clientId, credential(issuer, { subject: 'system:serviceaccount:shop:other' }))
  await add({ subject: SUBJECT, claims: { 'kubernetes.io.namespace': 'shop' } })
  const trusted = (jwk: object) => ({ jwk, jku: `${issuer}/evil`, x5u: `${issuer}/evil`, x5c: ['AAAA'] })
  const none = `${forge({ alg: 'none' }, { iss: issuer, sub: SUBJECT, aud: PUBLIC_URL, exp: seconds + 60 }, '')}`
  const [notTrusted, notNow, mismatch] = ['not trusted', 'not valid now', 'mismatch'].map(
    (what) => `federated token ${what}`,
  )
  const wrong = /^its signature is wrong: signature verification failed$/
  const cases: Record<string, [token: string, reason: string | undefined, detail?: string | RegExp]> = {
    'of another application': [
      await jwt({ sub: 'system:serviceaccount:shop:other' }),
      mismatch,
      `sub is "system:serviceaccount:shop:other", not "${SUBJECT}"`,
    ],
    'for another audience': [await jwt({ aud: 'https://x.example' }), mismatch, /^aud is "https:\/\/x\.example", not/],
    'of a foreign issuer': [
      await jwt({ iss: 'https://x.example' }),
      mismatch,
      `iss is "https://x.example", not "${issuer}"`,
    ],
    'without an issuer': [await jwt({ iss: undefined }), mismatch, `iss is missing, not "${issuer}"`],
    expired: [await jwt({ exp: seconds - 61 }), notNow, /^exp is .*, in the past$/],
    'without an end': [await jwt({ exp: undefined }), notNow, 'exp is missing, not a time'],
    'that lives for a week': [await jwt({ exp: seconds + 604_800 }), notNow, /more than a day$/],
    'signed by a stranger': [await jwt({}, {}, stranger), notTrusted, wrong],
    'with an unknown key': [await jwt({}, { kid: 'x' }), notTrusted, 'its issuer has no key with the id "x"'],
    'with a path as its key': [await jwt({}, { kid: '../../etc/passwd' }), notTrusted, /no key with the id/],
    'with a key that is no text': [await jwt({}, { kid: ['first'] }), notTrusted, 'kid is ["first"], not text'],
    'with the key of another algorithm': [await jwt({}, { kid: 'rsa' }), notTrusted, /^its signature is wrong/],
    'that brings its key': [await jwt({}, { kid: 'x', ...trusted(stranger.jwk) }, stranger), notTrusted, /no key/],
    'that brings its key under a known id': [await jwt({}, trusted(stranger.jwk), stranger), notTrusted, wrong],
    'with alg none': [none, notTrusted, 'alg is "none", not RS256, PS256, ES256, EdDSA'],
    'with alg none and no dot before the signature': [none.slice(0, -1), undefined],
    'with alg none and a signature': [`${none}AAAA`, notTrusted, 'alg is "none", not RS256, PS256, ES256, EdDSA'],
    'with HS256 by the public key': [
      await sign(
        { ...signer, alg: 'HS256', privateKey: Buffer.from(JSON.stringify(signer.jwk)) as never },
        { iss: issuer },
      ),
      notTrusted,
      /^alg is "HS256"/,
    ],
    'with ES384': [await jwt({}, {}, es384), notTrusted, /^alg is "ES384"/],
    'with an extension': [await jwt({}, { crit: ['b64'], b64: true }), notTrusted, /^crit is \["b64"\]/],
    'of another type': [await jwt({}, { typ: 'logout+jwt' }), notTrusted, 'typ is "logout+jwt", not JWT'],
    'with a type that is no text': [await jwt({}, { typ: ['JWT'] }), notTrusted, 'typ is ["JWT"], not JWT'],
    'that is no JSON': [forge('x'.repeat(40), 'x'.repeat(40)), notTrusted, 'it is not a JWT'],
    'of a nested header': [forge(`{"alg":${'['.repeat(2000)}${']'.repeat(2000)}}`, '{}'), notTrusted, /^alg is \[/],
  }
  for (const [what, [token, reason = 'wrong secret', detail]] of Object.entries(cases))
    t.match(await send(token), [reason, detail], `a JWT ${what}`)
  for (const typ of ['JWT', 'application/at+jwt', 'JOSE']) t.strictSame(await send(await jwt({}, { typ })), [200], typ)
  t.strictSame(await send(await jwt({}, { kid: 'twice' })), [200], 'of two keys with one id, both are tried')
  const tampered = (await jwt()).split('.')
  tampered[1] = forge('', { iss: issuer, sub: SUBJECT, aud: PUBLIC_URL, exp: seconds + 90 }).split('.')[1] as string
  t.match(await send(tampered.join('.')), [notTrusted, wrong])
  t.strictSame(
    state.asked.filter((path) => path === '/evil'),
    [],
  )
  t.strictSame(await send(await jwt(), other.clientId), [
    mismatch,
    `sub is "${SUBJECT}", not "system:serviceaccount:shop:other"`,
  ])
})

t.test(
  'Federation: a wrong signature costs the same for each client, so that nobody can tell who trusts a key',
  async (t) => {
    const verified: string[] = []
    const { verify } = crypto.subtle
    t.intercept(crypto.subtle, 'verify', {
      value: (...args: Parameters<typeof verify>) => {
        verified.push((args[1] as CryptoKey).algorithm.name)
        return verify.apply(crypto.subtle, args)
      },
    })
    const { store, clock } = await createFederatedWorld(t)
    const examine = createExaminer({ store, now: () => clock.time, observe: () => {}, publicUrl: PUBLIC_URL })
    const [own, second, rsa] = [await createSigner(), await createSigner('second'), await createSigner('rsa', 'RS256')]
    const iss = 'a-client'
    const of = (...keys: Signer[]) => stored(1, credential(iss, { keys: given(...keys) }))
    const clients: Record<string, Secret[]> = {
      'an unknown one': [],
      'one of another issuer': [stored(1, credential('https://x.example'))],
      'one with the key': [of(own)],
      'one with two keys': [of(own, second)],
      'one with the key twice': [of(own), of(own)],
      'one with a key of another type': [of(rsa)],
    }
    for (const alg of ['RS256', 'PS256', 'ES256', 'EdDSA']) {
      const forged = await createSigner('first', alg)
      for (const [kid, times] of [
        ['first', 1],
        ['rsa', 1],
        [null, 4],
      ] as const) {
        const token = await sign({ ...forged, kid }, { iss, sub: iss })
        for (const [client, secrets] of Object.entries(clients)) {
          verified.length = 0
          const { reason } = await examine(secrets, token).catch((error) => error)
          t.match([reason, verified.length], [/^federated token/, times], `${alg}, ${kid}, ${client}`)
        }
      }
    }
    const decoy = { x: 'axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY', y: 'T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU' }
    const jwk = { kty: 'EC', crv: 'P-256', ...decoy, d: `${'A'.repeat(42)}E` }
    const privateKey = await crypto.subtle.importKey('jwk', jwk, { name: 'ECDSA', namedCurve: 'P-256' }, false, [
      'sign',
    ])
    const byDecoy = await sign({ alg: 'ES256', kid: 'first', privateKey }, { iss, sub: iss })
    const refused = await examine([of(second)], byDecoy).catch((error) => error)
    t.equal(refused.detail, 'its issuer has no key with the id "first"', 'a decoy is no key')
  },
)

t.test('Federation: an unknown client, one without a credential and a wrong JWT get one answer', async (t) => {
  const { jwt, send, administration, state, store } = await createFederatedWorld(t)
  const { clientId } = await administration.register({ name: 'Without' })
  const token = await jwt()
  t.strictSame(await send(token, clientId), ['wrong secret', undefined])
  t.strictSame(await send(token, 'nobody'), ['unknown client', undefined])
  t.ok(state.asked.length > 0, 'the same work is done')
  const unknown = await jwt({ iss: 'https://x.example' })
  t.strictSame(await send(unknown, 'nobody'), ['unknown client', undefined])
  const { asked } = state
  t.equal(asked.length, 2)
  await registerImported(store, 'moved', token.slice(0, 200))
  t.strictSame(await send(token.slice(0, 200), 'moved'), [200], 'an imported secret may look like a JWT')
  t.strictSame(await send(await jwt({ sub: 'x' })), ['federated token mismatch', `sub is "x", not "${SUBJECT}"`])
})

t.test('Federation: revoked, expired and suspended count from the next request on', async (t) => {
  const { jwt, send, administration, id, secretIds, add, later } = await createFederatedWorld(t)
  const token = await jwt()
  t.strictSame(await send(token), [200])
  await administration.suspend(id)
  t.strictSame(await send(token), ['suspended application', undefined])
  t.strictSame(
    await send(await jwt({ exp: START / 1000 + 60 })),
    ['suspended application', undefined],
    'a new one, too',
  )
  await administration.resume(id)
  const [, federatedId] = (await secretIds()) as [number, number]
  await administration.revokeSecret(id, federatedId)
  const [revoked, expired] = ['revoked secret', 'expired secret']
  t.strictSame(await send(token), [revoked, `it is the federated credential ${federatedId}`])
  t.strictSame(
    await send(await jwt({ n: 1 })),
    [revoked, `it is the federated credential ${federatedId}`],
    'a new one, too',
  )
  await add({}, { endsAt: START + 5 })
  t.strictSame(await send(token), [200], 'an active credential counts before a revoked one')
  later(5)
  t.match(await send(token), [expired, /^it is the federated credential/])
})

t.test('Federation: a JWT is remembered for five minutes, and then it is examined again', async (t) => {
  const { store, clock, issuer, jwt, later } = await createFederatedWorld(t)
  const now = () => clock.time
  const examine = createExaminer({ store, now, observe: () => {}, publicUrl: PUBLIC_URL })
  const { findVerified, verify } = createFederated({ examine, now })
  const one = stored(1, credential(issuer))
  const other = stored(2, credential(issuer, { audience: 'x' }))
  const presented = { clientId: 'a', clientSecret: await jwt() }
  t.equal(findVerified([one], presented), undefined)
  t.equal(await verify([other, one], presented, PARTY), undefined)
  t.equal(findVerified([other, one], presented), one)
  t.equal(findVerified([other], presented), undefined, 'only for the rule that it matches')
  t.equal(findVerified([one], { ...presented, clientSecret: await jwt({ n: 1 }) }), undefined)
  t.equal(findVerified([one], { ...presented, clientSecret: 'x' }), undefined)
  t.equal(findVerified([one], { ...presented, isAssertion: true }), undefined, 'a client assertion is another matter')
  later(5 * MINUTE - 1)
  t.equal(findVerified([one], presented), one)
  later(1)
  t.equal(findVerified([one], presented), undefined)
  later(-10 * MINUTE)
  t.equal(findVerified([one], presented), undefined, 'the clock was set back')
  later(5 * MINUTE)
  const short = { clientId: 'a', clientSecret: await jwt({ exp: START / 1000 + 30 }) }
  await verify([one], short, PARTY)
  later(30_000 + MINUTE - 1)
  t.equal(findVerified([one], short), one, 'the clock of the issuer may be slow')
  later(1)
  t.equal(findVerified([one], short), undefined, 'it has ended')
})

t.test('Federation: a JWT that has just expired passes, because clocks differ', async (t) => {
  const { jwt, send } = await createFederatedWorld(t)
  t.strictSame(await send(await jwt({ exp: START / 1000 - 59 })), [200])
})

t.test('Federation: many clients behind one address may present new JWTs at once', async (t) => {
  const { jwt, send } = await createFederatedWorld(t)
  const tokens = await Promise.all(Array.from({ length: 30 }, (_, n) => jwt({ n })))
  const answers = await Promise.all(tokens.map((token) => send(token)))
  t.strictSame(answers, Array(30).fill([200]))
})

t.test('Federation: 10,000 JWTs are remembered, and the oldest is forgotten', async (t) => {
  const secret = stored(1, credential('https://x.example'))
  const examine = async () => ({ secret, endsAt: START + HOUR })
  const { findVerified, verify } = createFederated({ examine, now: () => START })
  const nth = (n: number) => ({ clientId: 'a', clientSecret: forge({ n }, { padding: 'x'.repeat(64) }) })
  for (let n = 0; n <= 10_000; n++) await verify([secret], nth(n), PARTY)
  t.equal(findVerified([secret], nth(0)), undefined)
  t.equal(findVerified([secret], nth(1)), secret)
})

t.test('Federation: keys can be given, and only their credential trusts them', async (t) => {
  const { send, store, administration, id, issuer, jwt } = await createFederatedWorld(t)
  const [one, two] = [await createSigner('one'), await createSigner('first')]
  const offline = 'https://kubernetes.default.svc'
  await on(store).addSecret(id, credential(offline, { keys: given(one) }))
  const by = (signer: Signer, claims: Record<string, unknown> = {}) => sign(signer, { iss: offline, ...claims })
  t.strictSame(await send(await by(one)), [200])
  t.match(await send(await by(two)), ['federated token not trusted', 'its issuer has no key with the id "first"'])
  t.match(await send(await by(one, { iss: issuer })), ['federated token not trusted', /no key with the id "one"/])
  await on(store).addSecret(id, credential(issuer, { subject: 'admin', keys: given(one) }))
  t.strictSame(await send(await by(one, { iss: issuer, sub: 'admin' })), [200])
  t.strictSame(
    await send(await by(one, { iss: issuer })),
    ['federated token mismatch', `sub is "${SUBJECT}", not "admin"`],
    'the fetched keys are not these',
  )
  const { clientId } = await administration.register({ name: 'Other' })
  t.strictSame(await send(await by(one), clientId), ['wrong secret', undefined])
  await on(store).addSecret(clientId, credential(offline, { keys: given(two) }))
  t.match(await send(await by(one), clientId), ['federated token not trusted'])
  t.strictSame(await send(await jwt()), [200])
  await on(store).addSecret(clientId, credential(issuer, { keys: given(two) }))
  const trusted = 'it is signed with a key that only another credential trusts'
  t.strictSame(await send(await jwt(), clientId), ['federated token not trusted', trusted])
})

t.test('Federation: a JWT without the id of its key is verified with up to four keys', async (t) => {
  const { send, store, id } = await createFederatedWorld(t)
  const signers = await Promise.all(Array.from({ length: 5 }, () => createSigner(null)))
  await on(store).addSecret(id, credential(id, { subject: id, keys: given(...signers) }))
  const by = async (n: number) => send(await sign(signers[n] as Signer, { iss: id, sub: id }))
  t.strictSame(await by(0), [200])
  t.strictSame(await by(3), [200])
  t.match(await by(4), ['federated token not trusted', /^its signature is wrong/])
})

t.test('Federation: an issuer may be away for an hour, and its keys may change twice', async (t) => {
  const { send, jwt, state, later, issuer, logged } = await createFederatedWorld(t)
  t.strictSame(await send(await jwt()), [200])
  state.answers['*'] = answerOf(503)
  for (let minutes = 0; minutes < 60; minutes += 10) {
    later(10 * MINUTE)
    t.strictSame(await send(await jwt()), [200], `away for ${minutes + 10} min`)
  }
  state.answers = {}
  for (const kid of ['second', 'third']) {
    const signer = await createSigner(kid)
    state.keys = [signer.jwk]
    later(2 * MINUTE)
    t.strictSame(await send(await jwt({}, {}, signer)), [200], kid)
    t.match(await send(await jwt()), ['federated token not trusted', 'its issuer has no key with the id "first"'])
  }
  state.answers['*'] = answerOf(503)
  later(24 * HOUR + MINUTE)
  const [reason, detail] = await send(await jwt({}, { kid: 'third' }))
  t.strictSame(reason, 'issuer unavailable')
  t.match(detail, `"${issuer}/.well-known/openid-configuration": it answered 503`)
  t.match(
    logged()
      .filter(({ msg }) => msg === 'issuer keys not fetched')
      .at(-1),
    { level: 40, issuer, problem: detail },
  )
})

t.test('Federation: nobody can stop a right JWT by wrong ones, and those are limited', async (t) => {
  const { jwt, send, add } = await createFederatedWorld(t, { failureLimit: true })
  const wrong = await jwt({ sub: 'x' })
  for (let n = 0; n < 10; n++) t.match(await send(wrong), ['federated token mismatch'])
  t.strictSame(await send(wrong), [429])
  t.strictSame(await send(await jwt()), [200])
  await add({ subject: 'x' })
  t.strictSame(await send(wrong), [200])
})

t.test('Federation: JWTs wait in turns, and too many are refused with 503', async (t) => {
  const { jwt, send } = await createFederatedWorld(t)
  await send(await jwt())
  const tokens = await Promise.all(Array.from({ length: 50 }, (_, n) => jwt({ sub: 'x', n })))
  const outcomes = await Promise.all(tokens.map((token) => send(token).then(([outcome]) => outcome)))
  t.strictSame(new Set(outcomes), new Set(['federated token mismatch', 503]))
  t.strictSame(await send(await jwt()), [200])
})
