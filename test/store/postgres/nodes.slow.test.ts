import t from 'tap'
import { mintToken } from '../../../src/domain/token.ts'
import type { Opened } from '../../../src/store/opened.ts'
import { LATEST_POSTGRES } from '../../support/migrations.ts'
import { query } from '../../support/postgres/databases.ts'
import { locationOf } from '../../support/postgres/location.ts'
import { startDatabases } from '../../support/postgres/postgres.ts'
import { findStored, newKey, registerSuites } from '../conformance/harness.ts'
import { open, startStores } from './stores.ts'

const { createEmptyDatabase } = await startDatabases()
const openStores = await startStores(4)

/** Tokens of an application, oldest first. */
async function addTokens(store: Opened, count: number) {
  const key = await newKey(store, 'a')
  const tokens = Array.from({ length: count }, (_, n) => mintToken(key, 1_800_000_000_000 + n).stored)
  await Promise.all(tokens.map((token) => store.addToken(token)))
  return tokens
}

t.test('Many nodes: one of five that open an empty database migrates, and changes are made one by one', async (t) => {
  for (const level of ['repeatable read', 'serializable']) {
    const url = await createEmptyDatabase()
    await query(url, `ALTER ROLE CURRENT_USER SET default_transaction_isolation = '${level}'`)
    const opening = Array.from({ length: 5 }, () => open(t, locationOf(url), { lockTimeout: 10_000 }))
    const stores = (await Promise.all(opening)) as [Opened, ...Opened[]]
    const versions = stores.map(({ migrated }) => migrated.from).sort()
    t.strictSame(versions, [0, ...Array(4).fill(LATEST_POSTGRES)], level)
    t.equal((await query(url, 'SELECT FROM migrations')).length, LATEST_POSTGRES)
    const adding = Array.from({ length: 30 }, (_, n) => registerSuites(stores[n % 5] as Opened, `s-${n}`))
    await Promise.all(adding)
    t.equal((await stores[0].listSuites({ limit: 100 })).length, 30)
  }
})

t.test('Many nodes: those that revoke the same tokens at once do not deadlock', async (t) => {
  const { stores } = await openStores()
  const tokens = await addTokens(stores[0], 200)
  for (let time = 5; time < 15; time++) {
    const orders = stores.map((_, at) => (at % 2 ? tokens : tokens.toReversed()))
    await Promise.all(stores.flatMap((store, at) => orders[at]?.map(({ id }) => store.revokeToken(id, time))))
  }
  const found = await Promise.all(tokens.map(({ id }) => findStored(stores[0], id)))
  t.ok(found.every((token) => token?.revokedAt === 5))
})

t.test('Many nodes: those that purge at once, while others revoke, delete each token once', async (t) => {
  const { stores } = await openStores()
  const [first, second] = stores
  const tokens = await addTokens(first, 500)
  const kept = tokens.slice(300)
  const firstKept = kept[0]?.issuedAt as number
  let deleted = 0
  async function purge(store: Opened): Promise<void> {
    for (let idle = 0; idle < 5; ) {
      const count = await store.purge('tokens', firstKept, 50)
      deleted += count
      idle = count === 0 ? idle + 1 : 0
    }
  }
  const revocations = tokens.filter((_, at) => at % 10 === 0).map(({ id }) => second.revokeToken(id, 5))
  await Promise.all([...stores.map(purge), ...revocations])
  t.equal(deleted, 300)
  t.equal(await first.purge('tokens', firstKept, 1), 0)
  const found = await Promise.all(kept.map(({ id }) => findStored(second, id)))
  t.notOk(found.includes(undefined))
})
