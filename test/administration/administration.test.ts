import t from 'tap'
import type { Registration } from '../../src/administration/applications.ts'
import { OperatorError } from '../../src/domain/operator-error.ts'
import { createWorld, START } from '../support/world.ts'

const STORE = { suiteId: 'store', name: 'Store API' }
const PARTNER = { name: 'Partner', developerEmail: 'a@partner.example' }

t.test('Registration: a client id and a secret of [A-Za-z0-9] are generated', async (t) => {
  const { administration } = await createWorld(t)
  t.match(await administration.register(PARTNER), {
    clientId: /^[A-Za-z0-9]{32}$/,
    clientSecret: /^[A-Za-z0-9]{40}$/,
    ...PARTNER,
  })
})

t.test('Registration: a client id that is taken is refused', async (t) => {
  const { administration } = await createWorld(t)
  await administration.register({ ...PARTNER, clientId: 'a' })
  await t.rejects(administration.register({ ...PARTNER, clientId: 'a' }), {
    message: 'The id a is taken already.',
    kind: 'conflict',
  })
})

t.test('Registration: every field has its limits, and a refusal names all that is wrong but no secret', async (t) => {
  const { administration } = await createWorld(t)
  const invalid: [Partial<Registration>, RegExp][] = [
    [{ name: ' ' }, /name must not be empty/],
    [{ name: 'a'.repeat(201) }, /name may have 200/],
    [{ name: 'a\u001b[31m' }, /control characters/],
    [{ name: 'a\u202egpj.exe' }, /control characters/],
    [{ developerEmail: 'a\u2066@b.example' }, /must be an email address/],
    [{ developerEmail: 'nobody' }, /email address/],
    [{ developerEmail: `${'a'.repeat(250)}@b.example` }, /254/],
    [{ clientId: '' }, /client id must be 1 to 200/],
    [{ clientId: 'with space' }, /client id must be/],
    [{ clientId: '.' }, /client id must not be \. or \.\./],
    [{ clientId: '..' }, /client id must not be/],
    [{ clientSecret: 'hunter2' }, /client secret must be 8 to 200/],
    [{ clientSecret: 'hunter2-ünïcödé' }, /client secret must be/],
  ]
  for (const [part, message] of invalid) {
    await t.rejects(administration.register({ ...PARTNER, ...part }), { message })
  }
  const refusal = await administration.register({ name: '', developerEmail: '', clientSecret: 'hunter2' }).catch(String)
  t.match(refusal, /name must.*; .*email.*; .*secret/)
  t.notMatch(refusal, /hunter2/)
  t.equal((await administration.list()).length, 1)
})

t.test('Errors: invalid fields are reported by their JSON names', async (t) => {
  const { administration } = await createWorld(t)
  const fields = [
    { field: 'name', message: /^The name must not be empty$/ },
    { field: 'developer_email', message: /must be an email address$/ },
    { field: 'client_id', message: /^The client id must be/ },
  ]
  const error = { name: 'OperatorError', kind: 'invalid', fields }
  await t.rejects(administration.register({ name: '', developerEmail: 'nobody', clientId: ' ' }), error)
  await t.rejects(administration.registerSuite({ suiteId: 'a b', name: 'A' }), {
    name: 'OperatorError',
    fields: [{ field: 'id', message: /^The suite id must be/ }],
  })
})

t.test('Errors: a missing subject is reported differently from an invalid field', async (t) => {
  const { administration, credentials } = await createWorld(t)
  const id = credentials.client_id
  const unknown: Promise<unknown>[] = [
    administration.show('nobody'),
    administration.remove('nobody'),
    administration.approve(id, 'nowhere'),
    administration.showSuite('nowhere'),
    administration.rotateSecret('nobody', 0),
    administration.revokeSecret(id, 999),
  ]
  for (const promise of unknown) await t.rejects(promise.then(), { name: 'OperatorError', kind: 'not found' })
  await t.rejects(administration.addSecret(id, credentials.client_secret), {
    name: 'OperatorError',
    kind: 'conflict',
  })
})

