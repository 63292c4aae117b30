import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { readConfig } from '../../../src/config.ts'
import { openStore } from '../../../src/store/open.ts'
import { startDatabases } from '../../support/postgres/postgres.ts'

const { createDatabase } = await startDatabases(t)

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
  const [one, two] = (await openStores(t, 2)) as [Stores[0], Stores[0]] & Stores
  for (let n = 0; n < 200; n++) {
    const id = `id-${n}`
    const added = await Promise.all([
      one.register({ suites: [], applications: [application(id)] }),
      n % 2
        ? two.register({ suites: [suite(id)], applications: [] })
        : two.register({ suites: [], applications: [application(id)] }),
    ])
    const owners = added.reduce((sum, { suites, applications }) => sum + suites.length + applications.length, 0)
    if (owners !== 1) t.equal(owners, 1, id)
    if (n % 7 === 0) await turn()
  }
  const [applications, suites] = await Promise.all([one.countApplications(), one.listSuites({ limit: 1000 })])
  t.equal(applications + suites.length, 200)
  t.ok(suites.length > 0 && applications > 0)
})

t.test('Many nodes: of two that register the same name, where one has it already, one does', async (t) => {
  const [one, two] = (await openStores(t, 2)) as [Stores[0], Stores[0]] & Stores
  for (let n = 0; n < 50; n++) {
    const namesake = (side: string) => ({ ...application(`${side}-${n}`, `name ${n}`), skipNamesake: true })
    const added = await Promise.all([
      one.register({ suites: [], applications: [namesake('one')] }),
      two.register({ suites: [], applications: [namesake('two')] }),
    ])
    const owners = added.flatMap(({ applications }) => applications).length
    if (owners !== 1) t.equal(owners, 1, `${n}`)
  }
  t.equal(await one.countApplications(), 50)
})

t.test('Many nodes: counts that several add at once are all in the sum', async (t) => {
  const stores = await openStores(t, 4)
  const [first] = stores as [Stores[0]] & Stores
  await first?.register({ suites: [], applications: [application('a'), application('b')] })
  const keys = (await first?.listApplications({ limit: 2 }))?.map(({ key }) => key) ?? []
  const changes = (order: typeof keys) =>
    order.map((applicationKey) => ({ applicationKey, hour: 5, issued: 1, refused: 0, lastTokenAt: null }))
  await Promise.all(
    stores.flatMap((store) =>
      Array.from({ length: 25 }, (_, n) => store.addTokenCounts(changes(n % 2 ? keys : keys.toReversed()))),
    ),
  )
  for (const key of keys) t.equal(await first?.countTokens(key, 5), 100)
})
