import t, { type Test } from 'tap'
import { createAdministration } from '../../src/administration/administration.ts'
import { createSignIn } from '../../src/administration/sign-in.ts'
import { operatorView } from '../../src/administration/views.ts'
import type { Event } from '../../src/domain/events.ts'
import { OperatorError } from '../../src/domain/operator-error.ts'
import { StoreUnavailable } from '../../src/domain/store.ts'
import { AUTHOR } from '../support/on.ts'
import { createWorld, START } from '../support/world.ts'

const DAY = 24 * 60 * 60_000

t.test('Operators: they are added with a role, listed and removed', async (t) => {
  const { administration, changes } = await createWorld(t)
  const { operators } = administration
  t.match(await operators.add('anna', 'admin'), { name: 'anna', role: 'admin', keys: [], sessions: [] })
  await operators.add('ci@build', 'viewer')
  t.match(await operators.list(), [{ name: 'anna' }, { name: 'ci@build', role: 'viewer' }])
  const removals = await Promise.allSettled([operators.remove('anna'), operators.remove('anna')])
  t.strictSame(removals.map(({ status }) => status).sort(), ['fulfilled', 'rejected'], 'once')
  t.match(await operators.list(), [{ name: 'ci@build' }])
  t.match(changes.slice(-3), [
    { type: 'operator added', operator: 'anna', role: 'admin', actor: 'tester' },
    { type: 'operator added', operator: 'ci@build', role: 'viewer' },
    { type: 'operator removed', operator: 'anna' },
  ])
})

t.test('Operators: whom and what there is not is said to be unknown', async (t) => {
  const { operators } = (await createWorld(t)).administration
  const { id } = await operators.add('anna', 'admin').then(() => operators.addKey('anna', DAY))
  const { show, remove, makeLoginCode } = operators
  const { addKey, revokeKey, endSession } = operators
  const acts: ((name: string) => Promise<unknown>)[] = [show, remove, makeLoginCode]
  acts.push(
    (name) => addKey(name, DAY),
    (name) => revokeKey(name, id),
    (name) => endSession(name, 1),
  )
  for (const act of acts) await t.rejects(act('bert'), { message: 'There is no operator with the name bert.' })
  await t.rejects(revokeKey('anna', id + 1), { message: `The operator anna has no key ${id + 1}.` })
  await t.rejects(endSession('anna', 1), { message: 'The operator anna has no session 1.' })
})

t.test('Operators: a name is safe in a URL, in the log and in a command', async (t) => {
  const { operators } = (await createWorld(t)).administration
  for (const name of ['a', '7', 'a.b-c_d@e.example', 'a'.repeat(64)])
    t.match(await operators.add(name, 'viewer'), { name })
  for (const name of ['', '.', '..', '-a', '@a', 'a b', 'a/b', 'ä', 'a\0', 'a\n', 'a'.repeat(65), 'a"', 'a%20']) {
    await t.rejects(operators.add(name, 'viewer'), { name: 'OperatorError', message: /^The name must be/ }, name)
  }
  await t.rejects(operators.add('b', 'root' as 'admin'), { message: 'The role must be admin or viewer.' })
  await t.rejects(operators.add('a', 'admin'), { message: 'There is already an operator with the name a.' })
})