t.test('Seed: what is missing is registered, what exists is left, again and again', async (t) => {
  const { administration } = await createWorld(t)
  const file = [PARTNER, { ...PARTNER, name: 'Second', clientId: 'second', clientSecret: 'imported-secret' }]
  const none = { suites: [], applications: [] }
  t.match(await administration.seed({ suites: [STORE], applications: file }), {
    suites: [{ ...STORE, clientSecret: /^\w{40}$/ }],
    applications: [
      { clientId: String, clientSecret: String, name: 'Partner' },
      { clientId: 'second', clientSecret: undefined, name: 'Second' },
    ],
  })
  const before = await administration.list()
  t.strictSame(before[1]?.suites, ['store'])
  t.strictSame(await administration.seed({ suites: [STORE], applications: file }), none)
  const renamed = { ...PARTNER, name: 'Renamed', clientId: 'second' }
  t.strictSame(await administration.seed({ suites: [], applications: [renamed] }), none)
  t.strictSame(await administration.list(), before)
})

t.test('Seed: two at once register each application once', async (t) => {
  const { administration } = await createWorld(t)
  const file = { suites: [STORE], applications: [PARTNER] }
  const results = await Promise.all([administration.seed(file), administration.seed(file)])
  t.equal(results.flatMap(({ applications }) => applications).length, 1)
  t.equal(results.flatMap(({ suites }) => suites).length, 1)
  t.equal((await administration.list()).length, 2)
})

t.test('Administration: an unknown client id is said to be unknown', async (t) => {
  const { administration } = await createWorld(t)
  const { show, suspend, resume, remove, revokeAllTokens, rotateSecret, revokeSecret } = administration
  for (const act of [show, suspend, resume, remove, revokeAllTokens]) {
    await t.rejects(async () => void (await act('nobody')), {
      message: 'There is no application with the client id nobody.',
    })
  }
  await t.rejects(rotateSecret('nobody', 0), OperatorError)
  await t.rejects(revokeSecret('nobody', 1), { message: 'There is no application and no suite with the id nobody.' })
})

t.test('Suites: a taken id, an unknown suite and a wrong id are refused', async (t) => {
  const { administration, credentials } = await createWorld(t)
  const { registerSuite, register, showSuite, removeSuite, approve, withdraw, seed } = administration
  t.match(await registerSuite(STORE), { ...STORE, clientSecret: /^\w{40}$/ })
  await t.rejects(registerSuite(STORE), { message: 'The id store is taken already.' })
  await t.rejects(registerSuite({ ...STORE, suiteId: credentials.client_id }), { message: /is taken already/ })
  await t.rejects(register({ ...PARTNER, clientId: 'store' }), { message: /is taken already/ })
  await t.rejects(registerSuite({ suiteId: 'a/b', name: '' }), {
    message: /suite id must be .*; The name must/,
    kind: 'invalid',
    fields: [{ field: 'id' }, { field: 'name' }],
  })
  for (const suiteId of ['.', '..']) {
    await t.rejects(registerSuite({ suiteId, name: 'A' }), { message: /suite id must not be \. or \.\./ })
  }
  for (const suiteId of ['...', '.a']) {
    t.match(await registerSuite({ suiteId, name: 'A' }), { suiteId })
    await removeSuite(suiteId)
  }

  const message = 'There is no suite with the id nowhere.'
  await t.rejects(async () => void (await showSuite('nowhere')), { message })
  await t.rejects(removeSuite('nowhere'), { message })
  await t.rejects(approve(credentials.client_id, 'nowhere'), { message })
  await t.rejects(withdraw(credentials.client_id, 'nowhere'), { message })
  await t.rejects(async () => void (await register({ ...PARTNER, suites: ['store', 'nowhere'] })), {
    message,
    kind: 'invalid',
    fields: [{ field: 'suites', message: 'There is no suite with the id nowhere' }],
  })
  const file = { suites: [{ suiteId: 'new', name: 'New' }], applications: [{ ...PARTNER, suites: ['new', 'nowhere'] }] }
  await t.rejects(async () => void (await seed(file)), { message: /applications\[0\]\.suites\[1\]: There is no suite/ })
  const clash = { suites: [{ suiteId: credentials.client_id, name: 'New' }], applications: [] }
  await t.rejects(async () => void (await seed(clash)), { message: /suites\[0\]\.id: The id .* is taken already/ })
  const otherClash = { suites: [], applications: [{ ...PARTNER, clientId: 'store' }] }
  await t.rejects(async () => void (await seed(otherClash)), {
    message: /applications\[0\]\.client_id: The id store is taken already/,
  })
  t.equal((await administration.listSuites()).length, 1, 'and nothing was changed')
  await t.rejects(approve('nobody', 'store'), { message: /no application/ })
  await t.rejects(withdraw('nobody', 'store'), { message: /no application/ })
})

