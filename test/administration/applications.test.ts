import t from 'tap'
import { createAdministration } from '../../src/administration/administration.ts'
import type { Registration } from '../../src/administration/applications.ts'
import type { Application } from '../../src/domain/application.ts'
import { StoreUnavailable } from '../../src/domain/store.ts'
import { cheapDigest, registerImported } from '../support/imported.ts'
import { on } from '../support/on.ts'
import { aRegistration } from '../support/registration.ts'
import { createWorld, createWorldOfSuites, START } from '../support/world.ts'

const STORE = { suiteId: 'store', name: 'Store API' }
const PARTNER = aRegistration({ name: 'Partner', developerEmail: 'a@partner.example' })
const DAY = 24 * 3_600_000

t.test('Registration: every field has its limits, and a refusal names all that is wrong but no secret', async (t) => {
  const { administration } = await createWorld(t)
  const invalid: [Partial<Registration>, RegExp][] = [
    [{ name: ' ' }, /name must not be empty/],
    [{ name: 'a'.repeat(201) }, /name may have at most 200/],
    [{ name: 'a\u001b[31m' }, /control characters/],
    [{ name: 'a\u202egpj.exe' }, /control characters/],
    [{ name: 'Goo\u200bgle' }, /invisible characters/],
    [{ name: 'Goo\u200dgle' }, /invisible characters/],
    [{ name: '\u3164' }, /invisible characters/],
    [{ developerEmail: 'a\u200b@b.example' }, /must be an email address/],
    [{ developerEmail: 'a\u2066@b.example' }, /must be an email address/],
    [{ developerEmail: 'nobody' }, /email address/],
    [{ developerEmail: `${'a'.repeat(250)}@b.example` }, /254/],
    [{ clientId: '' }, /client id must be 1 to 200/],
    [{ clientId: 'with space' }, /client id must be/],
    [{ clientId: '.' }, /client id must not be \. or \.\./],
    [{ clientId: '..' }, /client id must not be/],
    [{ clientSecret: 'hunter2' }, /client secret must be 8 to 200/],
    [{ labels: { Owner: 'web' } }, /^The key of a label must be 1 to 63 characters .* a digit: Owner\.$/],
    ...['', '-a', 'a-', 'a b', 'a=b', 'ä', 'a'.repeat(64)].map((key): [Partial<Registration>, RegExp] => [
      { labels: { [key]: 'web' } },
      /key of a label must be/,
    ]),
    [{ labels: { owner: ' ' } }, /value of a label must not be empty: owner/],
    [{ labels: { owner: 'a'.repeat(201) } }, /value of a label may have at most 200 .*: owner/],
    [{ labels: { owner: 'a\n' } }, /value of a label must not have control characters: owner/],
    [{ labels: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [n, 'a'])) }, /at most 20 labels/],
    [{ note: 'a'.repeat(2001) }, /note may have at most 2,000/],
    [{ note: 'a\u001b[31m' }, /note must not have control characters/],
    ...[0, 1.5, 1e9, Number.NaN].map((quota): [Partial<Registration>, RegExp] => [{ quota }, /quota must be a whole/]),
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

t.test('Registration: a new secret is shown although the store fails right after it was stored', async (t) => {
  const { store, ...world } = await createWorld(t)
  const fail = async () => Promise.reject(new StoreUnavailable('gone'))
  const failing = { ...store }
  const author = { actor: 'robot', origin: 'command line', remoteAddress: 'machine' } as const
  const { applications, suites } = createAdministration({ store: failing, now: () => START, observe() {}, author })
  await world.administration.registerSuite(STORE)
  failing.register = async (...clients) => {
    const added = await store.register(...clients)
    Object.assign(failing, { findApplication: fail, countApplications: fail })
    return added
  }
  t.match(await applications.register({ ...PARTNER, suites: ['store'] }), { clientSecret: /./, suites: ['store'] })
  Object.assign(failing, { countApplications: store.countApplications })
  t.match(await suites.register({ ...STORE, suiteId: 'other' }), { clientSecret: /./, notApproved: 2 })
})

t.test('Names: scripts and emoji that need joiners are accepted; a name from before the rule can stay', async (t) => {
  const { administration, store } = await createWorld(t)
  for (const name of ['می\u200cخواهم', '👩\u200d💻', '❤\ufe0f']) await administration.register({ ...PARTNER, name })
  await registerImported(store, 'old', 'legacy-secret', { ...PARTNER, name: 'O\u200bld' })
  await administration.update('old', { developerEmail: 'b@partner.example' })
  t.match(await administration.show('old'), { name: 'O\u200bld', developerEmail: 'b@partner.example' })
  await administration.update('old', { name: 'Old' })
  t.match(await administration.show('old'), { name: 'Old' })
})

t.test('Registration: invalid fields are reported by their JSON names; credentials are generated', async (t) => {
  const { register, registerSuite } = (await createWorld(t)).administration
  const generated = { clientId: /^[A-Za-z0-9]{32}$/, clientSecret: /^[A-Za-z0-9]{40}$/ }
  t.match(await register(PARTNER), { ...PARTNER, ...generated })
  const fields = [
    { field: 'name', message: /^The name must not be empty$/ },
    { field: 'developer_email', message: /must be an email address$/ },
    { field: 'client_id', message: /^The client id must be/ },
  ]
  const error = { name: 'OperatorError', kind: 'invalid', fields }
  await t.rejects(register({ name: '', developerEmail: 'nobody', clientId: ' ' }), error)
  await t.rejects(registerSuite({ suiteId: 'a/b', name: '' }), {
    message: /suite id must be .*; The name must/,
    kind: 'invalid',
    fields: [{ field: 'id', message: /^The suite id must be/ }, { field: 'name' }],
  })
  for (const suiteId of ['.', '..']) {
    await t.rejects(registerSuite({ suiteId, name: 'A' }), { message: /suite id must not be \. or \.\./ })
  }
  for (const suiteId of ['...', '.a']) t.match(await registerSuite({ suiteId, name: 'A' }), { suiteId })
})

t.test('Labels: they are stored by their keys, a note with the line breaks of Unix; none is needed', async (t) => {
  const { administration } = await createWorld(t)
  const labels = { 'z/y.x_w-9': 'a=b "c" ✓', a: 'a'.repeat(200), ['b'.repeat(63)]: '1' }
  await administration.register({ ...PARTNER, clientId: 'a', labels, note: `${'a\r\n'.repeat(2)}\n\tb \n` })
  const { labels: stored, note } = await administration.show('a')
  t.strictSame(Object.entries(stored), Object.entries(labels).sort())
  t.equal(note, 'a\na\n\n\tb')
  await administration.registerSuite(STORE)
  t.match(await administration.showSuite('store'), { labels: {}, note: '' })
  await t.rejects(administration.registerSuite({ ...STORE, suiteId: 's', labels: { A: 'a' } }), {
    message: /^The key of a label must/,
    fields: [{ field: 'labels' }],
  })
})

t.test('Source addresses: what is none is refused with the value, and nothing is changed', async (t) => {
  const { administration, credentials } = await createWorld(t)
  const update = (changes: object) => administration.update(credentials.client_id, changes)
  const wrong = ['partner.example', '192.0.2.0/33', '::/129', '0.0.0.0/0', '::/0', '192.0.2.1/', '192.0.2.0/24 ', '']
  for (const range of [
    ...wrong,
    'fe80::1%eth0',
    '192.0.2',
    '192.0.2.1:80',
    '[::1]',
    '192.0.2.0-192.0.2.9',
    '::ffff:0/x',
  ]) {
    const message = `A source address must be an IP address without a zone, or a CIDR range such as 192.0.2.0/24, but not /0, which is every address: ${range}.`
    await t.rejects(update({ sourceAddresses: ['192.0.2.1', range] }), {
      message,
      fields: [{ field: 'source_addresses' }],
    })
  }
  const many = (count: number) => Array.from({ length: count }, (_, n) => `10.0.${n >> 8}.${n & 255}`)
  await t.rejects(update({ sourceAddresses: many(1000) }), {
    message: 'There may be at most 100 source addresses, not 1000.',
  })
  await t.rejects(update({ sourceAddresses: [1] }), { message: 'A source address must be text: 1.' })
  await t.rejects(update({ sourceAddresses: '10.0.0.1' }), { message: 'source_addresses must be a list.' })
  await t.rejects(update({ reportOnly: ['tokens'] }), {
    message: 'Only these can be reported: source_addresses, quota: tokens.',
  })
  await t.rejects(update({ publicLabels: ['A'] }), { message: /^The key of a label must be .*: A\.$/ })
  const keys = Array.from({ length: 11 }, (_, n) => `k${n}`)
  await t.rejects(update({ publicLabels: keys }), { message: 'There may be at most 10 public labels.' })
  const none = { sourceAddresses: [], publicLabels: [], reportOnly: [] }
  t.match(await administration.show(credentials.client_id), none)
  const set = { sourceAddresses: many(100), publicLabels: keys.slice(1), reportOnly: ['quota'] }
  t.equal(await update({ ...set, reportOnly: ['quota', 'quota'] }), true)
  t.match(await administration.show(credentials.client_id), set)
  t.equal(await update(set), false)
})

t.test('Registration: an id that an application or a suite has is taken (RFC 6749 §2.2)', async (t) => {
  const { administration, credentials } = await createWorld(t)
  const { registerSuite, register } = administration
  const { client_id: taken } = credentials
  t.match(await registerSuite(STORE), { ...STORE, clientSecret: /^\w{40}$/ })
  const refused: [act: () => Promise<unknown>, id: string][] = [
    [() => register({ ...PARTNER, clientId: taken }), taken],
    [() => register({ ...PARTNER, clientId: 'store' }), 'store'],
    [() => registerSuite(STORE), 'store'],
    [() => registerSuite({ ...STORE, suiteId: taken }), taken],
  ]
  for (const [act, id] of refused) {
    await t.rejects(act(), { message: `The id ${id} is taken already.`, kind: 'taken id' })
  }
  t.equal((await administration.listSuites()).length, 1, 'and nothing was changed')
})

t.test('Administration: whom there is not is said to be unknown', async (t) => {
  const { administration, credentials } = await createWorldOfSuites(t)
  const { show, suspend, resume, remove, revokeAllTokens, update, addSecret, approve, withdraw } = administration
  const { showSuite, removeSuite, listSecrets, rotateSecret, revokeSecret } = administration
  const id = credentials.client_id
  const refused = (acts: Promise<unknown>[], message: string | RegExp) =>
    Promise.all(acts.map((act) => t.rejects(act, { name: 'OperatorError', message, kind: 'not found' })))
  const changes = [update('nobody', {}), addSecret('nobody', 'long-enough'), approve('nobody', 'store')]
  const acts = [show, suspend, resume, remove, revokeAllTokens, withdraw].map((act) => act('nobody'))
  await refused([...acts, ...changes], 'There is no application with the client id nobody.')
  const ofSuites = [showSuite('nowhere'), removeSuite('nowhere'), approve(id, 'nowhere'), withdraw(id, 'nowhere')]
  await refused(ofSuites, 'There is no suite with the id nowhere.')
  const ofSecrets = [rotateSecret('nobody', 0), revokeSecret('nobody', 1), listSecrets('nobody')]
  await refused(ofSecrets, 'There is no application and no suite with the id nobody.')
  await refused([revokeSecret(id, 999)], /has no secret 999/)

  await t.rejects(administration.register({ ...PARTNER, suites: ['store', 'nowhere'] }), {
    message: 'There is no suite with the id nowhere.',
    kind: 'invalid',
    fields: [{ field: 'suites', message: 'There is no suite with the id nowhere' }],
  })
  t.equal((await administration.list()).length, 1, 'and nothing was changed')
})

t.test('Approvals: a failure of the store is an error of the change', async (t) => {
  const { administration, credentials, store } = await createWorldOfSuites(t)
  Object.assign(store, { change: () => Promise.reject(new StoreUnavailable('full')) })
  for (const name of ['approve', 'withdraw'] as const) {
    await t.rejects(async () => administration[name](credentials.client_id, 'store').then(), { message: /full/ }, name)
  }
})

t.test('Approvals: a suite that is given several times is approved, and withdrawn, once', async (t) => {
  const { administration, credentials, changes } = await createWorld(t)
  await administration.registerSuite(STORE)
  changes.length = 0
  await administration.approve(credentials.client_id, 'store', 'store', 'store')
  t.strictSame(await administration.withdraw(credentials.client_id, 'store', 'store'), ['store'])
  t.match(changes, [
    { type: 'application approved', suite: 'store' },
    { type: 'approval withdrawn', suite: 'store' },
  ])
  t.equal(changes.length, 2)
})

t.test('Administration: an application has two imported secrets that are not revoked, and no more', async (t) => {
  const { administration, store } = await createWorld(t)
  await registerImported(store, 'moved', 'legacy-one')
  await on(store).addSecret('moved', { digest: cheapDigest('legacy-two'), createdAt: START })
  const message = 'moved already has 2 imported secrets (2 and 3): revoke one first.'
  await t.rejects(administration.addSecret('moved', 'legacy-three'), { message, kind: 'refused' })
  await administration.revokeSecret('moved', 2)
  await administration.addSecret('moved', 'legacy-three')
  t.equal((await administration.listSecrets('moved')).length, 3)
})

t.test('Secrets: none is added twice, and the last active one is revoked by force only', async (t) => {
  const { administration, credentials } = await createWorld(t)
  const id = credentials.client_id
  await t.rejects(administration.addSecret(id, credentials.client_secret), { name: 'OperatorError', kind: 'refused' })
  const last = { message: /last active one .* Rotate first/, kind: 'last secret' }
  await t.rejects(administration.revokeSecret(id, 1), last)
  t.match(await administration.listSecrets(id), [{ state: 'active' }])
  await administration.revokeSecret(id, 1, { force: true })
  t.match(await administration.listSecrets(id), [{ state: 'revoked' }])
  await administration.addSecret(id, credentials.client_secret)
  t.match(await administration.listSecrets(id), [{}, { state: 'active' }], 'one that has ended may be added again')
  // It is removed while the digest of the secret is computed.
  const added = t.rejects(administration.addSecret(id, 'legacy-secret'), { name: 'OperatorError', kind: 'not found' })
  await administration.remove(id)
  await added
})

t.test('Secrets: each has a state, and one that was revoked stays so if the clock is set back', async (t) => {
  const { administration, credentials, post, clock } = await createWorld(t)
  const id = credentials.client_id
  const states = async () => (await administration.listSecrets(id)).map(({ state }) => state)
  t.strictSame(await states(), ['active'])
  t.equal((await administration.rotateSecret(id, 1000)).othersEndAt, START + 1000)
  clock.time += 999
  t.strictSame(await states(), ['active', 'active'], 'the overlap')
  clock.time += 1
  await administration.rotateSecret(id, 1000)
  t.strictSame(await states(), ['expired', 'active', 'active'])

  clock.time += DAY
  await administration.revokeSecret(id, 1)
  clock.time = START
  t.strictSame(await states(), ['revoked', 'active', 'active'])
  t.equal((await post()).statusCode, 401)
  t.strictSame((await administration.show(id)).secrets, await administration.listSecrets(id))
})

t.test('Secrets: one that ended a month ago is deleted at the next rotation', async (t) => {
  const { administration, credentials, clock } = await createWorld(t)
  const id = credentials.client_id
  await administration.rotateSecret(id, 0)
  for (const later of [30 * DAY, 1]) {
    clock.time += later
    await administration.rotateSecret(id, 0)
    t.equal((await administration.show(id)).secrets.length, 3)
  }
})

t.test('Revoke-all: of one millisecond, the token before it is revoked and the token after it is not', async (t) => {
  const { administration, credentials, token, verify, introspect, store, issuer } = await createWorldOfSuites(t)
  const authenticated = (await store.findApplication(credentials.client_id)) as Application
  const before = await token()
  const { clientId: other } = await administration.register(PARTNER)
  await administration.revokeAllTokens(other)
  t.equal((await verify(before)).statusCode, 200, 'those of another application stay valid')
  await administration.revokeAllTokens(credentials.client_id)
  const between = await token()
  await administration.revokeAllTokens(credentials.client_id)
  const answers = []
  for (const one of [before, between, await token()]) {
    answers.push([(await verify(one)).statusCode, (await introspect(one)).json().active])
  }
  t.strictSame(answers.map(String), ['401,false', '401,false', '200,true'])
  const { accessToken } = await issuer.issue(authenticated)
  t.equal((await verify(accessToken)).statusCode, 401, 'what was authenticated before it and issued after it')
})

t.test('Revoke-all: tokens of a clock that was ahead are revoked, too, and new ones are valid', async (t) => {
  const { administration, credentials, token, verify, clock } = await createWorldOfSuites(t)
  const statusOf = async (one: string) => (await verify(one)).statusCode
  const ahead = await token()
  clock.time -= 5000
  await administration.revokeAllTokens(credentials.client_id)
  t.equal(await statusOf(ahead), 401)
  t.equal(await statusOf(await token()), 200)

  clock.time += DAY
  await administration.revokeAllTokens(credentials.client_id)
  clock.time -= DAY
  t.equal(await statusOf(await token()), 200, 'after a revoke-all by a clock that was ahead')
})
