import t from 'tap'
import { type ApiWorld, createApiWorld, type Sent } from '../../support/api.ts'

const NEW = { name: 'A', developer_email: 'dev@partner.example' }
const KEY = { 'idempotency-key': '8e03978e-40d5-43dd-bc93-6894a57f9324' }
const DAY = 24 * 3_600_000

/** Each call that returns a secret, and a different request to the same path. */
const CALLS: Record<string, { path: string; json: object; other: object }> = {
  'the registration of an application': { path: '/applications', json: NEW, other: { ...NEW, name: 'B' } },
  'the registration of a suite': { path: '/suites', json: { id: 'a', name: 'A' }, other: { id: 'a', name: 'B' } },
  'a rotation of an application': { path: '/applications/app/secrets', json: {}, other: { overlap_seconds: 1 } },
  'a rotation of a suite': { path: '/suites/store/secrets', json: {}, other: { overlap_seconds: 1 } },
}

async function createWorld(t: Parameters<typeof createApiWorld>[0]): Promise<ApiWorld> {
  const world = await createApiWorld(t)
  await world.call('POST', '/suites', { json: { id: 'store', name: 'Store' } })
  await world.call('POST', '/applications', { json: { ...NEW, client_id: 'app' } })
  return world
}

async function changesOf({ call }: ApiWorld): Promise<number> {
  return (await call('GET', '/audit-events?limit=200')).body.audit_events.length
}

for (const [name, { path, json, other }] of Object.entries(CALLS)) {
  t.test(`Idempotency-Key: ${name} that is repeated gets the same answer and changes nothing`, async (t) => {
    const world = await createWorld(t)
    const { call, clock } = world
    const post = (sent: Sent) => call('POST', path, { headers: KEY, ...sent })
    const first = await post({ json })
    const changes = await changesOf(world)
    t.equal(first.headers['idempotent-replayed'], undefined)
    clock.time += DAY - 1
    const again = await post({
      payload: JSON.stringify(json, null, 2),
      headers: { ...KEY, 'content-type': 'application/json' },
    })
    t.match(again, { status: 201, headers: { 'idempotent-replayed': 'true' } })
    t.strictSame(again.body, first.body)
    t.equal(again.headers.location, first.headers.location)
    t.equal(await changesOf(world), changes)

    t.match(await post({ json: other }), { status: 422, body: { detail: /was used for another request/ } })
    const { operators } = world.administration
    const { adminKey } = await operators.addKey('anna', DAY)
    const authorization = `Bearer ${adminKey}`
    t.equal((await post({ as: 'none', json, headers: { ...KEY, authorization } })).status, 422, 'of another key')
    t.equal(await changesOf(world), changes + 1, 'the key that was added')
  })
}

t.test('Idempotency-Key: without a key, with another one or after a day, the call is made again', async (t) => {
  const world = await createWorld(t)
  const { call, clock } = world
  const rotate = async (headers: Record<string, string>) =>
    (await call('POST', '/applications/app/secrets', { headers })).body.client_secret
  const secrets = [await rotate(KEY), await rotate({}), await rotate({}), await rotate({ 'idempotency-key': 'b' })]
  clock.time += DAY + 1
  secrets.push(await rotate(KEY))
  t.equal(new Set(secrets).size, 5)
})

t.test('Idempotency-Key: a refused call can be repeated, corrected or not', async (t) => {
  const { call } = await createWorld(t)
  const register = (json: object) => call('POST', '/applications', { json, headers: KEY })
  t.equal((await register({ ...NEW, client_id: 'app' })).status, 409)
  t.equal((await register({ ...NEW, name: '' })).status, 422)
  t.equal((await register(NEW)).status, 201)
})

t.test('Idempotency-Key: concurrent repetitions make one change', async (t) => {
  const world = await createWorld(t)
  const changes = await changesOf(world)
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => world.call('POST', '/applications', { json: NEW, headers: KEY })),
  )
  t.equal(new Set(answers.map(({ body }) => JSON.stringify(body))).size, 1)
  t.equal(answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined).length, 1)
  t.equal(await changesOf(world), changes + 1)
})

t.test('Idempotency-Key: it has 1 to 255 printable ASCII characters', async (t) => {
  const { call } = await createWorld(t)
  const statuses = async (key: string) =>
    (await call('POST', '/applications', { json: NEW, headers: { 'idempotency-key': key } })).status
  for (const key of ['a', '"quoted"', 'two words', 'x'.repeat(255)]) t.equal(await statuses(key), 201, key)
  for (const key of ['', 'x'.repeat(256), 'schlüssel']) t.equal(await statuses(key), 400, key)
})
