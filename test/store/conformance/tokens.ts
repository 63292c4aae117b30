import type { Test } from 'tap'
import { firstTokenIdAt, mintToken, type StoredToken } from '../../../src/domain/token.ts'
import { AUDIT } from '../../support/audit.ts'
import { START } from '../../support/world.ts'
import { findStored, type Harness, newKey, onEmptyStore } from './harness.ts'

export function tokenConformance(t: Test, harness: Harness): void {
  const test = onEmptyStore(t, harness)

  test('Store: a token is found as it was added, also where it was looked for too early', async (t, store) => {
    const key = await newKey(store)
    const tokens = Array.from({ length: 50 }, (_, n) => mintToken(key, START + n, n % 3).stored)
    const all = async () => Promise.all(tokens.map(({ id }) => findStored(store, id)))
    t.strictSame(await all(), Array(50).fill(undefined))
    await Promise.all(tokens.map((token) => store.addToken(token)))
    t.strictSame(await all(), tokens)
    t.equal(await store.findToken(mintToken(key, START).stored.id), undefined)
  })

  test('Store: a token is found with the application that it was issued to, while there is one', async (t, store) => {
    await newKey(store, 'a')
    const token = mintToken(await newKey(store, 'b'), START).stored
    await store.addToken(token)
    t.strictSame(await store.findToken(token.id), { stored: token, application: await store.findApplication('b') })
    await store.removeApplication('b', AUDIT)
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
    await store.revokeToken(one.id, START + 1)
    await store.revokeToken(one.id, START + 2)
    t.strictSame(await findStored(store, one.id), { ...one, revokedAt: START + 1 })
    t.strictSame(await findStored(store, other.id), other)
  })

  test('Store: the purge deletes the oldest tokens before an id, no more than the limit', async (t, store) => {
    const key = await newKey(store)
    const tokens = Array.from({ length: 5 }, (_, n) => mintToken(key, START + n).stored)
    for (const token of tokens.toReversed()) await store.addToken(token)
    const left = async (numbers: number[]) => {
      const found = await Promise.all(numbers.map((n) => findStored(store, (tokens[n] as StoredToken).id)))
      return found.filter((token) => token !== undefined).map(({ issuedAt }) => issuedAt - START)
    }
    t.equal(await store.purgeTokens(firstTokenIdAt(START + 4), 3), 3)
    t.strictSame(await left([0, 1, 2, 4]), [4])
    t.equal(await store.purgeTokens(firstTokenIdAt(START + 4), 3), 1)
    t.equal(await store.purgeTokens((tokens[4] as StoredToken).id, 3), 0, 'the id itself is not before it')
    t.strictSame(await left([3, 4]), [4])
  })
}
