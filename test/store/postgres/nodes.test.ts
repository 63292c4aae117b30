import { randomUUID } from 'node:crypto'
import t from 'tap'
import { AuthenticationRefused } from '../../../src/domain/refusal.ts'
import { digestGenerated, generateSecret } from '../../../src/domain/secret.ts'
import { NODE_FORGOTTEN_MS, type ServerNode } from '../../../src/domain/statistics.ts'
import type { Nodes, Recalled } from '../../../src/domain/store.ts'
import { mintToken } from '../../../src/domain/token.ts'
import { createIssuer } from '../../../src/issuer/issuer.ts'
import { failures } from '../../support/failures.ts'
import { on } from '../../support/on.ts'
import { serverNode } from '../../support/server-node.ts'
import { findStored, newKey } from '../conformance/harness.ts'
import { startStores } from './stores.ts'

const openStores = await startStores(2)

t.test('A token of a recalled application is added only if the registry has not changed since', async (t) => {
  const { stores } = await openStores()
  const [first, second] = stores
  const key = await newKey(first, 'a')
  const newToken = () => mintToken(key, 1_800_000_000_000).stored
  t.equal(second.recallApplication('a'), undefined, 'not read yet')
  const { application, state } = first.recallApplication('a') as Recalled
  t.equal(application.status, 'active')
  t.equal(await first.addToken(newToken(), state), true)
  await on(second).setStatus('a', 'suspended')
  const [stale, fresh, revoked] = [newToken(), newToken(), newToken()]
  await first.addToken(revoked)
  const written = [first.addToken(stale, state), first.addToken(fresh), first.revokeToken(revoked.id, 5)]
  t.strictSame(await Promise.all(written), [false, true, undefined], 'in one batch')
  t.equal(await findStored(second, stale.id), undefined)
  t.match(await findStored(second, fresh.id), { revokedAt: null })
  t.match(await findStored(second, revoked.id), { revokedAt: 5 })
  await first.findApplication('a')
  t.equal(await first.addToken(newToken(), state), false, 'the cache is in another state')
  const now = first.recallApplication('a') as Recalled
  t.equal(now.application.status, 'suspended')
  t.equal(await first.addToken(newToken(), now.state), true)
  t.equal(await second.addToken(newToken(), now.state), false, 'the state of another process')
})

t.test('Many nodes: a token request sees what another has changed, though it reads from its cache', async (t) => {
  const { stores } = await openStores()
  const [first, second] = stores
  await newKey(first, 'a')
  const secrets = [generateSecret(), generateSecret()] as const
  await on(second).addSecret('a', { digest: digestGenerated(secrets[0]), createdAt: 1 })
  const issuer = createIssuer({ store: first, failures: failures(), observe: () => {}, publicUrl: '', now: Date.now })
  const grant = (clientSecret: string) => issuer.grant({ clientId: 'a', clientSecret }, '192.0.2.1')
  const { client, secretId } = await grant(secrets[0])
  t.match(await grant(secrets[0]), { secretId, token: { expiresIn: 3599 } })
  t.equal((await grant(secrets[0])).client, client, 'from the cache')
  await t.rejects(grant(secrets[1]), new AuthenticationRefused('wrong secret', 'a'))
  await on(second).addSecret('a', { digest: digestGenerated(secrets[1]), createdAt: 2 })
  t.match((await grant(secrets[0])).client.secrets, { length: 3 }, 'read again')
  await grant(secrets[1])
  await issuer.flushUsage(() => {})
  t.equal((await second.listSecretUses([secretId])).length, 1)
  const tokenQuota = { tokens: 1, isReportOnly: false }
  const options = { store: first, failures: failures(), observe: () => {}, publicUrl: '', now: Date.now }
  const limited = createIssuer({ ...options, tokenQuota })
  await on(second).setStatus('a', 'suspended')
  const refused = new AuthenticationRefused('suspended application', 'a')
  const request = { clientId: 'a', clientSecret: secrets[0] }
  await t.rejects(limited.grant(request, '192.0.2.1'), refused, 'also where the quota is used up')
  await t.rejects(grant(secrets[0]), new AuthenticationRefused('suspended application', 'a'))
})

