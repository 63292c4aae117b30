import type { Test } from 'tap'
import type { ApplicationKey } from '../../../src/domain/application.ts'
import { mintToken, type StoredToken } from '../../../src/domain/token.ts'
import { HOUR, hourOf } from '../../../src/domain/usage.ts'
import { on } from '../../support/on.ts'
import { countTokens, lastTokenAt } from '../../support/usage.ts'
import { START } from '../../support/world.ts'
import { findStored, type Harness, newKey, onEmptyStore, register, registerSuites, secretIdOf } from './harness.ts'

const FIVE_MINUTES = 300_000
const DAY = 24 * HOUR

export function tokenConformance(t: Test, harness: Harness): void {
  const test = onEmptyStore(t, harness)

  test('Store: a token is found as it was added, even after an earlier miss', async (t, store) => {
    const key = await newKey(store)
    const audienceOf = (n: number) => (n > 40 ? (['a', 'NULL', null][n % 3] as string | null) : null)
    const tokens = Array.from({ length: 50 }, (_, n) => mintToken(key, START + n, n % 3, audienceOf(n)).stored)
    const all = async () => Promise.all(tokens.map(({ id }) => findStored(store, id)))
    t.strictSame(await all(), Array(50).fill(undefined))
    await Promise.all(tokens.map((token) => store.addToken(token)))
    t.strictSame(await all(), tokens)
    t.equal(await store.findToken(mintToken(key, START).stored.id), undefined)
    t.equal(await store.purge('tokens', (tokens[0] as StoredToken).issuedAt, 3), 0, 'a purge takes those before a time')
  })

  test('Store: a token is found with the application that it was issued to, while there is one', async (t, store) => {
    await newKey(store, 'a')
    const token = mintToken(await newKey(store, 'b'), START).stored
    await store.addToken(token)
    t.strictSame(await store.findToken(token.id), { stored: token, application: await store.findApplication('b') })
    await on(store).removeApplication('b')
    t.strictSame(await store.findToken(token.id), { stored: token, application: undefined })
    await newKey(store, 'b')
    t.strictSame(await store.findToken(token.id), { stored: token, application: undefined }, 'a namesake is another')
  })

  test('Store: a token with an id that is taken is refused and changes nothing', async (t, store) => {
    const token = mintToken(await newKey(store), START).stored
    await store.addToken(token)
    await t.rejects(store.addToken({ ...token, issuedAt: START + 1 }))
    t.strictSame(await findStored(store, token.id), token)
    const next = mintToken(token.applicationKey, START).stored
    await store.addToken(next)
    t.strictSame(await findStored(store, next.id), next, 'and those that come later are added')
  })

  test('Store: a revoked token is marked with the time of its first revocation, and no other is', async (t, store) => {
    const key = await newKey(store)
    const [one, other] = [mintToken(key, START).stored, mintToken(key, START).stored]
    await Promise.all([store.addToken(one), store.addToken(other)])
    t.strictSame(await findStored(store, one.id), one)
    for (const at of [START + 1, START + 2]) await store.revokeToken(one.id, at)
    t.strictSame(await findStored(store, one.id), { ...one, revokedAt: START + 1 })
    t.strictSame(await findStored(store, other.id), other)
  })

  test('Store: the tokens of an application and an hour are counted, and its last one is known', async (t, store) => {
    const [a, b] = [await newKey(store, 'a'), await newKey(store, 'b')]
    const hour = hourOf(START)
    t.equal(await countTokens(store, a, hour), 0)
    t.equal(await lastTokenAt(store, a), undefined)

    const ofA = { applicationKey: a, hour, issued: 3, refused: 1, lastTokenAt: START + 5 }
    const sumOfB = { applicationKey: b, hour, issued: 0, refused: 2 }
    const first = await store.addTokenCounts([ofA, { ...sumOfB, lastTokenAt: null }])
    t.strictSame(first, [{ applicationKey: a, hour, issued: 3, refused: 1 }, sumOfB])
    const sumOfA = { applicationKey: a, hour, issued: 2, refused: 1 }
    const back = { ...ofA, issued: -1, refused: 0, lastTokenAt: START + 4 }
    t.strictSame(await store.addTokenCounts([back]), [sumOfA])
    await store.addTokenCounts([{ ...ofA, hour: hour - 1 }])
    t.equal(await countTokens(store, a, hour), 2)
    t.equal(await lastTokenAt(store, a), START + 5, 'the latest, in whatever order they come')
    t.equal(await lastTokenAt(store, b), undefined)
    const useOfA = { ...sumOfA, lastTokenAt: START + 5 }
    const useOfB = { ...sumOfB, lastTokenAt: null }
    t.same(new Set(await store.listTokenCounts([a, b], hour)), new Set([useOfA, useOfB]))
    t.strictSame(await store.listTokenCounts([b], hour), [useOfB])
    const unused = { ...useOfB, hour: hour - 1, refused: 0 }
    t.strictSame(await store.listTokenCounts([b], hour - 1), [unused], 'in this hour')
    t.strictSame(await store.listTokenCounts([], hour), [])
    await store.addTokenCounts([{ ...sumOfB, issued: 3, lastTokenAt: null }])
    t.equal(await store.purge('token counts', (hour + 1) * HOUR, 10), 3)
    t.equal(await lastTokenAt(store, a), START + 5, 'it is known for longer than the counts')
  })

  test('Store: the last use of a secret is recorded while the secret exists', async (t, store) => {
    await registerSuites(store, 'store')
    await register(store, 'a')
    const [ofA, ofSuite] = [await secretIdOf(store, 'a'), await secretIdOf(store, 'store')]
    const all = [ofA, ofSuite, ofSuite + 1000]
    t.strictSame(await store.listSecretUses(all), [])
    await store.recordSecretUses(all.map((secretId) => ({ secretId, lastUsedAt: START })))
    const lastUsedFrom = '192.0.2.1'
    await store.recordSecretUses([{ secretId: ofSuite, lastUsedAt: START - 1, lastUsedFrom }])
    const stored = { lastUsedAt: START, lastUsedFrom: null }
    t.same(await store.listSecretUses([ofA]), [{ secretId: ofA, ...stored }])
    t.same(await store.listSecretUses([ofSuite]), [{ secretId: ofSuite, ...stored }], 'the later one stays')
    const later = { secretId: ofA, lastUsedAt: START + 1, lastUsedFrom }
    await store.recordSecretUses([later])
    t.same(await store.listSecretUses([ofA]), [later], 'with its address')
    await on(store).removeApplication('a')
    await on(store).removeSuite('store')
    t.strictSame(await store.listSecretUses(all), [])
  })

  test('Store: counts of a removed application do no harm, and a new one of its id has none', async (t, store) => {
    const gone = await newKey(store, 'a')
    const count = { applicationKey: gone, hour: 7, issued: 1, refused: 0, lastTokenAt: START }
    await store.addTokenCounts([count])
    await on(store).removeApplication('a')
    await store.addTokenCounts([count])
    t.equal(await lastTokenAt(store, gone), undefined)
    t.equal(await countTokens(store, await newKey(store, 'a'), 7), 0)
  })

  test('Store: usage is counted by client and span, and a new client with the id of a removed one has none', async (t, store) => {
    await registerSuites(store, 'store')
    await register(store, 'a', 'b', 'c')
    const of = (clientId: string, tokens: number) => ({ clientId, tokens, checks: 2, refusals: 1 })
    const sum = { tokens: 8, checks: 4, refusals: 2 }
    await store.addUsage([of('', 1), of('a', 5), of('store', 0), of('unknown', 7)], START + 1)
    await store.addUsage([of('a', 3)], START + FIVE_MINUTES - 1)
    await store.addUsage([of('a', 9), of('b', 9)], START + FIVE_MINUTES)
    const ids = ['a', 'store', '', 'unknown', 'b\0']
    const list = (span: number, ...beginnings: number[]) => store.listUsage(ids, span, beginnings)
    const ofA = { clientId: 'a', since: START, ...sum }
    const first = [ofA, { ...of('store', 0), since: START }, { ...of('', 1), since: START }]
    t.same(new Set(await list(FIVE_MINUTES, START)), new Set(first))
    t.match(await list(FIVE_MINUTES, START + FIVE_MINUTES, START + 1), [{ clientId: 'a', tokens: 9 }])
    const later = (await list(FIVE_MINUTES, START + FIVE_MINUTES, START)).at(-1)
    t.strictSame(later, { ...of('a', 9), since: START + FIVE_MINUTES }, 'oldest first')
    for (const span of [HOUR, DAY]) {
      const since = START - (START % span)
      const ofBoth = (await list(span, since)).find(({ clientId }) => clientId === 'a')
      t.match(ofBoth, { since, tokens: 17, checks: 6 })
    }
    t.strictSame(await store.listUsage([], HOUR, [START]), [])
    const hour = START - (START % HOUR)
    const busy = async (since: number, tokens: number) => (await store.listBusy(since, tokens)).sort()
    t.strictSame([await busy(hour, 8), await busy(hour, 9), await busy(hour, 17)], [['a', 'b'], ['a'], []])
    t.strictSame(await busy(hour + HOUR, 0), [])
    const [b, a] = (await store.listNames({ limit: 9 })).slice(1).map(({ key }) => key) as ApplicationKey[]
    const sums = async (...keys: unknown[]) =>
      new Set(await store.sumUsage(keys as ApplicationKey[], FIVE_MINUTES, [START, START + FIVE_MINUTES]))
    const ofB = { key: b, tokens: 9, checks: 2, refusals: 1 }
    t.same(
      await sums(b, a),
      new Set([{ key: a, tokens: 17, checks: 6, refusals: 3 }, ofB]),
      'of those that did anything',
    )
    t.same([await sums(b), await sums()], [new Set([ofB]), new Set()])
    t.equal((await sums(a)).size, 1, 'of no newer or older one')
    t.same(await store.sumUsage([a as ApplicationKey], FIVE_MINUTES, [START]), [{ key: a, ...sum }])

    await on(store).removeApplication('a')
    await on(store).removeSuite('store')
    await register(store, 'a')
    for (const span of [FIVE_MINUTES, HOUR, DAY]) t.match(await list(span, START - (START % span)), [{ clientId: '' }])
    t.strictSame(await list(FIVE_MINUTES, START + FIVE_MINUTES), [])
    const since = START - (START % DAY)
    t.strictSame(await store.listUsage(['a', 'b'], DAY, [since]), [{ ...of('b', 9), since }])
    await store.addUsage([of('b', 9), of('', 99)], START + HOUR)
    t.strictSame(await busy(hour, 8), ['b'], 'once')
  })
}