t.test('Approvals: a suite that is given several times is approved, and withdrawn, once', async (t) => {
  const { administration, credentials, changes } = await createWorld(t)
  await administration.registerSuite(STORE)
  changes.length = 0
  await administration.approve(credentials.client_id, 'store', 'store', 'store')
  t.match(changes, [{ type: 'application approved', suite: 'store' }])
  t.strictSame(await administration.withdraw(credentials.client_id, 'store', 'store'), ['store'])
  t.strictSame(
    changes.map(({ type }) => type),
    ['application approved', 'approval withdrawn'],
  )
})

t.test('Administration: suspend and resume, rotate and revoke take effect with the next request on', async (t) => {
  const { administration, credentials, post, clock } = await createWorld(t)
  const id = credentials.client_id
  const status = async (form = credentials) => (await post(form)).statusCode

  await administration.suspend(id)
  t.equal(await status(), 401)
  await administration.resume(id)
  t.equal(await status(), 200)

  const rotated = await administration.rotateSecret(id, 1000)
  t.equal(rotated.othersEndAt, START + 1000)
  const fresh = { ...credentials, client_secret: rotated.clientSecret }
  t.equal(await status(), 200, 'the overlap')
  t.equal(await status(fresh), 200)
  clock.time += 999
  t.equal(await status(), 200)
  clock.time += 1
  t.equal(await status(), 401)
  t.equal(await status(fresh), 200)

  const [, newest] = (await administration.show(id)).secrets
  await t.rejects(administration.revokeSecret(id, newest?.id as number), {
    message: /last active one .* force it/,
    kind: 'conflict',
  })
  t.equal(await status(fresh), 200)
  await administration.revokeSecret(id, newest?.id as number, { force: true })
  t.equal(await status(fresh), 401)
  await t.rejects(administration.revokeSecret(id, 999), { message: /has no secret 999/ })

  await administration.remove(id)
  t.equal(await status(), 401)
})

t.test('Secrets: each has a state, and one that was revoked stays so if the clock is set back', async (t) => {
  const { administration, credentials, post, clock } = await createWorld(t)
  const id = credentials.client_id
  const states = async () => (await administration.listSecrets(id)).map(({ state }) => state)
  t.strictSame(await states(), ['active'])
  await administration.rotateSecret(id, 1000)
  t.strictSame(await states(), ['active', 'active'])
  clock.time += 1000
  await administration.rotateSecret(id, 1000)
  t.strictSame(await states(), ['expired', 'active', 'active'])

  clock.time += 24 * 3600 * 1000
  await administration.revokeSecret(id, (await administration.listSecrets(id))[0]?.id as number)
  clock.time = START
  t.strictSame(await states(), ['revoked', 'active', 'active'])
  t.equal((await post()).statusCode, 401)
  t.strictSame((await administration.show(id)).secrets, await administration.listSecrets(id))
})

t.test('Administration: a secret that ended a month ago is deleted at the next rotation', async (t) => {
  const { administration, credentials, clock } = await createWorld(t)
  const id = credentials.client_id
  await administration.rotateSecret(id, 0)
  clock.time += 30 * 24 * 3600 * 1000
  await administration.rotateSecret(id, 0)
  t.equal((await administration.show(id)).secrets.length, 3)
  clock.time += 1
  await administration.rotateSecret(id, 0)
  t.equal((await administration.show(id)).secrets.length, 3)
})
