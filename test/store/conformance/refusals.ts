import type { Test } from 'tap'
import { MAX_REFUSED_REQUESTS, type RefusalCount, type RefusedRequestFilter } from '../../../src/domain/refusal.ts'
import { on } from '../../support/on.ts'
import { refusal, refusedRequest } from '../../support/refusal.ts'
import { START } from '../../support/world.ts'
import { type Harness, onEmptyStore, register, registerSuites } from './harness.ts'

/** A refusal at a time after the start. */
const at = (clientId: string, time: number, more: Partial<RefusalCount> = {}) =>
  refusal(clientId, { firstAt: START + time, lastAt: START + time, ...more })

export function refusalConformance(t: Test, harness: Harness): void {
  const test = onEmptyStore(t, harness)

  test('Store: refusals are listed as they were recorded, newest first', async (t, store) => {
    await register(store, 'a', 'b')
    const ofSuite = { reason: 'expired token', suite: 'store', requestId: 'r-1', traceId: 'f'.repeat(32) }
    const old = refusal('a', { ...ofSuite, firstAt: START - 9, count: 7 })
    const late = refusal('a', { lastAt: START + 1 })
    await store.recordRefusals([old, late, refusal('b')])
    t.strictSame(await store.listRefusals('a'), [late, old])
    t.strictSame(await store.listRefusals('b'), [refusal('b')])
    t.strictSame(await store.listRefusals('nobody'), [])
    await store.recordRefusals([])
  })

  test('Store: repeated refusals are counted, with the details of the last one', async (t, store) => {
    await register(store, 'a')
    const known = (time: number, requestId?: string) => at('a', time, { requestId, traceId: requestId })
    await store.recordRefusals([known(5, 'five'), known(7, 'seven'), known(6, 'six')])
    const last = { ...known(7, 'seven'), firstAt: START + 5, count: 3 }
    t.strictSame(await store.listRefusals('a'), [last])
    await store.recordRefusals([known(1, 'one')])
    t.strictSame(await store.listRefusals('a'), [{ ...last, firstAt: START + 1, count: 4 }])
    await store.recordRefusals([{ ...known(9), count: 10 }])
    t.strictSame(await store.listRefusals('a'), [{ ...known(9), firstAt: START + 1, count: 14 }])
    for (const other of ['reason', 'endpoint', 'suite', 'remoteAddress'])
      await store.recordRefusals([{ ...known(0), [other]: 'another' }])
    const counts = (await store.listRefusals('a')).map(({ count }) => count)
    t.strictSame(counts, [14, 1, 1, 1, 1])
  })

  test('Store: refusals of unknown client ids are kept apart from those of applications', async (t, store) => {
    await register(store, 'a')
    const cut = ['\0ab\u{1f4a9}... (9 characters)', '\ud800... (1 characters)', `{"',\\}... (9 characters)`]
    const strange = [...cut, 'NULL', '']
    const unknown = (clientId: string) => refusal(clientId, { isKnown: false })
    await store.recordRefusals([refusal('a'), ...[...strange, 'a'].map(unknown)])
    for (const clientId of strange)
      t.match(await store.listRefusals(clientId), [{ isKnown: false, count: 1 }], clientId)
    t.equal((await store.listRefusals(undefined)).length, strange.length + 1)
    t.strictSame(await store.listRefusals('a'), [refusal('a')])
    await on(store).removeApplication('a')
    t.strictSame(await store.listRefusals('a'), [unknown('a')])
  })

  test('Store: refusals of suites are kept apart from those of applications', async (t, store) => {
    // Their numbers are the same.
    await registerSuites(store, 'store', 'other')
    await register(store, 'a', 'b')
    const ofSuite = (id: string, more: Partial<RefusalCount> = {}) => refusal(id, { count: 3, ...more })
    await store.recordRefusals([refusal('a'), refusal('b'), ofSuite('store'), ofSuite('other')])
    await store.recordRefusals([ofSuite('store', { firstAt: START - 1, count: 1 })])
    t.strictSame(await store.listRefusals('a'), [refusal('a')])
    t.strictSame(await store.listRefusals('store'), [ofSuite('store', { firstAt: START - 1, count: 4 })])
    t.strictSame(await store.listRefusals('other'), [ofSuite('other')])
    t.strictSame(await store.listRefusals(undefined), [])
    const many = Array.from({ length: 25 }, (_, n) => at('store', 1 + n, { remoteAddress: `192.0.2.${n}` }))
    await store.recordRefusals(many)
    t.equal((await store.listRefusals('store')).length, 20)
    t.equal((await store.listRefusals('other')).length, 1)
  })

  test('Store: refusals that are only reported replace no real ones', async (t, store) => {
    await register(store, 'a')
    const reported = { reason: 'address not allowed (report only)' } as const
    const many = Array.from({ length: 25 }, (_, n) => at('a', 1 + n, { ...reported, remoteAddress: `192.0.2.${n}` }))
    await store.recordRefusals([refusal('a'), ...many])
    const kept = await store.listRefusals('a')
    t.equal(kept.length, 21)
    t.match(kept.at(-1), { reason: 'wrong secret' })
  })

  test('Store: refusals are deleted with their owner, and a new one of that id has none', async (t, store) => {
    await registerSuites(store, 's')
    await register(store, 'a', 'b')
    await store.recordRefusals([refusal('a'), refusal('s')])
    await on(store).removeApplication('a')
    await on(store).removeSuite('s')
    await store.recordRefusals([refusal('a'), refusal('s'), refusal('b')])
    const left = async () => Promise.all(['a', 's', 'b'].map((id) => store.listRefusals(id)))
    t.strictSame(await left(), [[], [], [refusal('b')]])
    await register(store, 'a', 's')
    t.strictSame(await left(), [[], [], [refusal('b')]])
  })

  test('Store: 20 refusals of an application are kept, and 100 of all unknown client ids', async (t, store) => {
    await register(store, 'a', 'b')
    const many = (clientId: string, length: number, more: Partial<RefusalCount> = {}) =>
      Array.from({ length }, (_, n) => at(clientId, n, { ...more, remoteAddress: `192.0.2.${n}` }))
    const newest = (refusals: RefusalCount[], count: number) => refusals.toReversed().slice(0, count)
    const [ofA, ofB, unknown] = [many('a', 25), many('b', 20), many('x', 90, { isKnown: false })]
    await store.recordRefusals([...ofB, ...ofA.toReversed(), ...unknown])
    t.strictSame(await store.listRefusals('a'), newest(ofA, 20))
    t.strictSame(await store.listRefusals('b'), newest(ofB, 20))
    t.strictSame(await store.listRefusals('x'), newest(unknown, 90))
    const again = { ...(ofA[5] as RefusalCount), firstAt: START + 99, lastAt: START + 99 }
    await store.recordRefusals([again, refusal('a', { lastAt: START + 98 })])
    t.match(await store.listRefusals('a'), [{ ...again, firstAt: START + 5, count: 2 }, { lastAt: START + 98 }])
    t.equal((await store.listRefusals('a')).length, 20)
    await store.recordRefusals(many('y', 15, { isKnown: false }).map((one) => ({ ...one, lastAt: START + 99 })))
    t.strictSame(await store.listRefusals('x'), newest(unknown, 85))
    t.equal((await store.listRefusals('y')).length, 15)
  })

  test('Store: the last refusals of clients are listed, newest first, without removed and unknown clients', async (t, store) => {
    await registerSuites(store, 's')
    await register(store, 'a', 'c')
    const unknown = Array.from({ length: 20 }, (_, n) => at(`x${n}`, 50 + n, { isKnown: false }))
    const ofCheck = { reason: 'unknown token', suite: 's', remoteAddress: '', firstAt: START + 1, count: 7 }
    await store.recordRefusals([at('a', 1), at('a', 10, { reason: 'expired token', suite: 's' }), ...unknown])
    await store.recordRefusals([at('c', 2), at('s', 3, ofCheck)])
    const counted = { reason: 'wrong secret', suite: '', count: 1 }
    const a = { kind: 'application', id: 'a', name: 'Application a' }
    const [newest, s, c, oldest] = [
      { ...a, reason: 'expired token', suite: 's', count: 1, at: [10, 10] },
      { kind: 'suite', id: 's', name: 'Suite s', reason: 'unknown token', suite: 's', count: 7, at: [1, 3] },
      { kind: 'application', id: 'c', name: 'Application c', ...counted, at: [2, 2] },
      { ...a, ...counted, at: [1, 1] },
    ]
    const listed = async (limit: number) =>
      (await store.listLastRefused(limit)).map(({ firstAt, lastAt, ...one }) => {
        return { ...one, at: [firstAt - START, lastAt - START] }
      })
    t.strictSame(await listed(2), [newest, s])
    t.strictSame(await listed(9), [newest, s, c, oldest])
    await on(store).removeApplication('c')
    await on(store).removeSuite('s')
    t.strictSame(await listed(9), [newest, oldest], 'removed ones are left out')
  })

  test('Store: refused requests are listed newest first, with the names of registered clients, and are filtered', async (t, store) => {
    await registerSuites(store, 's')
    await register(store, 'a')
    const ofSuite = { clientId: 's', endpoint: '/v1/oauth/introspect' }
    const unknown = { clientId: 'ab\0\ud800... (9 characters)', reason: 'unknown client' }
    const ofNobody = { clientId: null, suite: 's', reason: 'unknown token', remoteAddress: '::1' }
    const first = [refusedRequest('r1'), refusedRequest('r2', ofSuite), refusedRequest('r2', unknown)]
    for (const step of [first, [refusedRequest('r3', ofNobody)]]) await store.recordRefusedRequests(step)
    const listed = async (filter: Partial<RefusedRequestFilter> = {}) =>
      (await store.listRefusedRequests({ limit: 9, ...filter })).map(({ requestId, name }) => `${requestId} ${name}`)
    t.strictSame(await listed(), ['r3 null', 'r2 null', 'r2 Suite s', 'r1 Application a'])
    const [, , second] = await store.listRefusedRequests({ limit: 9 })
    const { isKnown, ...shown } = refusedRequest('r2', ofSuite)
    t.match(second, { ...shown, kind: 'suite', name: 'Suite s' })
    t.strictSame(await listed({ limit: 1 }), ['r3 null'])
    t.strictSame(await listed({ before: second?.id }), ['r1 Application a'])
    for (const [filter, found] of [
      [{ requestId: 'r2' }, ['r2 null', 'r2 Suite s']],
      [{ requestId: 'R3' }, ['r3 null']],
      [{ requestIdBeginning: 'R3' }, ['r3 null']],
      [{ requestIdBeginning: '3' }, []],
      [{ requestIdBeginning: 'r2', clientId: 's' }, ['r2 Suite s']],
      [{ requestIdBeginning: 'r%' }, []],
      [{ requestId: 'r2', since: START, until: START + 1 }, ['r2 null', 'r2 Suite s']],
      [{ since: START + 1 }, []],
      [{ until: START }, []],
      [{ requestId: 'r2', clientId: 's' }, ['r2 Suite s']],
      [{ clientId: unknown.clientId }, ['r2 null']],
      [{ suite: 's' }, ['r3 null']],
      [{ reason: 'wrong secret' }, ['r2 Suite s', 'r1 Application a']],
      [{ endpoint: '/v1/oauth/introspect' }, ['r2 Suite s']],
      [{ remoteAddress: '::1' }, ['r3 null']],
      [{ suite: 's', reason: 'wrong secret' }, []],
      [{ reason: 'a\0', requestId: 'a\0' }, []],
    ] as [RefusedRequestFilter, string[]][]) {
      t.strictSame(await listed(filter), found, JSON.stringify(filter))
    }
    const counted = [
      ['wrong secret', 2],
      ['unknown client', 1],
      ['unknown token', 1],
    ]
    t.strictSame(await store.countRefusedRequests({}), counted)
    t.strictSame(await store.countRefusedRequests({ suite: 's', since: START, until: START + 1 }), [counted[2]])
    await on(store).removeApplication('a')
    const [removed] = await store.listRefusedRequests({ requestId: 'r1', limit: 1 })
    t.match(removed, { clientId: 'a', kind: null, name: null })
  })

  test('Store: old refused requests are purged, the oldest first, no more than the limit', async (t, store) => {
    await store.recordRefusedRequests([1, 2, 3, 4].map((time) => refusedRequest(`r${time}`, { at: START + time })))
    const purge = (before: number, limit: number) => store.purge('refused requests', START + before, limit)
    t.strictSame([await purge(1, 9), await purge(4, 2), await purge(4, 2), await purge(4, 2)], [0, 2, 1, 0])
    t.match(await store.listRefusedRequests({ limit: 9 }), [{ requestId: 'r4' }])
  })

  test('Store: 5000 refused requests are kept, the newest, of registered clients and of other callers', async (t, store) => {
    const flood = (isKnown: boolean) =>
      Array.from({ length: MAX_REFUSED_REQUESTS + 3 }, (_, n) => refusedRequest(`${isKnown} ${n}`, { isKnown }))
    for (const isKnown of [true, false]) await store.recordRefusedRequests(flood(isKnown))
    const kept = await store.listRefusedRequests({ limit: 4 * MAX_REFUSED_REQUESTS })
    t.equal(kept.length, 2 * MAX_REFUSED_REQUESTS)
    t.equal(kept.at(-1)?.requestId, 'true 3')
    t.equal(kept.at(MAX_REFUSED_REQUESTS - 1)?.requestId, 'false 3')
    const purge = (limit: number) => store.purge('refused requests', START + 1, limit)
    const purged = [await purge(MAX_REFUSED_REQUESTS - 1), await purge(3)]
    t.strictSame(purged, [MAX_REFUSED_REQUESTS - 1, 3], 'ids may be apart')
  })
}
