import type { Test } from 'tap'
import type { Operator } from '../../../src/domain/operator.ts'
import { AUDIT } from '../../support/audit.ts'
import { START } from '../../support/world.ts'
import { addOperator, type Harness, onEmptyStore, PAGE, session } from './harness.ts'

const KEY = { digest: 'x', createdAt: START, endsAt: START }

export function operatorConformance(t: Test, harness: Harness): void {
  const test = onEmptyStore(t, harness)

  test('Store: an operator is found with every field of its type and no other', async (t, store) => {
    t.equal(await store.findOperator('anna'), undefined)
    t.strictSame(await store.listOperators(), [])
    t.equal(await store.addOperator({ name: 'anna', role: 'viewer', createdAt: START }, AUDIT), true)
    t.equal(await store.addOperator({ name: 'anna', role: 'admin', createdAt: START + 1 }, AUDIT), false, 'it is taken')
    const { key, ...rest } = (await store.findOperator('anna')) as Operator
    t.not(key, undefined)
    t.strictSame(rest, { name: 'anna', role: 'viewer', createdAt: START, keys: [], sessions: [], loginLinks: [] })

    const { keyId, sessionId } = await addOperator(store, 'bert')
    const bert = (await store.findOperator('bert')) as Operator
    t.strictSame(bert.keys, [{ id: keyId, createdAt: START, endsAt: START + 100, revokedAt: null, lastUsedAt: null }])
    const { digest: _, ...begun } = session('session bert')
    t.strictSame(bert.sessions, [{ id: sessionId, lastSeenAt: begun.createdAt, ...begun }])
    t.strictSame(bert.loginLinks, [{ createdAt: START, endsAt: START + 10 }])
    t.strictSame(await store.listOperators(), [await store.findOperator('anna'), bert], 'oldest first')
    for (const stranger of ['Anna', 'anna\0', '']) t.equal(await store.findOperator(stranger), undefined)
  })

  test('Store: keys, sessions and login codes are found by their digests', async (t, store) => {
    await addOperator(store, 'anna')
    const { keyId, sessionId } = await addOperator(store, 'bert')
    const operator = await store.findOperator('bert')
    t.strictSame(await store.findAdminKey('key bert'), { id: keyId, operator })
    t.strictSame(await store.findSession('session bert'), { id: sessionId, operator })
    t.strictSame(await store.findLoginCode('code bert'), { operator: 'bert', createdAt: START, endsAt: START + 10 })
    for (const digest of ['nothing', '']) {
      t.equal(await store.findAdminKey(digest), undefined)
      t.equal(await store.findSession(digest), undefined)
      t.equal(await store.findLoginCode(digest), undefined)
    }
  })

  test('Store: changes to unknown operators, or to what another has, do nothing', async (t, store) => {
    const { keyId, sessionId } = await addOperator(store, 'anna')
    await store.addOperator({ name: 'bert', role: 'viewer', createdAt: START }, AUDIT)
    t.equal(await store.addAdminKey('nobody', KEY, AUDIT), undefined)
    t.equal(await store.addLoginCode('nobody', KEY, AUDIT), false)
    t.equal(await store.removeOperator('nobody', AUDIT), false)
    for (const name of ['nobody', 'bert']) {
      t.equal(await store.revokeAdminKey(name, keyId, START, AUDIT), false, "nor is it another operator's")
      t.equal(await store.endSession(name, sessionId, AUDIT), false)
    }
    t.equal(await store.revokeAdminKey('anna', keyId + 1, START, AUDIT), false)
    t.equal(await store.endSession('anna', sessionId + 1, AUDIT), false)
    t.match(await store.findAdminKey('key anna'), { operator: { keys: [{ revokedAt: null }] } })
    t.not(await store.findSession('session anna'), undefined)
  })

  test('Store: a key is revoked and a session is ended only once', async (t, store) => {
    const { keyId, sessionId } = await addOperator(store, 'anna')
    t.equal(await store.revokeAdminKey('anna', keyId, START + 5, AUDIT), true)
    t.equal(await store.revokeAdminKey('anna', keyId, START + 6, AUDIT), true)
    t.match(await store.findAdminKey('key anna'), { operator: { keys: [{ revokedAt: START + 5 }] } })
    t.equal(await store.endSession('anna', sessionId, AUDIT), true)
    t.equal(await store.findSession('session anna'), undefined)
    t.equal(await store.endSession('anna', sessionId, AUDIT), false)
  })

  test('Store: removing an operator removes keys, sessions and login codes for good', async (t, store) => {
    const { sessionId } = await addOperator(store, 'anna')
    await addOperator(store, 'bert')
    t.equal(await store.removeOperator('anna', AUDIT), true)
    await store.addOperator({ name: 'anna', role: 'viewer', createdAt: START + 1 }, AUDIT)
    t.match(await store.findOperator('anna'), { role: 'viewer', keys: [], sessions: [] })
    t.equal(await store.findAdminKey('key anna'), undefined)
    t.equal(await store.findSession('session anna'), undefined)
    t.equal(await store.beginSession('anna', 'code anna', session('new'), AUDIT), undefined)
    await store.recordSessionUse({ id: sessionId, lastSeenAt: START + 2, endsAt: START + 60 })
    t.equal(await store.findSession('session anna'), undefined)
    t.not(await store.findSession('session bert'), undefined)
  })

  test('Store: a login code can be used only once', async (t, store) => {
    await addOperator(store, 'anna')
    const id = await store.beginSession('anna', 'code anna', session('first'), AUDIT)
    t.match(await store.findSession('first'), { id, operator: { name: 'anna' } })
    t.equal(await store.beginSession('anna', 'code anna', session('second'), AUDIT), undefined)
    t.equal(await store.findSession('second'), undefined)
    t.equal(await store.findLoginCode('code anna'), undefined)
  })

  test('Store: each change of an operator is one audit event, and uses are not', async (t, store) => {
    const { keyId, sessionId } = await addOperator(store, 'anna')
    const at = (time: number) => new Date(START + time).toISOString()
    const key = { id: keyId, created_at: at(0), ends_at: at(100), revoked_at: null }
    const begun = { id: sessionId, created_at: at(1), remote_address: '192.0.2.1', user_agent: 'Ünï "✓"' }
    const link = { created_at: at(0), ends_at: at(10) }
    const added = { name: 'anna', role: 'admin', created_at: at(0) }
    const event = (action: string, before: object | null, after: object | null) => ({
      ...{ action, subject: { kind: 'operator', id: 'anna' }, before, after },
    })
    const linked = event('login link made', { login_links: [] }, { login_links: [link] })
    const loggedIn = [
      { sessions: [], login_links: [link] },
      { sessions: [begun], login_links: [] },
    ] as const
    const first = [
      event('operator added', null, { ...added, keys: [], sessions: [], login_links: [] }),
      event('operator key added', { keys: [] }, { keys: [key] }),
      linked,
      event('operator logged in', ...loggedIn),
      linked,
    ]
    const events = async () => {
      const listed = (await store.listAuditEvents(PAGE)).toReversed()
      return listed.map(({ action, subject, before, after }) => ({ action, subject, before, after }))
    }
    t.strictSame(await events(), first)

    await store.recordAdminKeyUse(keyId, START + 2)
    await store.recordSessionUse({ id: sessionId, lastSeenAt: START + 2, endsAt: START + 60 })
    await store.addOperator({ name: 'anna', role: 'viewer', createdAt: START }, AUDIT)
    await store.removeOperator('nobody', AUDIT)
    await store.endSession('anna', sessionId + 1, AUDIT)
    await store.beginSession('anna', 'unknown code', session('x'), AUDIT)
    await store.revokeAdminKey('anna', keyId, START + 3, AUDIT)
    await store.revokeAdminKey('anna', keyId, START + 4, AUDIT)
    await store.endSession('anna', sessionId, AUDIT)
    await store.removeOperator('anna', AUDIT)
    const revoked = { ...key, revoked_at: at(3) }
    t.strictSame((await events()).slice(first.length), [
      event('operator key revoked', { keys: [key] }, { keys: [revoked] }),
      event('session ended', { sessions: [begun] }, { sessions: [] }),
      event('operator removed', { ...added, keys: [revoked], sessions: [], login_links: [link] }, null),
    ])
    t.notMatch(JSON.stringify(await store.listAuditEvents(PAGE)), /code anna|key anna|session anna/)
  })

  test('Store: the time of the last use of a key or session never goes back', async (t, store) => {
    const { keyId, sessionId } = await addOperator(store, 'anna')
    for (const time of [5, 7, 6]) {
      await store.recordAdminKeyUse(keyId, START + time)
      await store.recordSessionUse({ id: sessionId, lastSeenAt: START + time, endsAt: START + 50 + time })
    }
    t.match(await store.findOperator('anna'), {
      keys: [{ lastUsedAt: START + 7, endsAt: START + 100 }],
      sessions: [{ createdAt: START + 1, lastSeenAt: START + 7, endsAt: START + 57 }],
    })
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
      await store.addLoginCode('anna', { digest: name, createdAt: START, endsAt }, AUDIT)
      await store.addLoginCode('anna', { ...KEY, digest: 'used' }, AUDIT)
      await store.beginSession('anna', 'used', session(name, { createdAt: START + createdAt, endsAt }), AUDIT)
    }
    await store.purgeSignIns(START + 5)
    for (const [name, , , codeStays, sessionStays] of times) {
      t.equal((await store.findLoginCode(name)) !== undefined, codeStays, name)
      t.equal((await store.findSession(name)) !== undefined, sessionStays, name)
    }
    await store.purgeSignIns(Number.MAX_SAFE_INTEGER)
    t.match(await store.findOperator('anna'), { keys: [{}], sessions: [] })
    t.equal((await store.findOperator('anna'))?.sessions.length, 0)
    t.equal(await store.findLoginCode('ahead'), undefined)
  })
}
