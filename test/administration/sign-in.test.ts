import t, { type Test } from 'tap'
import { createSignIn } from '../../src/administration/sign-in.ts'
import type { Event } from '../../src/domain/events.ts'
import { StoreUnavailable } from '../../src/domain/store.ts'
import { createWorld } from '../support/world.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const FROM = { remoteAddress: '192.0.2.7', userAgent: 'Browser', requestId: 'request-7' }

/** A world with an operator, and its sign-in. */
async function startSignIn(t: Test) {
  const { store, clock, administration } = await createWorld(t)
  const events: Event[] = []
  const signIn = createSignIn({ store, now: () => clock.time, observe: (event) => events.push(event) })
  const { operators } = administration
  await operators.add('anna', 'admin')

  /** Starts a session. Resolves to its reference and id. */
  async function logIn() {
    const result = await signIn.logIn((await operators.makeLoginCode('anna')).code, FROM)
    if (typeof result === 'string') throw new Error(result)
    return { reference: result.reference, id: result.session.id }
  }
  return { store, clock, operators, signIn, events, logIn }
}

t.test('Sign-in: an admin key authenticates its operator until it expires or is revoked', async (t) => {
  const { clock, operators, signIn } = await startSignIn(t)
  const { adminKey, id, endsAt } = await operators.addKey('anna', DAY)
  t.match(await signIn.authenticate(adminKey), { operator: { name: 'anna', role: 'admin' }, key: { id, endsAt } })
  clock.time = endsAt - 1
  t.match(await signIn.authenticate(adminKey), { key: { id } })
  clock.time = endsAt
  t.strictSame(await signIn.authenticate(adminKey), { reason: 'expired key', operator: 'anna', keyId: id })
  await operators.revokeKey('anna', id)
  t.strictSame(await signIn.authenticate(adminKey), { reason: 'revoked key', operator: 'anna', keyId: id })
  clock.time -= DAY
  t.strictSame(
    await signIn.authenticate(adminKey),
    { reason: 'revoked key', operator: 'anna', keyId: id },
    'whatever the clock',
  )
})

t.test('Sign-in: malformed and unknown admin keys are refused', async (t) => {
  const { operators, signIn } = await startSignIn(t)
  const { adminKey } = await operators.addKey('anna', DAY)
  for (const text of ['', 'x', adminKey.slice(1), `${adminKey}\0`, 'otsa_', `otsa_${'a'.repeat(1_000_000)}`]) {
    t.strictSame(await signIn.authenticate(text), { reason: 'malformed key' })
  }
  await operators.remove('anna')
  t.strictSame(await signIn.authenticate(adminKey), { reason: 'unknown key' }, 'it was removed with its operator')
})

t.test('Sign-in: the last use of an admin key is known to within a minute', async (t) => {
  const { clock, operators, signIn } = await startSignIn(t)
  const { adminKey } = await operators.addKey('anna', DAY)
  const lastUsedAt = async () => (await operators.show('anna')).keys[0]?.lastUsedAt
  t.equal(await lastUsedAt(), null)
  const first = clock.time
  await signIn.authenticate(adminKey)
  clock.time += MINUTE - 1
  await signIn.authenticate(adminKey)
  t.equal(await lastUsedAt(), first)
  clock.time += 1
  await signIn.authenticate(adminKey)
  t.equal(await lastUsedAt(), first + MINUTE)
})

t.test('Sign-in: a login link starts one session, which is logged', async (t) => {
  const { operators, signIn, events } = await startSignIn(t)
  const { code } = await operators.makeLoginCode('anna')
  const result = await signIn.logIn(code, { ...FROM, userAgent: 'B'.repeat(500) })
  if (typeof result === 'string') throw new Error(result)
  const { reference, session } = result
  t.match(reference, /^[A-Za-z0-9]{43}$/)
  t.match(session, { remoteAddress: '192.0.2.7', userAgent: /^B{200}$/ })
  t.match(await signIn.findSession(reference), { operator: { name: 'anna' }, session: { id: session.id } })
  t.match(await operators.show('anna'), { sessions: [{ id: session.id }] })
  t.match(events, [
    {
      type: 'operator logged in',
      operator: 'anna',
      actor: 'anna',
      sessionId: session.id,
      origin: 'console',
      requestId: 'request-7',
    },
  ])
  t.equal(await signIn.logIn(code, FROM), 'used login link', 'once')
  t.equal(await signIn.logIn('x', FROM), 'unknown login link')
  t.equal(await signIn.findSession(code), undefined)
  t.equal(await signIn.findSession(''), undefined)
})

t.test('Sign-in: of two concurrent logins with one link, only one succeeds', async (t) => {
  const { operators, signIn } = await startSignIn(t)
  for (let n = 0; n < 10; n++) {
    const { code } = await operators.makeLoginCode('anna')
    const results = await Promise.all([signIn.logIn(code, FROM), signIn.logIn(code, FROM)])
    t.equal(results.filter((result) => result === 'used login link').length, 1)
  }
})