t.test('Operators: a key is shown once, ends within a year, and is revoked once', async (t) => {
  const { administration, clock, changes } = await createWorld(t)
  const { operators } = administration
  await operators.add('anna', 'admin')
  const { adminKey, id, endsAt } = await operators.addKey('anna', 90 * DAY)
  t.match(adminKey, /^otsa_\w{49}$/)
  t.equal(endsAt, START + 90 * DAY)
  const view = () => operators.show('anna').then(operatorView)
  t.match(await view(), { keys: [{ id, state: 'active', last_used_at: null, revoked_at: null }] })
  t.notMatch(JSON.stringify(await view()), adminKey)
  await operators.addKey('anna', 365 * DAY)
  for (const lifetime of [0, -1, NaN, 365 * DAY + 1, Infinity]) {
    await t.rejects(operators.addKey('anna', lifetime), OperatorError)
  }
  clock.time = endsAt
  t.match(await view(), { keys: [{ id, state: 'expired' }, { state: 'active' }] })
  t.equal(await operators.revokeKey('anna', id + 1), true)
  clock.time += 5
  t.equal(await operators.revokeKey('anna', id + 1), false)
  const revoked_at = new Date(endsAt).toISOString()
  t.match(await view(), { keys: [{ state: 'expired' }, { state: 'revoked', revoked_at }] })
  t.match(changes.slice(-2), [
    { type: 'operator key added', operator: 'anna', keyId: 2, endsAt: /Z$/ },
    { type: 'operator key revoked', keyId: 2 },
  ])
  t.notMatch(JSON.stringify(changes), adminKey)
})

t.test('Operators: a request from the network cannot create credentials, but can revoke them', async (t) => {
  const { administration, store, clock } = await createWorld(t)
  const { operators } = administration
  await operators.add('anna', 'admin')
  const { id } = await operators.addKey('anna', DAY)
  for (const origin of ['API', 'console'] as const) {
    const author = { ...AUTHOR, actor: 'anna', origin }
    const { operators: remote } = createAdministration({ store, now: () => clock.time, observe: () => {}, author })
    const expected = { message: 'Operators, their keys and login links are added on the command line only.' }
    await t.rejects(remote.add('bert', 'admin'), expected)
    await t.rejects(remote.addKey('anna', DAY), expected)
    await t.rejects(remote.makeLoginCode('anna'), expected)
    t.match(await remote.list(), [{ name: 'anna', keys: [{ id }] }])
    t.equal(await remote.revokeKey('anna', id), origin === 'API')
  }
})

const MINUTE = 60_000
const FROM = { remoteAddress: '192.0.2.7', userAgent: 'Browser', requestId: 'request-7' }
const ANNA = { operator: { name: 'anna', role: 'admin' } }

/** A world with an operator, and its sign-in. */
async function startSignIn(t: Test) {
  const { store, clock, administration } = await createWorld(t)
  const events: Event[] = []
  const signIn = createSignIn({ store, now: () => clock.time, observe: (event) => events.push(event) })
  const { operators } = administration
  await operators.add('anna', 'admin')

  /** Starts a session. */
  async function logIn(from = FROM, name = 'anna') {
    const { code } = await operators.makeLoginCode(name)
    const result = await signIn.logIn(code, from)
    if (typeof result === 'string') throw new Error(result)
    return { code, reference: result.reference, session: result.session }
  }
  return { store, clock, operators, signIn, events, logIn }
}

t.test('Sign-in: an admin key authenticates its operator until it expires or is revoked', async (t) => {
  const { clock, operators, signIn } = await startSignIn(t)
  const { adminKey, id, endsAt } = await operators.addKey('anna', DAY)
  const refused = (reason: string) => ({ reason, operator: 'anna', keyId: id })
  t.match(await signIn.authenticate(adminKey), { ...ANNA, key: { id, endsAt } })
  clock.time = endsAt - 1
  t.match(await signIn.authenticate(adminKey), { key: { id } })
  clock.time = endsAt
  t.strictSame(await signIn.authenticate(adminKey), refused('expired key'))
  await operators.revokeKey('anna', id)
  t.strictSame(await signIn.authenticate(adminKey), refused('revoked key'))
  clock.time -= DAY
  t.strictSame(await signIn.authenticate(adminKey), refused('revoked key'), 'whatever the clock')
  for (const text of ['', 'x', adminKey.slice(1), `${adminKey}\0`, 'otsa_', `otsa_${'a'.repeat(1_000_000)}`]) {
    t.strictSame(await signIn.authenticate(text), { reason: 'malformed key' })
  }
  await operators.remove('anna')
  t.strictSame(await signIn.authenticate(adminKey), { reason: 'unknown key' }, 'it was removed with its operator')
})

