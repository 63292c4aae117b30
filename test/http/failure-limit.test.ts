import fc from 'fast-check'
import t from 'tap'
import { refused } from '../support/refused.ts'
import { createWorldOfSuites } from '../support/suites.ts'
import { createWorld } from '../support/world.ts'

const WRONG = { client_secret: 'wrong' }

t.test('RFC 6749 §2.3.1: wrong secrets are refused with 401 ten times, and then with 429', async (t) => {
  const { post, clock, credentials, lines } = await createWorld(t)
  for (let n = 0; n < 10; n++) t.equal((await post({ ...credentials, ...WRONG })).statusCode, 401)
  const answer = await post({ ...credentials, ...WRONG })
  refused(t, answer, 429, 'temporarily_unavailable', /too many wrong credentials/i)
  t.equal(answer.headers['retry-after'], '6')
  const { client_id, ...line } = JSON.parse(lines.at(-1) as string)
  t.match(line, { msg: 'request refused', reason: 'too many failures', status: 429 })
  t.equal(client_id, credentials.client_id)
  clock.monotonic += 6000
  t.equal((await post({ ...credentials, ...WRONG })).statusCode, 401)
  t.equal((await post()).statusCode, 200, 'and what is right passes all the time')
})

t.test('RFC 6749 §2.3.1: a refusal does not tell whether there is such a client, at any time', async (t) => {
  const { post, credentials, administration } = await createWorld(t)
  await administration.suspend(credentials.client_id)
  const tries = async (form: Record<string, string>) => {
    const answers = []
    for (let n = 0; n < 12; n++) answers.push(await post(form))
    const same = { date: '', 'x-request-id': '' }
    return answers.map(({ statusCode, headers, body }) => ({ statusCode, headers: { ...headers, ...same }, body }))
  }
  const known = await tries({ ...credentials, ...WRONG })
  t.strictSame(await tries({ ...credentials, ...WRONG, client_id: 'nobody' }), known)
  t.equal(known.at(-1)?.statusCode, 429)
})

t.test('Failures: what is refused for its number is answered late, and what comes after it is not', async (t) => {
  const { post, credentials } = await createWorld(t)
  for (let n = 0; n < 10; n++) await post({ ...credentials, ...WRONG })
  let isAnswered = false
  const refusal = post({ ...credentials, ...WRONG }).then(({ statusCode }) => {
    isAnswered = true
    return statusCode
  })
  t.strictSame([(await post()).statusCode, isAnswered], [200, false])
  t.equal(await refusal, 429)
})

t.test('Failures: revocation counts them together with the token request', async (t) => {
  const { post, credentials, token } = await createWorld(t)
  const form = { ...credentials, token: await token() }
  for (let n = 0; n < 5; n++) t.equal((await post({ ...form, ...WRONG }, {}, '/v1/oauth/revoke')).statusCode, 401)
  for (let n = 0; n < 5; n++) t.equal((await post({ ...credentials, ...WRONG })).statusCode, 401)
  const answer = await post({ ...form, ...WRONG }, {}, '/v1/oauth/revoke')
  t.strictSame([answer.statusCode, answer.headers['retry-after']], [429, '6'])
  t.equal((await post(form, {}, '/v1/oauth/revoke')).statusCode, 200)
})

t.test(
  'Failures: checks and introspection never count or meet them, for gateways have one address for all',
  async (t) => {
    const { app, post, verify, introspect, token } = await createWorldOfSuites(t)
    const wrongSuite = () =>
      post({ token: 'x', client_id: 'store', client_secret: 'wrong' }, {}, '/v1/oauth/introspect')
    for (let n = 0; n < 100; n++) await post({ grant_type: 'client_credentials', client_id: `${n}`, ...WRONG })
    t.equal((await post({ grant_type: 'client_credentials', client_id: 'x', ...WRONG })).statusCode, 429)
    for (let n = 0; n < 150; n++) {
      t.equal((await app.inject({ url: '/v1/oauth/verify', headers: { authorization: 'Bearer x' } })).statusCode, 401)
      t.equal((await wrongSuite()).statusCode, 401)
    }
    const accessToken = await token()
    t.strictSame([(await verify(accessToken)).statusCode, (await introspect(accessToken)).statusCode], [200, 200])
  },
)

t.test('Failures: whatever others send, a right generated secret gets its token', async (t) => {
  const { post, credentials, clock } = await createWorld(t)
  const step = fc.record({
    clientId: fc.constantFrom(credentials.client_id, 'a', 'b', 'c'),
    repeat: fc.integer({ min: 1, max: 40 }),
    pause: fc.nat(3000),
  })
  const flood: unknown[] = []
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
      for (const { clientId, repeat, pause } of steps) {
        clock.monotonic += pause
        const form = { ...credentials, ...WRONG, client_id: clientId }
        for (let n = 0; n < repeat; n++) flood.push(post(form))
        if ((await post()).statusCode !== 200) return false
      }
      return (await post()).statusCode === 200
    }),
    { numRuns: 20 },
  )
  await Promise.all(flood)
})

t.test('Failures: a right imported secret passes as soon as it is remembered, and costs nothing before', async (t) => {
  const { post, administration, clock } = await createWorld(t)
  const ask = async (client_secret: string) =>
    (await post({ grant_type: 'client_credentials', client_id: 'moved', client_secret })).statusCode
  // Before any secret is imported, so that no refusal costs scrypt.
  for (let n = 0; n < 10; n++) t.equal(await ask('wrong'), 401)
  const names = { name: 'A', developerEmail: 'a@b.example' }
  await administration.register({ ...names, clientId: 'moved', clientSecret: 'legacy-secret' })

  t.equal(await ask('legacy-secret'), 429, 'nobody can see yet that it is right')
  clock.monotonic += 6000
  t.strictSame([await ask('legacy-secret'), await ask('wrong'), await ask('wrong')], [200, 401, 429])
  t.equal(await ask('legacy-secret'), 200)
})

t.test('Failures: a wall clock that is set changes nothing', async (t) => {
  const { post, credentials, clock } = await createWorld(t)
  for (let n = 0; n < 10; n++) await post({ ...credentials, ...WRONG })
  clock.time += 3_600_000
  t.equal((await post({ ...credentials, ...WRONG })).statusCode, 429)
  clock.time -= 7_200_000
  clock.monotonic += 6000
  t.equal((await post({ ...credentials, ...WRONG })).statusCode, 401)
})

t.test('Failures: FAILURE_LIMIT=off refuses none of them for their number', async (t) => {
  const { post, credentials } = await createWorld(t, { failureLimit: false })
  for (let n = 0; n < 150; n++) t.equal((await post({ ...credentials, ...WRONG })).statusCode, 401)
})
