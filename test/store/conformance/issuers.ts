import type { Test } from 'tap'
import type { FederatedRule } from '../../../src/domain/federation.ts'
import type { Store } from '../../../src/domain/store.ts'
import { application, DIGEST } from '../../support/newcomers.ts'
import { on } from '../../support/on.ts'
import { credential } from '../../support/workload-issuer.ts'
import { START } from '../../support/world.ts'
import {
  endsOf,
  type Harness,
  onEmptyStore,
  PAGE,
  register,
  registerSuites,
  SECRET,
  secretIdOf,
  secretsOf,
} from './harness.ts'

const ISSUER = 'https://issuer.example'
const KEYS = [{ kty: 'EC', crv: 'P-256', x: 'ü', y: '"' }]
const NEVER = { keys: [], fetchedAt: null, triedAt: null, answeredAt: null, problem: null }
const [MINUTE, LATER] = [60_000, START + 1000]

export function issuerConformance(t: Test, harness: Harness): void {
  const test = onEmptyStore(t, harness)
  const add = (store: Store, owner: string, more: Partial<FederatedRule> = {}, times: { endsAt?: number } = {}) =>
    on(store).addSecret(owner, credential(ISSUER, more, times))

  test('Store: a federated credential is a secret with a rule, of an application only', async (t, store) => {
    await register(store, application('a', { secrets: [] }), 'b')
    await registerSuites(store, 'store')
    const rule = { claims: { 'a.b': 'ü"\\' }, audience: 'x', keys: KEYS }
    t.equal(await add(store, 'a', rule, { endsAt: START + 9 }), true)
    t.equal(await add(store, 'store'), false, 'not of a suite')
    const [one] = await secretsOf(store, 'a')
    const { digest, federated } = credential(ISSUER, rule)
    t.strictSame(one, { id: one?.id, digest, createdAt: START, endsAt: START + 9, revokedAt: null, federated })
    t.match(await secretsOf(store, 'b'), [{ digest: DIGEST, federated: null }])
    t.match(await secretsOf(store, 'store'), [{ federated: null }])
    const listed = await store.listOwnedSecrets(PAGE)
    const ofA = listed.find(({ owner }) => owner === 'a')
    t.match(ofA, { origin: 'federated', federated, endsAt: START + 9, kind: 'application' })
    t.strictSame(
      listed.filter(({ owner }) => owner !== 'a').map((one) => [one.origin, one.federated]),
      [
        ['generated', null],
        ['generated', null],
      ],
    )
    t.strictSame(await store.listOwnedSecrets({ ...PAGE, federated: true }), [ofA])
  })

  test('Store: a rotation ends no federated credential, and the last secret can be revoked beside one', async (t, store) => {
    await register(store, 'a')
    await add(store, 'a')
    for (const othersEndAt of [START + 100, START]) {
      await on(store).rotateSecret('a', SECRET, othersEndAt, 0)
      t.match(await secretsOf(store, 'a'), [{}, { endsAt: null, revokedAt: null }])
    }
    await on(store).makeHandOver('a', { digest: 'code', endsAt: START + 1000 })
    await on(store).useHandOver('a', 'code', SECRET)
    t.equal((await endsOf(store, 'a'))[1], null)
    for (const { id, federated } of await secretsOf(store, 'a'))
      if (!federated) await on(store).revokeSpareSecret('a', id, START + 1)
    const active = (await secretsOf(store, 'a')).filter(({ revokedAt }) => revokedAt === null)
    t.match(active, [{ federated: { issuer: ISSUER } }])
    t.equal(active.length, 1)
    t.equal(await on(store).revokeSpareSecret('a', active[0]?.id as number, START + 1), false, 'the last of all')
  })

  test('Store: an issuer is known while an active credential fetches its keys', async (t, store) => {
    await register(store, 'a', 'b')
    t.equal(await store.findIssuer(ISSUER, LATER), undefined)
    await add(store, 'a', {}, { endsAt: LATER + 5 })
    await add(store, 'a', { keys: KEYS, issuer: 'https://given.example' })
    await add(store, 'b', { issuer: 'https://another.example' })
    t.strictSame(await store.findIssuer(ISSUER, LATER), { issuer: ISSUER, ...NEVER })
    t.equal(await store.findIssuer('https://given.example', LATER), undefined, 'its keys are given')
    t.strictSame(await store.listIssuers(LATER), [
      { issuer: 'https://another.example', ...NEVER },
      { issuer: ISSUER, ...NEVER },
    ])
    t.equal(await store.findIssuer(ISSUER, LATER + 5), undefined, 'the credential has ended')
    await on(store).revokeSecret('b', await secretIdOf(store, 'b', 1), START + 1)
    t.equal(await store.findIssuer('https://another.example', LATER), undefined, 'the credential is revoked')
  })

  test('Store: what ends is a secret or a federated credential', async (t, store) => {
    await register(store, application('a', { secrets: [credential(ISSUER, {}, { endsAt: LATER + 5 })] }))
    t.match(await store.listEndingSecrets(LATER, LATER + 9, 9), [{ what: 'federated credential', id: 'a' }])
  })

  test('Store: the purge forgets issuers that no active credential names', async (t, store) => {
    await register(store, 'a', 'b', 'c')
    const ends = { a: LATER + 5, b: undefined }
    for (const [owner, endsAt] of Object.entries(ends)) {
      const issuer = `https://${owner}.example`
      await add(store, owner, { issuer }, endsAt ? { endsAt } : {})
      t.equal(await store.beginFetch(issuer, LATER), true)
    }
    const purged = (at: number) => store.purge('issuers', at, 10)
    t.equal(await purged(LATER + 4), 0)
    t.equal(await purged(LATER + 5), 1, 'that credential has ended')
    t.equal(await store.beginFetch('https://a.example', LATER), true, 'it is not known any more')
    t.equal(await store.beginFetch('https://b.example', LATER), false)
    await on(store).revokeSecret('b', await secretIdOf(store, 'b', 1), START + 1)
    t.equal(await store.purge('issuers', LATER + 5, 1), 1)
    t.equal(await purged(LATER + 5), 1)
    t.equal(await purged(LATER + 5), 0)
  })

  test('Store: keys are fetched by one process a minute, and those that were fetched stay if that fails', async (t, store) => {
    await register(store, 'a')
    await add(store, 'a')
    const find = () => store.findIssuer(ISSUER, LATER)
    t.equal(await store.beginFetch(ISSUER, LATER), true)
    t.equal(await store.beginFetch(ISSUER, LATER + MINUTE - 1), false)
    t.strictSame(await find(), { issuer: ISSUER, ...NEVER, triedAt: LATER })
    await store.endFetch(ISSUER, { at: LATER + 7, keys: KEYS, problem: null })
    const fetched = {
      issuer: ISSUER,
      keys: KEYS,
      fetchedAt: LATER + 7,
      triedAt: LATER,
      answeredAt: LATER + 7,
      problem: null,
    }
    t.strictSame(await find(), fetched)
    t.equal(await store.beginFetch(ISSUER, LATER + MINUTE), true)
    await store.endFetch(ISSUER, { at: LATER + MINUTE + 1, keys: null, problem: 'it is away' })
    const failed = { triedAt: LATER + MINUTE, answeredAt: LATER + MINUTE + 1, problem: 'it is away' }
    t.strictSame(await find(), { ...fetched, ...failed })
    t.equal(await store.beginFetch(ISSUER, LATER), true, 'the clock was set back by a minute')
    t.equal((await store.listIssuers(LATER)).length, 1)
  })
}