t.test('Sign-in: the last use of a key or a session is written at most once a minute', async (t) => {
  const { clock, operators, signIn, logIn } = await startSignIn(t)
  const { adminKey } = await operators.addKey('anna', DAY)
  const lastUses = async () => {
    const { keys, sessions } = await operators.show('anna')
    return [keys[0]?.lastUsedAt, sessions[0]?.lastSeenAt]
  }
  const { reference } = await logIn()
  const begun = clock.time
  t.strictSame(await lastUses(), [null, begun])
  await signIn.authenticate(adminKey)
  for (const [later, uses] of [
    [MINUTE - 1, begun],
    [1, begun + MINUTE],
  ] as const) {
    clock.time += later
    await signIn.authenticate(adminKey)
    await signIn.findSession(reference)
    t.strictSame(await lastUses(), [uses, uses])
  }
})

t.test('Sign-in: a login link starts one session, which is logged', async (t) => {
  const { operators, signIn, events, logIn } = await startSignIn(t)
  const { code, reference, session } = await logIn({ ...FROM, userAgent: 'B'.repeat(500) })
  t.match(reference, /^[A-Za-z0-9]{43}$/)
  t.match(session, { remoteAddress: '192.0.2.7', userAgent: /^B{200}$/ })
  const { id } = session
  t.match(await signIn.findSession(reference), { operator: { name: 'anna' }, session: { id } })
  t.match(await operators.show('anna'), { sessions: [{ id }] })
  const anna = { operator: 'anna', actor: 'anna', sessionId: id }
  t.match(events, [{ type: 'operator logged in', ...anna, origin: 'console', requestId: 'request-7' }])
  t.equal(await signIn.logIn(code, FROM), 'used login link', 'once')
  t.equal(await signIn.logIn('x', FROM), 'unknown login link')
  t.equal(await signIn.findSession(code), undefined)
  t.equal(await signIn.findSession(''), undefined)

  const { code: other } = await operators.makeLoginCode('anna')
  const results = await Promise.all([signIn.logIn(other, FROM), signIn.logIn(other, FROM)])
  t.equal(results.filter((result) => result === 'used login link').length, 1, 'also of two at once')
})

t.test('Sign-in: a login link is valid for ten minutes, and not before it was made', async (t) => {
  const { store, clock, operators, signIn, logIn } = await startSignIn(t)
  const { code: used } = await logIn()
  const { code, endsAt } = await operators.makeLoginCode('anna')
  t.equal(endsAt, clock.time + 10 * MINUTE)
  const expired = 'expired login link'
  for (const [time, expected] of [
    [endsAt, expired],
    [endsAt - 11 * MINUTE - 1, expired],
    [endsAt - 1, { operator: 'anna' }],
  ] as const) {
    clock.time = time
    t.match(await signIn.checkLoginCode(code), expected, 'also where the clock was set back')
    if (expected === expired) t.equal(await signIn.logIn(code, FROM), expired)
  }
  t.equal(await signIn.checkLoginCode(used), 'used login link')
  clock.time = endsAt
  await store.purge('sign-ins', clock.time, 100)
  for (const one of [used, code]) t.equal(await signIn.checkLoginCode(one), expired, 'even after the purge')
  t.equal(await signIn.checkLoginCode(`${code}x`), 'unknown login link')
})

