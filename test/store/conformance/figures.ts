import type { Test } from 'tap'
import type { NewSecret } from '../../../src/domain/secret.ts'
import { firstTokenIdAt, mintToken } from '../../../src/domain/token.ts'
import { DAY } from '../../../src/domain/usage.ts'
import { application, suite } from '../../support/newcomers.ts'
import { AUDIT, on } from '../../support/on.ts'
import { START } from '../../support/world.ts'
import { findStored, type Harness, newKey, onEmptyStore, register, SECRET, secretIdOf, secretsOf } from './harness.ts'

/** What is measured of a store. */
export function figuresConformance(t: Test, harness: Harness): void {
  const test = onEmptyStore(t, harness)

  test('Store: the issue time of the oldest token is known, even after a purge', async (t, store) => {
    const oldestTokenAt = async () => (await store.measure(START)).oldestTokenAt
    t.equal(await oldestTokenAt(), undefined)
    const key = await newKey(store)
    const tokens = [2, 1, 3].map((n) => mintToken(key, START + n).stored)
    for (const token of tokens) await store.addToken(token)
    t.equal(await oldestTokenAt(), START + 1)
    await store.purge('tokens', START + 2, 10)
    t.equal(await oldestTokenAt(), START + 2)
    const found = await Promise.all(tokens.map(({ id }) => findStored(store, id)))
    t.strictSame(found, [tokens[0], undefined, tokens[2]])
  })

  test('Store: applications and suites whose last active secret ends soon are counted and listed', async (t, store) => {
    const NOW = START + 1000
    const SOON = NOW + 7 * DAY
    const owners: [name: string, isEnding: boolean, ...ends: (number | null)[]][] = [
      ['one secret without an end', false, null],
      ['one that ends soon', true, NOW + 1],
      ['one that ends at that very moment', true, SOON],
      ['one that ends later', false, SOON + 1],
      ['one that ends in a day', true, NOW + DAY],
      ['one that ends in a day and a moment', true, NOW + DAY + 1],
      ['one that has ended', false, NOW],
      ['two that end soon', true, NOW + 1, NOW + 2],
      ['one that ends soon, and a successor', false, NOW + 1, null],
      ['one that ends soon, and one that ends later', false, SOON + 1, NOW + 1],
      ['one that ends soon, and one that has ended', true, NOW - 1, NOW + 1],
      ['one that ends soon, and one that an earlier version did not show', true, NOW + 1, 0],
      ['one that an earlier version did not show', false, 0],
    ]
    let expected = 0
    const check = async (count: number, why: string) => {
      t.equal((await store.measure(NOW)).ending.inAWeek, count, why)
      t.equal((await store.listEndingSecrets(NOW, SOON, 100)).length, count, why)
    }
    for (const [name, isEnding, ...ends] of owners) {
      const [secret, ...others] = ends.map((endsAt) => ({ ...SECRET, endsAt })) as [NewSecret, ...NewSecret[]]
      const suites = [{ ...suite(`suite ${name}`), secret }]
      await store.register({ suites, applications: [application(name, { secrets: [secret] })] }, AUDIT)
      for (const other of others) for (const owner of [name, `suite ${name}`]) await on(store).addSecret(owner, other)
      if (isEnding) expected += 2
      await check(expected, name)
    }
    t.equal((await store.measure(NOW)).ending.inADay, expected - 4)
    const revoked = application('revoked', { secrets: [{ ...SECRET, endsAt: NOW + 1 }] })
    const successor = application('successor', { secrets: [{ ...SECRET, endsAt: NOW + 1 }] })
    await register(store, revoked, successor)
    await on(store).addSecret('successor', SECRET)
    await check(expected + 1, 'one has a successor')
    await on(store).revokeSecret('revoked', await secretIdOf(store, 'revoked'), NOW + 1)
    await check(expected, 'a revoked one is not active, whatever its end')
    await on(store).revokeSecret('successor', await secretIdOf(store, 'successor', 1), SOON + 5)
    await check(expected + 1, 'and is no successor')
    await on(store).setStatus('successor', 'suspended')
    await check(expected, 'nobody misses the secret of a suspended application')
  })

  test('Store: owners whose secrets end soon are listed once each, the next to end first', async (t, store) => {
    const [NOW, SOON] = [START + 1000, START + 2000]
    const secrets: Record<string, number[]> = {
      third: [NOW + 1, NOW + 30],
      first: [NOW + 10],
      'same time': [NOW + 20, NOW + 20],
      'ends last of all': [SOON],
    }
    for (const [name, [endsAt = 0, ...others]] of Object.entries(secrets)) {
      await register(store, application(name, { secrets: [{ ...SECRET, endsAt }] }))
      for (const endsAt of others) await on(store).addSecret(name, { ...SECRET, endsAt })
    }
    const end = { ...SECRET, endsAt: NOW + 25 }
    await store.register({ suites: [{ ...suite('suite'), secret: end }], applications: [] }, AUDIT)
    const listed = (before = SOON, limit = 20) => store.listEndingSecrets(NOW, before, limit)
    const [first] = await listed()
    const more = {
      secretId: await secretIdOf(store, 'first'),
      lastUsedAt: null,
      developerEmail: 'a@b.example',
      what: 'secret',
      newerId: null,
    }
    t.strictSame(first, { kind: 'application', id: 'first', name: 'Application first', endsAt: NOW + 10, ...more })
    t.match(await listed(), [
      { kind: 'application', id: 'first', name: 'Application first', endsAt: NOW + 10 },
      { kind: 'application', id: 'same time', name: 'Application same time', endsAt: NOW + 20 },
      { kind: 'suite', id: 'suite', name: 'Suite suite', endsAt: NOW + 25, developerEmail: null },
      { kind: 'application', id: 'third', name: 'Application third', endsAt: NOW + 30 },
      { kind: 'application', id: 'ends last of all', name: 'Application ends last of all', endsAt: SOON },
    ])
    t.strictSame(await listed(SOON, 2), (await listed()).slice(0, 2))
    t.strictSame(await listed(NOW + 10), (await listed()).slice(0, 1))
  })

  test('Store: an owner that still uses an old secret is listed with its end, but not counted', async (t, store) => {
    const [NOW, SOON] = [START + DAY, START + 8 * DAY]
    const ending = { ...suite('s'), secret: { ...SECRET, endsAt: NOW + 9 } }
    await store.register({ suites: [ending], applications: [] }, AUDIT)
    await register(store, application('a', { secrets: [{ ...SECRET, endsAt: NOW + 1 }] }), 'unused')
    for (const owner of ['a', 's']) await on(store).addSecret(owner, SECRET)
    const idsOf = async (owner: string) => (await secretsOf(store, owner)).map(({ id }) => id)
    const use = (secretId = 0, lastUsedAt = 0) => store.recordSecretUses([{ secretId, lastUsedAt }])
    const listed = async () => (await store.listEndingSecrets(NOW, SOON, 9)).map(({ id, endsAt }) => [id, endsAt])
    t.strictSame(await listed(), [], 'neither is used')
    const [[old, newer], [ofSuite]] = [await idsOf('a'), await idsOf('s')]
    await use(old, START)
    await use(ofSuite, START)
    const ofA = ['a', NOW + 1]
    const ofS = ['s', NOW + 9]
    t.match(await store.listEndingSecrets(NOW, SOON, 1), [{ secretId: old, lastUsedAt: START, newerId: newer }])
    t.match([await listed(), await store.measure(NOW)], [[ofA, ofS], { ending: { inAWeek: 0 } }])
    await use(newer, START + 1)
    t.strictSame(await listed(), [ofS], 'the newer one was used')
    await on(store).revokeSecret('a', newer as number, NOW - 1)
    t.strictSame(await listed(), [ofA, ofS], 'and is revoked')
    await on(store).revokeSecret('s', ofSuite as number, NOW - 1)
    t.strictSame(await listed(), [ofA], 'an old one that is revoked does not end')
    await register(store, application('ended', { secrets: [{ ...SECRET, endsAt: NOW }] }))
    await on(store).addSecret('ended', { ...SECRET, endsAt: NOW + 2 })
    await use(await secretIdOf(store, 'ended'), START)
    t.strictSame((await listed()).at(-1), ['ended', NOW + 2], 'nobody uses one that has ended')
  })

  test('Store: of the secrets that an owner used within a day, the first to end is listed', async (t, store) => {
    const [NOW, SOON] = [START + DAY, START + 8 * DAY]
    const names = ['ends first', 'endless', 'ends', 'unused']
    await register(store, application('a', { secrets: [{ ...SECRET, endsAt: NOW + 5 }] }))
    for (const endsAt of [null, NOW + 9, NOW + 2]) await on(store).addSecret('a', { ...SECRET, endsAt })
    const ids = (await secretsOf(store, 'a')).map(({ id }) => id)
    for (const [n, lastUsedAt] of [START + 1, NOW, NOW - 1].entries())
      await store.recordSecretUses([{ secretId: ids[n] as number, lastUsedAt }])
    const listed = async (now: number) =>
      (await store.listEndingSecrets(now, SOON, 9)).map(({ secretId }) => names[ids.indexOf(secretId)])
    t.strictSame(await listed(NOW), ['ends first'], 'though others were used since')
    t.strictSame(await listed(NOW + 1), ['ends'], 'a day after its last use')
    await on(store).revokeSecret('a', ids[2] as number, NOW + 1)
    t.strictSame(await listed(NOW + 1), [], 'the one used last does not end')
  })

  test('Store: live tokens are counted as a check sees them, unless there are too many', async (t, store) => {
    const from = firstTokenIdAt(START)
    t.equal(await store.countLiveTokens(from, 10), 0)
    const [keys, removed] = [[await newKey(store, 'a'), await newKey(store, 'b')] as const, await newKey(store, 'c')]
    const tokens = Array.from({ length: 250 }, (_, n) => mintToken(keys[0], START + n).stored)
    await Promise.all(tokens.map((token) => store.addToken(token)))
    await store.addToken(mintToken(keys[0], START - 1).stored)
    t.equal(await store.countLiveTokens(from, 250), 250)
    t.equal(await store.countLiveTokens(from, 249), undefined)
    t.equal(await store.countLiveTokens(firstTokenIdAt(START + 240), 10), 10)

    await store.addToken(mintToken(removed, START).stored)
    await on(store).removeApplication('c')
    t.equal(await store.countLiveTokens(from, 300), 250)
    await store.revokeToken(tokens[7]?.id as Buffer, START + 5000)
    t.equal(await store.countLiveTokens(from, 300), 249)
    await store.addToken(mintToken(keys[1], START).stored)
    await on(store).revokeTokens('a', START + 5000)
    t.equal(await store.countLiveTokens(from, 300), 1)
    for (const audience of [null, 'store']) await store.addToken(mintToken(keys[0], START, 1, audience).stored)
    t.equal(await store.countLiveTokens(from, 300), 3)
    await on(store).setStatus('a', 'suspended')
    t.equal(await store.countLiveTokens(from, 300), 1)
  })

  test('Store: its size is known, and it reports no backup and no backlog', async (t, store) => {
    const { size, lastBackupAt } = await store.measure(START)
    t.type(size.database, 'number')
    t.ok(size.log === undefined || size.log >= 0)
    t.equal(lastBackupAt, undefined)
    await t.resolves(store.ping())
    t.equal(await store.backlog(), undefined)
  })
}
