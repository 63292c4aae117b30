import t, { type Test } from 'tap'
import { registerImported } from '../support/imported.ts'
import { until } from '../support/until.ts'
import { createWorld, createWorldOfSuites, createWorldWithFile } from '../support/world.ts'

const HOUR = 3_600_000
const REVOKE = '/v1/oauth/revoke'

/** `fail` sends wrong secrets in sequence, and resolves to the statuses. */
async function createFailingWorld(t: Test, options?: Parameters<typeof createWorld>[1]) {
  const world = await createWorldOfSuites(t, options)
  const wrong = { ...world.credentials, client_secret: 'wrong' }
  async function fail(times = 1, form: Record<string, string> = {}, path?: string): Promise<number[]> {
    const statuses = []
    for (let n = 0; n < times; n++) statuses.push((await world.post({ ...wrong, ...form }, {}, path)).statusCode)
    return statuses
  }
  return { ...world, wrong, fail }
}

t.test('RFC 6749 §2.3.1: wrong secrets are refused with 401 ten times, and then with 429', async (t) => {
  const { post, clock, credentials, lines, wrong, fail } = await createFailingWorld(t)
  t.strictSame(await fail(10), Array(10).fill(401))
  t.match(await post(wrong), { statusCode: 429, headers: { 'retry-after': '6' } })
  const { client_id } = credentials
  const line = { msg: 'request refused', reason: 'too many failures', status: 429, client_id }
  t.match(JSON.parse(lines.at(-1) as string), line)
  clock.time += HOUR
  t.strictSame(await fail(), [429], 'setting the wall clock changes nothing')
  clock.monotonic += 6000
  t.strictSame(await fail(), [401])
  t.equal((await post()).statusCode, 200, 'the correct secret always passes')
})

t.test('RFC 6749 §2.3.1: no refusal reveals whether a client exists', async (t) => {
  const { post, credentials, administration, wrong } = await createFailingWorld(t)
  await administration.suspend(credentials.client_id)
  const tries = async (form: Record<string, string>) => {
    const answers = []
    for (let n = 0; n < 12; n++) answers.push(await post(form))
    const same = { date: '', 'x-request-id': '' }
    return answers.map(({ statusCode, headers, body }) => ({ statusCode, headers: { ...headers, ...same }, body }))
  }
  const known = await tries(wrong)
  t.strictSame(await tries({ ...wrong, client_id: 'nobody' }), known)
  t.equal(known.at(-1)?.statusCode, 429)
})

t.test('Failures: a throttled request is answered late, and the next good one is not', async (t) => {
  const { app, post, fail } = await createFailingWorld(t, { later: () => {} })
  await fail(10)
  let isAnswered = false
  const refusal = fail().finally(() => (isAnswered = true))
  t.strictSame([(await post()).statusCode, isAnswered], [200, false])
  await app.close()
  t.strictSame(await refusal, [429], 'a server that closes sends it at once')
})

t.test('Failures: revocation counts them together with the token request', async (t) => {
  const { post, credentials, fail } = await createFailingWorld(t)
  t.strictSame(await fail(5, { token: 'x' }, REVOKE), Array(5).fill(401))
  t.strictSame(await fail(5), Array(5).fill(401))
  t.strictSame(await fail(1, { token: 'x' }, REVOKE), [429])
  t.equal((await post({ ...credentials, token: 'x' }, {}, REVOKE)).statusCode, 200)
})

t.test('Failures: checks and introspection are not counted or throttled: gateways share an address', async (t) => {
  const { verify, introspect, token, fail } = await createFailingWorld(t)
  for (let n = 0; n < 100; n++) await fail(1, { client_id: `${n}` })
  t.strictSame(await fail(1, { client_id: 'x' }), [429])
  const checks = []
  for (let n = 0; n < 12; n++) checks.push((await verify('x')).statusCode)
  const introspections = await fail(12, { client_id: 'store', token: 'x' }, '/v1/oauth/introspect')
  t.strictSame(new Set([...checks, ...introspections]), new Set([401]))
  const accessToken = await token()
  t.strictSame([(await verify(accessToken)).statusCode, (await introspect(accessToken)).statusCode], [200, 200])
})

t.test('Failures: a correct imported secret passes once it is cached, and is not counted before', async (t) => {
  const { store, clock, fail } = await createFailingWorld(t)
  const moved = { client_id: 'moved' }
  const right = () => fail(1, { ...moved, client_secret: 'legacy-secret' })
  t.strictSame(await fail(10, moved), Array(10).fill(401))
  await registerImported(store, 'moved', 'legacy-secret')
  t.strictSame(await right(), [429], 'it is not known yet that it is correct')
  clock.monotonic += 6000
  t.strictSame([...(await right()), ...(await fail(2, moved))], [200, 401, 429])
  t.strictSame(await right(), [200])
})

