import type { Test } from 'tap'
import type { Operator, Role } from '../../../src/domain/operator.ts'
import { AUDIT, on } from '../../support/on.ts'
import { START } from '../../support/world.ts'
import { addOperator, type Harness, onEmptyStore, PAGE, session } from './harness.ts'

const KEY = { digest: 'x', createdAt: START, endsAt: START }

export function operatorConformance(t: Test, harness: Harness): void {
  const test = onEmptyStore(t, harness)

  test('Store: an operator is found with every field of its type, by name, key, session or code', async (t, store) => {
    t.equal(await store.findOperator('anna'), undefined)
    t.strictSame(await store.listOperators(), [])
    t.equal(await on(store).addOperator({ name: 'anna', role: 'viewer', createdAt: START }), true)
    t.equal(await on(store).addOperator({ name: 'anna', role: 'admin', createdAt: START + 1 }), false, 'it is taken')
    const { key, ...rest } = (await store.findOperator('anna')) as Operator
    t.not(key, undefined)
    const anna = { name: 'anna', role: 'viewer', email: null, createdAt: START }
    t.strictSame(rest, { ...anna, keys: [], sessions: [], loginLinks: [] })

    const { keyId, sessionId } = await addOperator(store, 'bert')
    const bert = (await store.findOperator('bert')) as Operator
    t.strictSame(bert.keys, [{ id: keyId, createdAt: START, endsAt: START + 100, revokedAt: null, lastUsedAt: null }])
    const { digest: _, ...begun } = session('session bert')
    t.strictSame(bert.sessions, [{ id: sessionId, lastSeenAt: begun.createdAt, ...begun }])
    t.strictSame(bert.loginLinks, [{ createdAt: START, endsAt: START + 10 }])
    t.strictSame(await store.listOperators(), [await store.findOperator('anna'), bert], 'oldest first')
    t.strictSame(await store.findAdminKey('key bert'), { id: keyId, operator: bert })
    t.strictSame(await store.findSession('session bert'), { id: sessionId, operator: bert })
    t.strictSame(await store.findLoginCode('code bert'), { operator: 'bert', createdAt: START, endsAt: START + 10 })
    for (const stranger of ['Anna', 'anna\0', '']) t.equal(await store.findOperator(stranger), undefined)
    for (const find of [store.findAdminKey, store.findSession, store.findLoginCode])
      for (const digest of ['nothing', '']) t.equal(await find(digest), undefined)
  })

  test('Store: a key is revoked and a session is ended only once, and only by its operator', async (t, store) => {
    const { keyId, sessionId } = await addOperator(store, 'anna')
    await on(store).addOperator({ name: 'bert', role: 'viewer', createdAt: START })
    const before = await store.findOperator('anna')
    t.equal(await on(store).addAdminKey('nobody', KEY), undefined)
    t.equal(await on(store).addLoginCode('nobody', KEY), false)
    t.equal(await on(store).removeOperator('nobody'), false)
    for (const [name, more] of Object.entries({ nobody: 0, bert: 0, anna: 1 })) {
      t.equal(await on(store).revokeAdminKey(name, keyId + more, START), false, name)
      t.equal(await on(store).endSession(name, sessionId + more), false, name)
    }
    t.strictSame(await store.findOperator('anna'), before)
    t.equal(await on(store).revokeAdminKey('anna', keyId, START + 5), true)
    t.equal(await on(store).revokeAdminKey('anna', keyId, START + 6), false, 'it is revoked already')
    t.match(await store.findAdminKey('key anna'), { operator: { keys: [{ revokedAt: START + 5 }] } })
    t.equal(await on(store).endSession('anna', sessionId), true)
    t.equal(await store.findSession('session anna'), undefined)
    t.equal(await on(store).endSession('anna', sessionId), false)
  })

  test('Store: removing an operator removes keys, sessions and login codes for good', async (t, store) => {
    const { sessionId } = await addOperator(store, 'anna')
    await addOperator(store, 'bert')
    t.equal(await on(store).removeOperator('anna'), true)
    await on(store).addOperator({ name: 'anna', role: 'viewer', createdAt: START + 1 })
    t.match(await store.findOperator('anna'), { role: 'viewer', keys: [], sessions: [] })
    t.equal(await store.findAdminKey('key anna'), undefined)
    t.equal(await store.findSession('session anna'), undefined)
    t.equal(await on(store).beginSession('anna', 'code anna', session('new')), undefined)
    await store.recordSessionUse({ id: sessionId, lastSeenAt: START + 2, endsAt: START + 60 })
    t.equal(await store.findSession('session anna'), undefined)
    t.not(await store.findSession('session bert'), undefined)
  })

  test('Store: a login code can be used once, and the last use of a key or session never goes back', async (t, store) => {
    const { keyId } = await addOperator(store, 'anna')
    const id = (await on(store).beginSession('anna', 'code anna', session('first'))) as number
    t.match(await store.findSession('first'), { id, operator: { name: 'anna' } })
    t.equal(await on(store).beginSession('anna', 'code anna', session('second')), undefined)
    t.equal(await store.findSession('second'), undefined)
    t.equal(await store.findLoginCode('code anna'), undefined)
    for (const time of [5, 7, 6]) {
      await store.recordAdminKeyUse(keyId, START + time)
      await store.recordSessionUse({ id, lastSeenAt: START + time, endsAt: START + 50 + time })
    }
    t.match(await store.findOperator('anna'), {
      keys: [{ lastUsedAt: START + 7, endsAt: START + 100 }],
      sessions: [{}, { createdAt: START + 1, lastSeenAt: START + 7, endsAt: START + 57 }],
    })
  })

  test('Store: each change of an operator is one audit event, and uses are not', async (t, store) => {
    const { keyId, sessionId } = await addOperator(store, 'anna')
    const at = (time: number) => new Date(START + time).toISOString()
    const key = { id: keyId, created_at: at(0), ends_at: at(100), revoked_at: null }
    const begun = { id: sessionId, created_at: at(1), remote_address: '192.0.2.1', user_agent: 'Ünï "✓"' }
    const link = { created_at: at(0), ends_at: at(10) }
    const added = { name: 'anna', role: 'admin', email: null, created_at: at(0) }
    const subject = { kind: 'operator', id: 'anna' }
    const event = (action: string, before: object | null, after: object | null) => ({ action, subject, before, after })
    const linked = event('login link made', { login_links: [] }, { login_links: [link] })
    const links = { sessions: [], login_links: [link] }
    const ofSession = { sessions: [begun], login_links: [] }
    const first = [
      event('operator added', null, { ...added, keys: [], sessions: [], login_links: [] }),
      event('operator key added', { keys: [] }, { keys: [key] }),
      linked,
      event('operator logged in', links, ofSession),
      linked,
    ]
    const events = async () => {
      const listed = (await store.listAuditEvents(PAGE)).toReversed()
      return listed.map(({ action, subject, before, after }) => ({ action, subject, before, after }))
    }
    t.strictSame(await events(), first)

    await store.recordAdminKeyUse(keyId, START + 2)
    await store.recordSessionUse({ id: sessionId, lastSeenAt: START + 2, endsAt: START + 60 })
    await on(store).addOperator({ name: 'anna', role: 'viewer', createdAt: START })
    await on(store).removeOperator('nobody')
    await on(store).endSession('anna', sessionId + 1)
    await on(store).beginSession('anna', 'unknown code', session('x'))
    await on(store).revokeAdminKey('anna', keyId, START + 3)
    await on(store).revokeAdminKey('anna', keyId, START + 4)
    await on(store).endSession('anna', sessionId)
    await on(store).removeOperator('anna')
    const revoked = { ...key, revoked_at: at(3) }
    t.strictSame((await events()).slice(first.length), [
      event('operator key revoked', { keys: [key] }, { keys: [revoked] }),
      event('session ended', { sessions: [begun] }, { sessions: [] }),
      event('operator removed', { ...added, keys: [revoked], sessions: [], login_links: [link] }, null),
    ])
    t.notMatch(JSON.stringify(await store.listAuditEvents(PAGE)), /code anna|key anna|session anna/)
  })

  test('Store: an operator of the identity provider is updated, and another role ends the sessions', async (t, store) => {
    const name = 'https://idp.example#7'
    const change = (type: 'operator added' | 'operator updated', role: Role, email?: string) =>
      store.change({ type, operator: name, role, email }, AUDIT)
    t.match(await change('operator updated', 'admin'), { changed: false }, 'nobody has that name')
    await change('operator added', 'admin', 'ä@b.example')
    await on(store).addOperator({ name: 'anna', role: 'admin', createdAt: START })
    const begin = (operator: string, digest: string) => on(store).beginSession(operator, undefined, session(digest))
    t.equal(await begin('nobody', 'x'), undefined)
    t.type(await begin(name, 'one'), 'number')
    await begin('anna', 'hers')
    t.match(await store.findOperator(name), { role: 'admin', email: 'ä@b.example', sessions: [{}] })
    t.match(await change('operator updated', 'admin', 'ä@b.example'), { changed: false })
    t.strictSame((await change('operator updated', 'admin', 'c@b.example')).fields, ['email'])
    t.ok(await store.findSession('one'), 'the role is the same')
    t.strictSame((await change('operator updated', 'viewer')).fields, ['role', 'email', 'sessions'])
    t.match(await store.findOperator(name), { role: 'viewer', email: null, sessions: { length: 0 } })
    t.ok(await store.findSession('hers'))
    t.match(await store.listAuditEvents(PAGE), [{ action: 'operator updated', subject: { id: name } }])
  })

  test('Store: login codes and sessions that are over, or lie in the future, are purged', async (t, store) => {
    const HOUR = 3_600_000
    await addOperator(store, 'anna')
    const times: [name: string, createdAt: number, endsAt: number, codeStays: boolean, sessionStays: boolean][] = [
      ['ended', 1, 5, false, false],
      ['alive', 2, 6, true, true],
      ['ahead', 60_005, HOUR, true, true],
      ['too far ahead', 60_006, HOUR, true, false],
    ]
    for (const [name, createdAt, end] of times) {
      const endsAt = START + end
      await on(store).addLoginCode('anna', { digest: name, createdAt: START, endsAt })
      await on(store).addLoginCode('anna', { ...KEY, digest: 'used' })
      await on(store).beginSession('anna', 'used', session(name, { createdAt: START + createdAt, endsAt }))
    }
    await store.purge('sign-ins', START + 5, 100)
    for (const [name, , , codeStays, sessionStays] of times) {
      t.equal((await store.findLoginCode(name)) !== undefined, codeStays, name)
      t.equal((await store.findSession(name)) !== undefined, sessionStays, name)
    }
    await store.purge('sign-ins', Number.MAX_SAFE_INTEGER, 100)
    const anna = await store.findOperator('anna')
    t.strictSame([anna?.keys.length, anna?.sessions.length], [1, 0])
    t.equal(await store.findLoginCode('ahead'), undefined)
  })
}
