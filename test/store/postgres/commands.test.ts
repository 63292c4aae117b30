import t from 'tap'
import type { Event } from '../../../src/domain/events.ts'
import { openStore } from '../../../src/store/open.ts'
import { AUDIT } from '../../support/audit.ts'
import { logged } from '../../support/logged.ts'
import { holdOpen, query } from '../../support/postgres/databases.ts'
import { locationOf } from '../../support/postgres/location.ts'
import { startDatabases } from '../../support/postgres/postgres.ts'

const { createDatabase } = await startDatabases()

const SECRET = { digest: '$sha256$AAAA', createdAt: 1 }
const suite = (suiteId: string) => ({ suiteId, name: 'S', createdAt: 1, secret: SECRET })

t.test(
  'Changes: one that waits for another says so in the end, however long that is, and the session lives on',
  async (t) => {
    const url = await createDatabase()
    const events: Event[] = []
    // As long as a command waits.
    const store = await openStore(locationOf(url), { lockTimeout: 10_000, observe: (event) => events.push(event) })
    t.teardown(() => store.close())
    const end = await holdOpen(t, url, 'SELECT registry FROM changes FOR UPDATE')
    await t.rejects(store.register({ suites: [suite('s')], applications: [] }, AUDIT), {
      name: 'StoreUnavailable',
      message: /55P03, .*\(another node or command is changing the same, or a pg_dump uses it: wait until/,
    })
    await end()
    t.strictSame(logged(events), [])
    t.match(await store.register({ suites: [suite('s')], applications: [] }, AUDIT), { suites: [{ suiteId: 's' }] })
  },
)

t.test(
  'Changes: those of many nodes are made one by one, also where the role has a higher isolation level',
  async (t) => {
    for (const level of ['repeatable read', 'serializable']) {
      const url = await createDatabase()
      await query(url, `ALTER ROLE CURRENT_USER SET default_transaction_isolation = '${level}'`)
      const opening = Array.from({ length: 5 }, () => openStore(locationOf(url), { lockTimeout: 10_000 }))
      const stores = await Promise.all(opening)
      for (const store of stores) t.teardown(() => store.close())
      t.equal(stores.filter(({ migrated }) => migrated.from === 0).length, 1)
      const suites = Array.from({ length: 50 }, (_, n) => suite(`s-${n}`))
      await Promise.all(suites.map((suite, n) => stores[n % 5]?.register({ suites: [suite], applications: [] }, AUDIT)))
      t.equal((await stores[0]?.listSuites({ limit: 100 }))?.length, 50)
    }
  },
)