t.test('RFC 6585 §4: an application over its quota gets 429 until the clock hour ends', async (t) => {
  const { post, clock } = await createWorld(t, { tokenQuota: 2 })
  t.equal((await post()).statusCode, 200)
  clock.time += 10 * 60_000
  t.equal((await post()).statusCode, 200)
  clock.time += 10 * 60_000 + 1
  t.equal((await post()).headers['retry-after'], String(40 * 60), 'in whole seconds, rounded up')
  clock.time += 40 * 60_000 - 2
  t.equal((await post()).headers['retry-after'], '1')
  clock.time += 1
  t.equal((await post()).statusCode, 200)
  clock.time -= 60 * 60_000
  t.equal((await post()).statusCode, 429, 'the clock was set back')
})

t.test('Quota: it is per application, and limits only tokens', async (t) => {
  const { post, credentials, administration, verify, introspect } = await createWorldOfSuites(t, { tokenQuota: 1 })
  const token = (await post()).json().access_token
  t.equal((await post()).statusCode, 429)
  t.equal((await verify(token)).statusCode, 200)
  t.equal((await introspect(token)).json().active, true)
  const other = await administration.register({ name: 'Other' })
  const theirs = { ...credentials, client_id: other.clientId, client_secret: other.clientSecret as string }
  t.equal((await post(theirs)).statusCode, 200)
  const wrong = await post({ ...credentials, client_secret: 'wrong' })
  t.equal(wrong.statusCode, 401, 'only authenticated clients have one')
  t.equal((await post({ ...credentials, token }, {}, REVOKE)).statusCode, 200)
  t.equal((await verify(token)).statusCode, 401)
})

t.test('Quota: concurrent requests share it, and a token that could not be stored does not count', async (t) => {
  const { post, other } = await createWorldWithFile(t, { tokenQuota: 5 })
  other.exec("CREATE TRIGGER fails BEFORE INSERT ON tokens BEGIN SELECT RAISE(ABORT, 'full'); END")
  t.equal((await post()).statusCode, 503)
  other.exec('DROP TRIGGER fails')
  const answers = await Promise.all(Array.from({ length: 20 }, () => post()))
  t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [...Array(5).fill(200), ...Array(15).fill(429)])
})

t.test('Quota: the log has one line per hour and application over it; `why` counts each refusal', async (t) => {
  const world = await createWorld(t, { tokenQuota: 1 })
  const { post, credentials, logged, clock, flushUsage, flushRefusals, administration } = world
  for (let n = 0; n < 5; n++) await post()
  t.match(logged(), [{ msg: 'token issued' }])
  t.equal(logged().length, 1)
  await flushRefusals()
  const { refusals } = await administration.why(credentials.client_id)
  t.match(refusals, [{ reason: 'token quota exceeded', endpoint: '/v1/oauth/accesstoken', count: 4 }])
  const about = { type: 'token quota exceeded', clientId: credentials.client_id }
  t.strictSame(await flushUsage(), [{ ...about, hour: '2027-01-15T08:00:00.000Z' }])
  await post()
  t.strictSame(await flushUsage(), [])
  clock.time += HOUR
  t.equal((await post()).statusCode, 200)
  t.strictSame(await flushUsage(), [])
  await post()
  t.strictSame(await flushUsage(), [{ ...about, hour: '2027-01-15T09:00:00.000Z' }])
})

t.test('Overload: too many tokens that wait for the store are refused, and checks are answered', async (t) => {
  const [waiting, more] = [1024, 20]
  const { app, post, token, verify, introspect, other } = await createWorldWithFile(t, { lockTimeout: 30_000 })
  const accessToken = await token()
  other.exec('BEGIN IMMEDIATE')
  const statuses: number[] = []
  const requests = Array.from({ length: waiting + more }, async () => statuses.push((await post()).statusCode))
  await until(() => statuses.length >= more)
  t.strictSame(statuses, Array(more).fill(503))
  t.strictSame([(await verify(accessToken)).statusCode, (await introspect(accessToken)).json().active], [200, true])
  t.equal((await app.inject('/health/live')).statusCode, 200)
  t.equal(statuses.length, more, 'the others still wait')
  other.exec('COMMIT')
  await Promise.all(requests)
  t.equal(statuses.filter((status) => status === 200).length, waiting)
})
