import t, { type Test } from 'tap'
import { readConfig } from '../../../src/config.ts'
import type { Application } from '../../../src/domain/application.ts'
import { mintToken } from '../../../src/domain/token.ts'
import { openStore } from '../../../src/store/open.ts'
import { AUDIT } from '../../support/audit.ts'
import { startDatabases } from '../../support/postgres/postgres.ts'

const { createDatabase } = await startDatabases()

/** Several nodes' stores on an empty database, opened at once. */
async function openStores(t: Test, count: number) {
  const { DATABASE_URL } = readConfig({ DATABASE_URL: await createDatabase() })
  const opened = Array.from({ length: count }, () => openStore(DATABASE_URL, { lockTimeout: 10_000 }))
  const stores = await Promise.all(opened)
  t.teardown(() => Promise.all(stores.map((store) => store.close())))
  return stores
}

type Stores = Awaited<ReturnType<typeof openStores>>

const SECRET = { digest: '$sha256$AAAA', createdAt: 1 }
const suite = (suiteId: string) => ({ suiteId, name: 'S', createdAt: 1, secret: SECRET })
const application = (clientId: string, name = 'A') => ({
  clientId,
  name,
  developerEmail: 'a@b.example',
  createdAt: 1,
  secret: SECRET,
  suites: [],
  skipNamesake: false,
})

t.test('Many nodes: of five that open an empty database at once one migrates it', async (t) => {
  for (let n = 0; n < 3; n++) {
    const stores = await openStores(t, 5)
    t.equal(stores.filter(({ migrated }) => migrated.from === 0).length, 1)
    t.equal(new Set(stores.map(({ migrated }) => migrated.to)).size, 1)
  }
})

t.test('Many nodes: an id is given once, though two register it at once, as application and as suite', async (t) => {
  const [one, two] = (await openStores(t, 2)) as [Stores[number], Stores[number]]
  for (let n = 0; n < 200; n++) {
    const id = `id-${n}`
    const added = await Promise.all([
      one.register({ suites: [], applications: [application(id)] }, AUDIT),
      n % 2
        ? two.register({ suites: [suite(id)], applications: [] }, AUDIT)
        : two.register({ suites: [], applications: [application(id)] }, AUDIT),
    ])
    const owners = added.reduce((sum, { suites, applications }) => sum + suites.length + applications.length, 0)
    if (owners !== 1) t.equal(owners, 1, id)
  }
  const [applications, suites] = await Promise.all([one.countApplications(), one.listSuites({ limit: 1000 })])
  t.equal(applications + suites.length, 200)
})

t.test('Many nodes: of two that register the same name, where one has it already, one does', async (t) => {
  const [one, two] = (await openStores(t, 2)) as [Stores[number], Stores[number]]
  for (let n = 0; n < 50; n++) {
    const namesake = (side: string) => ({ ...application(`${side}-${n}`, `name ${n}`), skipNamesake: true })
    const added = await Promise.all([
      one.register({ suites: [], applications: [namesake('one')] }, AUDIT),
      two.register({ suites: [], applications: [namesake('two')] }, AUDIT),
    ])
    const owners = added.flatMap(({ applications }) => applications).length
    if (owners !== 1) t.equal(owners, 1, `${n}`)
  }
  t.equal(await one.countApplications(), 50)
})

t.test('Many nodes: counts that several add at once are all in the sum', async (t) => {
  const stores = await openStores(t, 4)
  const [first] = stores as [Stores[number]]
  await first.register({ suites: [], applications: [application('a'), application('b')] }, AUDIT)
  const keys = (await first.listApplications({ limit: 2 }))?.map(({ key }) => key) ?? []
  const changes = (order: typeof keys) =>
    order.map((applicationKey) => ({ applicationKey, hour: 5, issued: 1, refused: 0, lastTokenAt: null }))
  await Promise.all(
    stores.flatMap((store) =>
      Array.from({ length: 25 }, (_, n) => store.addTokenCounts(changes(n % 2 ? keys : keys.toReversed()))),
    ),
  )
  for (const key of keys) t.equal(await first.countTokens(key, 5), 100)
})

/** Tokens of an application, oldest first, on the database of some stores. */
async function addTokens(store: Stores[number], count: number) {
  await store.register({ suites: [], applications: [application('a')] }, AUDIT)
  const { key } = (await store.findApplication('a')) as Application
  const tokens = Array.from({ length: count }, (_, n) => mintToken(key, 1_800_000_000_000 + n).stored)
  await Promise.all(tokens.map((token) => store.addToken(token)))
  return tokens
}

t.test(
  'Many nodes: those that revoke the same tokens at once, in whatever order, do not stand in their way',
  async (t) => {
    const stores = await openStores(t, 4)
    const [first] = stores as [Stores[number]]
    const tokens = await addTokens(first, 300)
    for (let time = 5; time < 25; time++) {
      const orders = stores.map((_, at) => (at % 2 ? tokens : tokens.toReversed()))
      await Promise.all(stores.flatMap((store, at) => orders[at]?.map(({ id }) => store.revokeToken(id, time))))
    }
    for (const { id } of tokens) t.equal((await first.findToken(id))?.stored.revokedAt, 5)
  },
)

t.test(
  'Many nodes: those that purge at once, while others issue and revoke, delete each expired token once',
  async (t) => {
    const stores = await openStores(t, 4)
    const [first, second] = stores as [Stores[number], Stores[number]]
    const tokens = await addTokens(first, 1000)
    const kept = tokens.slice(600)
    const firstKept = kept[0]?.id as Buffer
    let deleted = 0
    async function purge(store: Stores[number]): Promise<void> {
      for (let idle = 0; idle < 5; ) {
        const count = await store.purgeTokens(firstKept, 50)
        deleted += count
        idle = count === 0 ? idle + 1 : 0
      }
    }
    const revocations = tokens.filter((_, at) => at % 10 === 0).map(({ id }) => second.revokeToken(id, 5))
    await Promise.all([...stores.map(purge), ...revocations])
    t.equal(deleted, 600)
    t.equal(await first.purgeTokens(firstKept, 1), 0)
    for (const { id } of kept) t.ok(await second.findToken(id))
  },
)