t.test('Many nodes: source addresses and what is only reported count from the next token request on', async (t) => {
  const { stores } = await openStores()
  const [first, second] = stores
  await newKey(first, 'a')
  const clientSecret = generateSecret()
  await on(second).addSecret('a', { digest: digestGenerated(clientSecret), createdAt: 1 })
  const tokenQuota = { tokens: 2, isReportOnly: true }
  const options = { store: first, failures: failures(), observe: () => {}, publicUrl: '', now: Date.now }
  const issuer = createIssuer({ ...options, tokenQuota })
  const grant = (address = '192.0.2.1') => issuer.grant({ clientId: 'a', clientSecret }, address)
  const elsewhere = () => grant('198.51.100.1')
  t.match(await elsewhere(), { isElsewhere: undefined, token: { isOverQuota: false } })
  await on(second).updateApplication('a', { sourceAddresses: ['192.0.2.0/24'], reportOnly: ['source_addresses'] })
  for (const isOverQuota of [false, true, true])
    t.match(await elsewhere(), { isElsewhere: true, token: { isOverQuota } })
  t.match(await grant(), { isElsewhere: undefined })
  await on(second).updateApplication('a', { reportOnly: [] })
  for (let time = 0; time < 2; time++)
    await t.rejects(elsewhere(), new AuthenticationRefused('address not allowed', 'a'))
  t.match(await grant(), { token: { isOverQuota: true } })
})

/** The node lists of two nodes. */
async function openTwo() {
  const [one, two] = (await openStores()).stores
  return [one.nodes as Nodes, two.nodes as Nodes] as const
}

const node = (name: string, more: Partial<ServerNode> = {}) => serverNode({ id: randomUUID(), name, ...more })
const namesOf = async (nodes: Nodes) => (await nodes.list(100)).map(({ name }) => name)

t.test('Server nodes: the others see the last report of a node, and none when it shuts down', async (t) => {
  const [one, two] = await openTwo()
  t.strictSame(await two.list(10), [])
  const first = node('web-1:80', { startedAt: 1000, lastSeenAt: 1500 })
  const second = node('web-2:80', { startedAt: 1000, lastSeenAt: 2000, version: '2.0.0' })
  await one.record(first)
  await two.record(second)
  t.strictSame(await one.list(10), [second, first], 'the last one first')
  const lastMinute = { tokens: 7, checks: 8, refusals: 9 }
  const later = { ...first, lastSeenAt: 3000, workers: { expected: 4, serving: 4 }, lastMinute }
  await one.record(later)
  t.strictSame(await two.list(10), [later, second])
  t.strictSame(await two.list(1), [later])
  for (let time = 0; time < 2; time++) {
    await two.remove(first.id)
    t.strictSame(await one.list(10), [second])
  }
})

t.test('Server nodes: a report deletes an earlier run of its node, and nodes not seen for a day', async (t) => {
  const [one] = await openTwo()
  await one.record(node('web-1:80', { lastSeenAt: 2000 }))
  await one.record(node('web-2:80', { lastSeenAt: 2000 }))
  const next = node('web-1:80', { startedAt: 2001, lastSeenAt: 2001 })
  await one.record(next)
  t.strictSame(await namesOf(one), ['web-1:80', 'web-2:80'])
  t.equal((await one.list(1))[0]?.id, next.id)
  await one.record(node('web-3:80', { lastSeenAt: 2000 + NODE_FORGOTTEN_MS }))
  t.strictSame(await namesOf(one), ['web-3:80', 'web-1:80', 'web-2:80'])
  await one.record(node('web-4:80', { lastSeenAt: 2001 + NODE_FORGOTTEN_MS }))
  t.strictSame(await namesOf(one), ['web-4:80', 'web-3:80', 'web-1:80'])
})

t.test('Server nodes: running nodes with one name do not replace each other, nor block each other', async (t) => {
  const stores = await openTwo()
  const [one, two] = stores
  const [first, second] = [node('web-1:80', { startedAt: 1000 }), node('web-1:80', { startedAt: 3000 })]
  await one.record({ ...first, lastSeenAt: 2000 })
  for (const lastSeenAt of [3000, 4000, 5000]) {
    await two.record({ ...second, lastSeenAt })
    await one.record({ ...first, lastSeenAt })
    t.equal((await one.list(10)).length, 2)
  }
  const nodes = Array.from({ length: 20 }, (_, n) => node(`web-${n % 10}:80`, { startedAt: 1000 + n }))
  for (let round = 0; round < 10; round++) {
    const told = nodes.map((one, n) => (stores[n % 2] as Nodes).record({ ...one, lastSeenAt: 6000 + round * 10 + n }))
    await Promise.all(told)
  }
  t.ok((await one.list(100)).length >= 10)
})
