import t, { type Test } from 'tap'
import { openStore } from '../../../src/store/open.ts'
import { emptyDatabase, query } from '../../support/postgres/databases.ts'
import { locationOf } from '../../support/postgres/location.ts'
import { startDatabases } from '../../support/postgres/postgres.ts'
import { startProxy } from '../../support/postgres/proxy.ts'
import { storeConformance } from '../conformance/conformance.ts'

const { createDatabase } = await startDatabases()

async function open(t: Test, url: string) {
  const store = await openStore(locationOf(url), { lockTimeout: 2000 })
  t.teardown(() => store.close())
  return store
}

t.test('in PostgreSQL', async (t) => {
  // All rules are tested on one database with two stores: a new one would take longer than most of them.
  const url = await createDatabase()
  const [one, other] = [await open(t, url), await open(t, url)]
  const change = async (how: string) => void (await query(url, `ALTER TABLE audit_events ${how}`))
  storeConformance(t, {
    async open() {
      await emptyDatabase(url)
      return one
    },
    async openTwo() {
      await emptyDatabase(url)
      return [one, other]
    },
    async openFragile(t) {
      await emptyDatabase(url)
      const proxy = await startProxy(t, Number(new URL(url).port))
      return { store: await open(t, proxy.through(url)), breakDown: proxy.refuse, recover: proxy.heal }
    },
    async openWithoutAudit() {
      await emptyDatabase(url)
      return {
        store: one,
        refuse: () => change('ADD CONSTRAINT refused CHECK (false) NOT VALID'),
        accept: () => change('DROP CONSTRAINT refused'),
      }
    },
  })
})
