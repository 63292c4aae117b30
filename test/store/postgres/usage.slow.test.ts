import t from 'tap'
import type { Application } from '../../../src/domain/application.ts'
import type { Store } from '../../../src/domain/store.ts'
import { HOUR, hourOf } from '../../../src/domain/usage.ts'
import { createTokenCounts } from '../../../src/issuer/token-counts.ts'
import { logged } from '../../support/logged.ts'
import { on } from '../../support/on.ts'
import { holdOpen, query } from '../../support/postgres/databases.ts'
import { refusal } from '../../support/refusal.ts'
import { lastTokenAt } from '../../support/usage.ts'
import { START } from '../../support/world.ts'
import { register, registerSuites, SECRET, secretIdOf, secretsOf } from '../conformance/harness.ts'
import { startStores } from './stores.ts'

const openStores = await startStores(4, 2000)

/** Registers a suite and applications, each with several secrets. */
async function registerAll(store: Store, suiteId: string, clientIds: string[]): Promise<Application[]> {
  await registerSuites(store, suiteId)
  await register(store, ...clientIds)
  for (const owner of [suiteId, ...clientIds]) await on(store).addSecret(owner, SECRET)
  return Promise.all(clientIds.map(async (clientId) => (await store.findApplication(clientId)) as Application))
}

const countOf = ({ key }: Application, lastTokenAt = 7) => ({
  ...{ applicationKey: key, hour: 5, issued: 1, refused: 0, lastTokenAt },
})

t.test('Usage: rows that are being removed are skipped, without waiting for them', async (t) => {
  const { url, events, stores } = await openStores()
  const [store] = stores
  const [one, two] = (await registerAll(store, 's', ['a', 'b'])) as [Application, Application]
  const end = await holdOpen(t, url, "DELETE FROM applications WHERE client_id = 'a'")
  t.match(await store.addTokenCounts([countOf(one), countOf(two)]), [{ issued: 1 }, { issued: 1 }])
  const secretIds = [one, two].map(({ secrets }) => secrets[0]?.id as number)
  const use = { lastUsedAt: 9, lastUsedFrom: '192.0.2.1' }
  await store.recordSecretUses(secretIds.map((secretId) => ({ secretId, ...use })))
  t.equal(await lastTokenAt(store, one.key), undefined)
  t.equal(await lastTokenAt(store, two.key), 7)
  t.strictSame(await store.listSecretUses(secretIds), [{ secretId: secretIds[1], ...use }])
  await query(url, 'UPDATE secret_uses SET last_used_at = 10')
  const byOlder = { secretId: secretIds[1], lastUsedAt: 10, lastUsedFrom: null }
  t.strictSame(await store.listSecretUses(secretIds), [byOlder], 'a server of 1.0.0 knows no address')
  await end()
  await store.addTokenCounts([countOf(one)])
  t.equal(await lastTokenAt(store, one.key), 7)
  t.strictSame(logged(events), [])
})

t.test('Usage: after the clock went over an hour and back, the hour has one count, and its quota holds', async (t) => {
  const [store] = (await openStores()).stores
  const [application] = (await registerAll(store, 's', ['a'])) as [Application]
  const counts = createTokenCounts({ store, tokenQuota: { tokens: 3, isReportOnly: false } })
  const issue = async (at: number) => counts.count(await counts.open(application, at), application, at)
  for (const at of [START, START + HOUR, START]) await issue(at)
  for (let time = 0; time < 2; time++) await counts.flush(START, () => {})
  const stored = await store.listTokenCounts([application.key], hourOf(START))
  t.match(stored, [{ issued: 2 }])
  await issue(START)
  await t.rejects(issue(START), { message: 'token quota exceeded' })
})

t.test('Usage: while rows are locked it is refused as a whole, and checks go on', async (t) => {
  const { url, events, stores } = await openStores()
  const [store] = stores
  const [application] = (await registerAll(store, 's', ['a'])) as [Application]
  await store.addTokenCounts([countOf(application)])
  const secretId = application.secrets[0]?.id as number
  await store.recordSecretUses([{ secretId, lastUsedAt: 1 }])

  const locks = 'UPDATE token_counts SET issued = issued; UPDATE secret_uses SET last_used_at = last_used_at'
  const end = await holdOpen(t, url, locks)
  const refused = { name: 'StoreUnavailable', message: /55P03/ }
  await t.rejects(store.addTokenCounts([countOf(application, 8)]), refused)
  await t.rejects(store.recordSecretUses([{ secretId, lastUsedAt: 2 }]), refused)
  t.equal(await lastTokenAt(store, application.key), 7)
  await store.ping()
  t.strictSame(logged(events), [])

  await end()
  t.match(await store.addTokenCounts([countOf(application, 8)]), [{ issued: 2 }])
  t.equal(await lastTokenAt(store, application.key), 8)
})

t.test('Usage: refusals are recorded by one node at a time', async (t) => {
  const { url, events, stores } = await openStores()
  const [store] = stores
  const unknown = refusal('x... (9 characters)', { isKnown: false, reason: 'unknown client' })
  const end = await holdOpen(t, url, 'SELECT pg_advisory_xact_lock(7033017, 3)')
  await t.rejects(store.recordRefusals([unknown]), { name: 'StoreUnavailable', message: /55P03/ })
  await end()
  await store.recordRefusals([unknown])
  t.strictSame(await store.listRefusals(unknown.clientId), [unknown])
  t.strictSame(logged(events), [])
})

t.test('Usage: it does not deadlock with removals', async (t) => {
  const { events, stores } = await openStores()
  const [first, second, third, fourth] = stores as unknown as [Store, Store, Store, Store]
  for (let round = 0; round < 20; round++) {
    const clientIds = Array.from({ length: 8 }, (_, n) => `a-${round}-${n}`)
    const suiteId = `s-${round}`
    const applications = await registerAll(first, suiteId, clientIds)
    // Changed rows are no longer stored in the order of their ids.
    for (const owner of [suiteId, ...clientIds]) await on(first).revokeSecret(owner, await secretIdOf(first, owner), 5)
    const secrets = [await secretsOf(first, suiteId), ...applications.map(({ secrets }) => secrets)].flat()
    const uses = secrets.map(({ id }) => ({ secretId: id, lastUsedAt: round }))
    const counts = applications.map((application) => countOf(application))
    const usage = clientIds.map((clientId) => ({ clientId, tokens: 1, checks: 1, refusals: 1 }))
    await Promise.all([
      ...[second, third].flatMap((store) => [
        store.recordSecretUses(uses),
        store.addTokenCounts(counts),
        store.recordSecretUses(uses.toReversed()),
        store.addTokenCounts(counts.toReversed()),
        store.addUsage(usage, START),
        store.addUsage(usage.toReversed(), START),
      ]),
      ...clientIds.map((clientId) => on(fourth).removeApplication(clientId)),
      on(fourth).removeSuite(suiteId),
    ])
  }
  t.equal(await first.countApplications(), 0)
  t.strictSame(logged(events), [])
})