t.test('Sign-in: a session ends after 15 minutes without a use that extends it, and after 8 hours', async (t) => {
  const { clock, signIn, logIn } = await startSignIn(t)
  const QUARTER = 15 * MINUTE - 1
  const steps: [later: number, touch: boolean, isFound: boolean][] = [
    [QUARTER, true, true],
    [QUARTER, true, true],
    [QUARTER, false, true],
    [1, false, false],
    [0, true, false],
  ]
  const busy: typeof steps = [
    ...Array(47).fill([10 * MINUTE, true, true]),
    [10 * MINUTE - 1, true, true],
    [1, true, false],
  ]
  for (const session of [steps, busy]) {
    const { reference } = await logIn()
    for (const [later, touch, isFound] of session) {
      clock.time += later
      t.match(await signIn.findSession(reference, { isLive: !touch }), isFound ? ANNA : undefined)
    }
  }
})

t.test('Sign-in: a live page keeps a viewer signed in for eight hours, and no admin', async (t) => {
  const { clock, operators, signIn, logIn } = await startSignIn(t)
  await operators.add('vera', 'viewer')
  for (const [name, hours] of Object.entries({ anna: 0.25, vera: 8 })) {
    const { reference } = await logIn(FROM, name)
    const begun = clock.time
    while (await signIn.findSession(reference, { isLive: true })) clock.time += MINUTE
    t.equal(clock.time - begun, hours * 60 * MINUTE, name)
  }
})

t.test('Sign-in: what ends with the role of the identity provider has no key and no link', async (t) => {
  const { operators, signIn } = await startSignIn(t)
  const name = 'https://idp.example#7'
  await signIn.logInAs({ name, role: 'admin', email: null, authenticatedAt: null }, FROM)
  const message = `${name} can sign in with the identity provider only.`
  await t.rejects(operators.addKey(name, DAY), { message })
  await t.rejects(operators.makeLoginCode(name), { message })
  await t.rejects(operators.add(name, 'admin'), { message }, 'nor can a command make one of that name')
  const nobody = { name, role: undefined, email: null, authenticatedAt: null }
  t.equal(await signIn.logInAs(nobody, FROM), undefined)
  t.equal(await signIn.logInAs({ ...nobody, name: 'https://idp.example#8' }, FROM), undefined)
  t.match(await operators.list(), { length: 1, 0: { name: 'anna' } })
})

t.test('Sign-in: a session ends with its operator, when it is ended, and if the clock is set back', async (t) => {
  const { clock, signIn, operators, logIn } = await startSignIn(t)
  const [first, second] = [await logIn(), await logIn()]
  t.not(first.reference, second.reference)
  clock.time -= MINUTE
  t.match(await signIn.findSession(first.reference), ANNA, 'the clocks of two machines differ')
  clock.time -= 1
  t.equal(await signIn.findSession(first.reference), undefined)
  t.strictSame((await operators.show('anna')).sessions, [])
  clock.time += MINUTE + 1
  await operators.endSession('anna', first.session.id)
  t.equal(await signIn.findSession(first.reference), undefined)
  t.match(await signIn.findSession(second.reference), { session: { id: second.session.id } })
  const { code } = await operators.makeLoginCode('anna')
  await operators.remove('anna')
  t.equal(await signIn.findSession(second.reference), undefined)
  t.equal(await signIn.logIn(code, FROM), 'used login link', 'it was removed with its operator')
})

t.test('Sign-in: operators can sign in even if the store is read-only', async (t) => {
  const { store, clock, operators, logIn } = await startSignIn(t)
  const { adminKey } = await operators.addKey('anna', DAY)
  const { reference } = await logIn()
  const failing = (error: Error) => ({
    store: { ...store, recordAdminKeyUse: () => Promise.reject(error), recordSessionUse: () => Promise.reject(error) },
    now: () => clock.time,
    observe: () => {},
  })
  clock.time += MINUTE
  const full = createSignIn(failing(new StoreUnavailable('full')))
  t.match(await full.authenticate(adminKey), ANNA)
  t.match(await full.findSession(reference), ANNA)
  const broken = createSignIn(failing(new TypeError('a bug')))
  await t.rejects(broken.authenticate(adminKey), TypeError)
})
