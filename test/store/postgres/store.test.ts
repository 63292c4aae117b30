import t, { type Test } from 'tap'
import { type DatabaseLocation, parseDatabaseUrl } from '../../../src/domain/database-location.ts'
import { openStore } from '../../../src/store/open.ts'
import { query } from '../../support/postgres/databases.ts'
import { startDatabases } from '../../support/postgres/postgres.ts'
import { startProxy } from '../../support/postgres/proxy.ts'
import { storeConformance } from '../conformance.ts'

const { createDatabase } = await startDatabases()

async function open(t: Test, url: string) {
  const store = await openStore(parseDatabaseUrl(url) as DatabaseLocation, { lockTimeout: 2000 })
  t.teardown(() => store.close())
  return store
}

t.test('in PostgreSQL', async (t) =>
  storeConformance(t, {
    open: async (t) => open(t, await createDatabase()),
    openTwo: async (t) => {
      const url = await createDatabase()
      return [await open(t, url), await open(t, url)]
    },
    openFragile: async (t) => {
      const url = await createDatabase()
      const proxy = await startProxy(t, Number(new URL(url).port))
      return { store: await open(t, proxy.through(url)), breakDown: proxy.refuse, recover: proxy.heal }
    },
    openWithoutAudit: async (t) => {
      const url = await createDatabase()
      const change = async (how: string) => void (await query(url, `ALTER TABLE audit_events ${how}`))
      return {
        store: await open(t, url),
        refuse: () => change('ADD CONSTRAINT refused CHECK (false) NOT VALID'),
        accept: () => change('DROP CONSTRAINT refused'),
      }
    },
  }),
)
