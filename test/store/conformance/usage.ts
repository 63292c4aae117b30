import type { Test } from 'tap'
import { hourOf } from '../../../src/domain/usage.ts'
import { AUDIT } from '../../support/audit.ts'
import { START } from '../../support/world.ts'
import { type Harness, newKey, onEmptyStore, register, registerSuites, secretIdOf } from './harness.ts'

export function usageConformance(t: Test, harness: Harness): void {
  const test = onEmptyStore(t, harness)

  test('Store: the tokens of an application and an hour are counted, and its last one is known', async (t, store) => {
    const [a, b] = [await newKey(store, 'a'), await newKey(store, 'b')]
    const hour = hourOf(START)
    t.equal(await store.countTokens(a, hour), 0)
    t.equal(await store.lastTokenAt(a), undefined)
    t.equal(await store.countIssued(hour), 0)

    const ofA = { applicationKey: a, hour, issued: 3, refused: 1, lastTokenAt: START + 5 }
    const sumOfB = { applicationKey: b, hour, issued: 0, refused: 2 }
    const first = await store.addTokenCounts([ofA, { ...sumOfB, lastTokenAt: null }])
    t.strictSame(first, [{ applicationKey: a, hour, issued: 3, refused: 1 }, sumOfB])
    const sumOfA = { applicationKey: a, hour, issued: 2, refused: 1 }
    const back = { ...ofA, issued: -1, refused: 0, lastTokenAt: START + 4 }
    t.strictSame(await store.addTokenCounts([back]), [sumOfA])
    await store.addTokenCounts([{ ...ofA, hour: hour - 1 }])
    t.equal(await store.countTokens(a, hour), 2)
    t.equal(await store.lastTokenAt(a), START + 5, 'the latest, in whatever order they come')
    t.equal(await store.lastTokenAt(b), undefined)
    t.same(new Set(await store.listTokenCounts([a, b], [hour])), new Set([sumOfA, sumOfB]))
    t.strictSame(await store.listTokenCounts([b], [hour - 1, hour]), [sumOfB])
    t.equal((await store.listTokenCounts([a, b], [hour - 1, hour])).length, 3, 'of several applications')
    t.equal((await store.listTokenCounts([a, b], [hour - 1])).length, 1, 'in these hours')
    t.strictSame(await store.listTokenCounts([], [hour]), [])
    t.strictSame(await store.listApplicationUses([b, a]), [{ applicationKey: a, lastTokenAt: START + 5 }])
    t.strictSame(await store.listApplicationUses([]), [])
    await store.addTokenCounts([{ ...sumOfB, issued: 3, lastTokenAt: null }])
    t.equal(await store.countIssued(hour), 5, 'over all applications')
  })

  test('Store: old counts are purged, no more than the limit', async (t, store) => {
    const applicationKey = await newKey(store)
    const count = { applicationKey, issued: 1, refused: 0, lastTokenAt: START }
    await store.addTokenCounts([5, 3, 4, 2].map((hour) => ({ ...count, hour })))
    t.equal(await store.purgeTokenCounts(5, 2), 2)
    const left = await store.listTokenCounts([applicationKey], [2, 3, 4, 5])
    t.strictSame(left.map(({ hour }) => hour).sort(), [4, 5])
    t.equal(await store.purgeTokenCounts(5, 2), 1)
    t.equal(await store.purgeTokenCounts(5, 2), 0)
    t.equal(await store.lastTokenAt(applicationKey), START)
  })

  test('Store: the last use of a secret is recorded, while there is the secret', async (t, store) => {
    await registerSuites(store, 'store')
    await register(store, 'a')
    const [ofA, ofSuite] = [await secretIdOf(store, 'a'), await secretIdOf(store, 'store')]
    const all = [ofA, ofSuite, ofSuite + 1000]
    t.strictSame(await store.listSecretUses(all), [])
    await store.recordSecretUses(all.map((secretId) => ({ secretId, lastUsedAt: START })))
    await store.recordSecretUses([{ secretId: ofSuite, lastUsedAt: START - 1 }])
    t.same(await store.listSecretUses([ofA]), [{ secretId: ofA, lastUsedAt: START }])
    t.same(await store.listSecretUses([ofSuite]), [{ secretId: ofSuite, lastUsedAt: START }], 'the later one stays')
    await store.removeApplication('a', AUDIT)
    await store.removeSuite('store', AUDIT)
    t.strictSame(await store.listSecretUses(all), [])
  })

  test('Store: counts of an application that was removed do no harm, and its namesake has none', async (t, store) => {
    const gone = await newKey(store, 'a')
    const count = { applicationKey: gone, hour: 7, issued: 1, refused: 0, lastTokenAt: START }
    await store.addTokenCounts([count])
    await store.removeApplication('a', AUDIT)
    await store.addTokenCounts([count])
    t.equal(await store.lastTokenAt(gone), undefined)
    t.equal(await store.countTokens(await newKey(store, 'a'), 7), 0)
  })
}