t.test('Sign-in: a login link is valid for ten minutes, and not before it was made', async (t) => {
  const { clock, operators, signIn } = await startSignIn(t)
  const { code, endsAt } = await operators.makeLoginCode('anna')
  t.equal(endsAt, clock.time + 10 * MINUTE)
  clock.time = endsAt
  t.equal(await signIn.logIn(code, FROM), 'expired login link')
  clock.time = endsAt - 11 * MINUTE - 1
  t.equal(await signIn.logIn(code, FROM), 'expired login link', 'the clock was set back')
  clock.time = endsAt - 1
  t.match(await signIn.logIn(code, FROM), { operator: { name: 'anna' } })
})

t.test('Sign-in: the reason for refusing a login link is known even after the purge', async (t) => {
  const { store, clock, operators, signIn } = await startSignIn(t)
  const [used, expired] = [(await operators.makeLoginCode('anna')).code, (await operators.makeLoginCode('anna')).code]
  await signIn.logIn(used, FROM)
  t.equal(await signIn.checkLoginCode(used), 'used login link')
  t.match(await signIn.checkLoginCode(expired), { operator: 'anna' })
  clock.time += 10 * MINUTE
  await store.purgeSignIns(clock.time)
  for (const code of [used, expired]) t.equal(await signIn.checkLoginCode(code), 'expired login link')
  t.equal(await signIn.checkLoginCode(`${expired}x`), 'unknown login link')
})

t.test('Sign-in: an idle session ends after 15 minutes', async (t) => {
  const { clock, signIn, logIn } = await startSignIn(t)
  const { reference } = await logIn()
  for (let n = 0; n < 3; n++) {
    clock.time += 15 * MINUTE - 1
    t.match(await signIn.findSession(reference), { operator: { name: 'anna' } })
  }
  clock.time += 15 * MINUTE
  t.equal(await signIn.findSession(reference), undefined)
})

t.test('Sign-in: a lookup without touch does not extend a session', async (t) => {
  const { clock, signIn, logIn } = await startSignIn(t)
  const { reference } = await logIn()
  clock.time += 15 * MINUTE - 1
  t.match(await signIn.findSession(reference, { touch: false }), { operator: { name: 'anna' } })
  clock.time += 1
  t.equal(await signIn.findSession(reference, { touch: false }), undefined)
})

t.test('Sign-in: a session ends after 8 hours, however often it is used', async (t) => {
  const { clock, signIn, logIn } = await startSignIn(t)
  const { reference } = await logIn()
  const end = clock.time + 8 * 60 * MINUTE
  while (clock.time < end - 10 * MINUTE) {
    clock.time += 10 * MINUTE
    t.match(await signIn.findSession(reference), { operator: { name: 'anna' } })
  }
  clock.time = end - 1
  t.match(await signIn.findSession(reference), { operator: { name: 'anna' } })
  clock.time = end
  t.equal(await signIn.findSession(reference), undefined)
})

t.test('Sign-in: the last use of a session is written at most once a minute', async (t) => {
  const { clock, operators, signIn, logIn } = await startSignIn(t)
  const { reference } = await logIn()
  const begun = clock.time
  const seenAt = async () => (await operators.show('anna')).sessions[0]?.lastSeenAt
  clock.time += MINUTE - 1
  await signIn.findSession(reference)
  t.equal(await seenAt(), begun)
  clock.time += 1
  await signIn.findSession(reference)
  t.equal(await seenAt(), begun + MINUTE)
})

t.test('Sign-in: setting the clock back does not extend a session', async (t) => {
  const { clock, signIn, operators, logIn } = await startSignIn(t)
  const { reference } = await logIn()
  clock.time -= MINUTE
  t.match(await signIn.findSession(reference), { operator: { name: 'anna' } }, 'the clocks of two machines differ')
  clock.time -= 1
  t.equal(await signIn.findSession(reference), undefined)
  t.strictSame((await operators.show('anna')).sessions, [])
})

t.test('Sign-in: a session is refused at once after it was ended or its operator removed', async (t) => {
  const { signIn, operators, logIn } = await startSignIn(t)
  const [first, second] = [await logIn(), await logIn()]
  t.not(first.reference, second.reference)
  await operators.endSession('anna', first.id)
  t.equal(await signIn.findSession(first.reference), undefined)
  t.match(await signIn.findSession(second.reference), { session: { id: second.id } })
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
  t.match(await full.authenticate(adminKey), { operator: { name: 'anna' } })
  t.match(await full.findSession(reference), { operator: { name: 'anna' } })
  const broken = createSignIn(failing(new TypeError('a bug')))
  await t.rejects(broken.authenticate(adminKey), TypeError)
})
