import type { Test } from 'tap'
import type { Store } from '../../../src/domain/store.ts'
import { AUDIT, on } from '../../support/on.ts'
import { START } from '../../support/world.ts'
import { endsOf, type Harness, IMPORTED, onEmptyStore, PAGE, register, registerSuites, SECRET } from './harness.ts'

const HOUR = 3_600_000
const LINK = { digest: 'code', endsAt: START + HOUR }
const later = (time: number) => ({ ...AUDIT, at: START + time })

export function handOverConformance(t: Test, harness: Harness): void {
  const test = onEmptyStore(t, harness)

  test('Store: a hand-over link adds one secret, once, and the others end', async (t, store) => {
    await register(store, 'a', 'b')
    const id = (await on(store).makeHandOver('a', LINK)) as number
    const link = { madeBy: 'anna', overlapSeconds: 60 }
    const found = { ...link, clientId: 'a', name: 'Application a', status: 'active' }
    t.strictSame(await store.findHandOverLink('code'), found)
    const listed = [{ id, ...link, createdAt: START, endsAt: START + HOUR }]
    t.strictSame(await store.listHandOverLinks('a'), listed)
    t.strictSame([await store.listHandOverLinks('b'), await store.listHandOverLinks('nobody')], [[], []])
    t.equal(await on(store).useHandOver('b', 'code', SECRET), undefined, 'of another application')
    t.equal(await on(store).useHandOver('a', 'x', SECRET), undefined)
    t.strictSame(await endsOf(store, 'a'), [null])
    t.equal(await on(store).useHandOver('a', 'code', SECRET, later(1)), id)
    t.strictSame(await endsOf(store, 'a'), [START + 60_001, null])
    t.equal(await on(store).useHandOver('a', 'code', SECRET, later(2)), undefined)
    t.strictSame([await store.findHandOverLink('code'), await store.listHandOverLinks('a')], [undefined, []])
    t.equal((await endsOf(store, 'a')).length, 2)
  })

  const ENDINGS: Record<string, (store: Store, linkId: number) => Promise<unknown>> = {
    'withdrawn link': (store, linkId) => on(store).withdrawHandOver('a', linkId),
    'link of a suspended application': (store) => on(store).setStatus('a', 'suspended'),
    'link of a removed application': (store) => on(store).removeApplication('a'),
    'link of a removed operator': async (store) => {
      await on(store).addOperator({ name: 'anna', role: 'admin', createdAt: START })
      await on(store).removeOperator('anna')
    },
    'link of an operator who became a viewer': async (store) => {
      const operator = 'anna'
      await on(store).addOperator({ name: operator, role: 'admin', createdAt: START })
      await store.change({ type: 'operator updated', operator, role: 'admin', email: 'a@b.example' }, AUDIT)
      if ((await store.listHandOverLinks('a')).length !== 1) throw new Error('The role is the same.')
      await store.change({ type: 'operator updated', operator, role: 'viewer' }, AUDIT)
    },
    'link of an application whose secrets ended at once': (store) => {
      const rotation = { secret: { ...SECRET, digest: '$sha256$ANOTHER' }, othersEndAt: START, deleteEndedBefore: 0 }
      return store.change({ type: 'secret rotated', owner: 'a', ...rotation }, AUDIT)
    },
  }
  for (const [what, end] of Object.entries(ENDINGS)) {
    test(`Store: a ${what} adds no secret, nor does an expired one`, async (t, store) => {
      await register(store, 'a', 'b')
      const id = (await on(store).makeHandOver('a', LINK)) as number
      t.equal(await on(store).withdrawHandOver('b', id), false, 'only under its application')
      t.equal(await on(store).useHandOver('a', 'code', SECRET, later(HOUR)), undefined, 'it has expired')
      await on(store).removeOperator('anna')
      t.match(await store.listHandOverLinks('a'), [{ id }], 'a command has made it, not an operator')
      await end(store, id)
      t.equal(await on(store).useHandOver('a', 'code', SECRET), undefined)
      t.equal(await on(store).withdrawHandOver('a', id), what === 'link of a suspended application')
    })
  }

  test('Store: making, withdrawing and using a hand-over link are audited, without its code', async (t, store) => {
    await register(store, 'a')
    const first = (await on(store).makeHandOver('a', LINK)) as number
    await on(store).withdrawHandOver('a', first)
    await on(store).makeHandOver('a', LINK)
    const author = { ...AUDIT.author, origin: 'hand-over link' } as const
    await on(store).useHandOver('a', 'code', SECRET, { ...AUDIT, author })
    const [used, , withdrawn, made] = await store.listAuditEvents(PAGE)
    const subject = { kind: 'application', id: 'a' }
    const links = { hand_over_links: [{ id: first, ends_at: new Date(START + HOUR).toISOString() }] }
    t.match(made, { action: 'hand-over link made', subject, before: { hand_over_links: [] }, after: links })
    t.match(withdrawn, { action: 'hand-over link withdrawn', subject, before: links, after: { hand_over_links: [] } })
    t.match(used, { action: 'hand-over link used', origin: 'hand-over link', subject })
    t.strictSame(Object.keys(used?.after ?? {}), ['secrets'])
    t.notMatch(JSON.stringify(await store.listAuditEvents(PAGE)), /code"|DIGEST/)
  })

  test('Store: expired hand-over links are purged', async (t, store) => {
    await register(store, 'a')
    for (const time of [1, 3]) await on(store).makeHandOver('a', { digest: `${time}`, endsAt: START + time })
    t.equal(await store.purge('sign-ins', START + 2, 10), 1)
    t.match(await store.listHandOverLinks('a'), [{ endsAt: START + 3 }])
  })

  test('Store: the secrets of all owners are listed with their last use, without digests', async (t, store) => {
    await registerSuites(store, 'store')
    await register(store, 'a')
    await on(store).addSecret('a', { digest: IMPORTED, createdAt: START + 5, endsAt: START + 9 })
    const [ofSuite, generated, imported] = await store.listOwnedSecrets(PAGE)
    const all = { endsAt: null, revokedAt: null, lastUsedAt: null, origin: 'generated' }
    t.match(ofSuite, { ...all, kind: 'suite', owner: 'store', name: String })
    t.match(generated, { ...all, kind: 'application', owner: 'a', name: 'Application a' })
    t.match(imported, { owner: 'a', origin: 'imported', createdAt: START + 5, endsAt: START + 9 })
    const id = generated?.id as number
    await store.recordSecretUses([{ secretId: id, lastUsedAt: START + 7, lastUsedFrom: '::1' }])
    await on(store).revokeSecret('a', id, START + 8)
    const used = { id, lastUsedAt: START + 7, lastUsedFrom: '::1', revokedAt: START + 8 }
    t.match(await store.listOwnedSecrets({ after: ofSuite?.id, limit: 1 }), [used])
    t.notMatch(JSON.stringify(await store.listOwnedSecrets(PAGE)), /DIGEST/)
  })
}
