import t from 'tap'
import type { Event } from '../../../src/domain/events.ts'
import { mintToken } from '../../../src/domain/token.ts'
import { openStore } from '../../../src/store/open.ts'
import { keyOf } from '../../support/keys.ts'
import { locationOf } from '../../support/postgres/location.ts'
import { startDatabases } from '../../support/postgres/postgres.ts'
import { START } from '../../support/world.ts'

const { createDatabase } = await startDatabases()

t.test('Measurements: each statement is said with its kind, and each transaction of tokens', async (t) => {
  const events: Event[] = []
  const location = locationOf(await createDatabase())
  const store = await openStore(location, { lockTimeout: 200, observe: (event) => events.push(event) })
  t.teardown(() => store.close())
  /** What an action causes, but for the heartbeats that come meanwhile. */
  async function causedBy(action: () => Promise<unknown>) {
    events.length = 0
    await action()
    for (const event of events) t.ok((event as { seconds: number }).seconds > 0, event.type)
    return events.map((event) => ('kind' in event ? event.kind : `${event.type} ${'size' in event && event.size}`))
  }
  const token = () => mintToken(keyOf(1), START).stored
  const [one, two, three] = [token(), token(), token()]
  const written = await causedBy(() => Promise.all([one, two].map(store.addToken)))
  t.strictSame(written.slice(-2), ['write', 'batch written 2'])
  const both = await causedBy(() => Promise.all([store.revokeToken(one.id, START), store.addToken(three)]))
  t.strictSame(both.slice(-4), ['write', 'batch written 1', 'write', 'batch written 1'])
  t.ok((await causedBy(() => store.findToken(one.id))).includes('read'))
  t.ok((await causedBy(() => store.countApplications())).includes('command'))
})

t.test('Measurements: the size of a database is what it takes up on its server', async (t) => {
  const store = await openStore(locationOf(await createDatabase()), { lockTimeout: 200 })
  t.teardown(() => store.close())
  const { database, log } = await store.size()
  t.ok(database > 1_000_000)
  t.equal(log, undefined)
})
