import t from 'tap'
import type { ApplicationKey } from '../../../src/domain/application.ts'
import { mintToken } from '../../../src/domain/token.ts'
import { DELETE_ALL, keepClient } from '../../support/postgres/databases.ts'
import { locationOf } from '../../support/postgres/location.ts'
import { startProxy } from '../../support/postgres/proxy.ts'
import { storeConformance } from '../conformance/conformance.ts'
import { newLocation, open } from './stores.ts'

const OPTIONS = { lockTimeout: 2000 }

t.test('in PostgreSQL', async (t) => {
  // All tests share one database and two stores: a new database would take longer than most of them.
  const { url, location } = await newLocation()
  const [one, other] = [await open(t, location, OPTIONS), await open(t, location, OPTIONS)]
  const hand = await keepClient(t, url)
  const empty = () => hand.query(DELETE_ALL)
  const change = async (how: string) => void (await hand.query(`ALTER TABLE audit_events ${how}`))
  storeConformance(t, {
    open: () => empty().then(() => one),
    openTwo: () => empty().then(() => [one, other]),
    async openFragile(t) {
      await empty()
      const proxy = await startProxy(t, Number(new URL(url).port))
      const store = await open(t, locationOf(proxy.through(url)), OPTIONS)
      return { store, breakDown: proxy.refuse, recover: proxy.heal }
    },
    async openWithoutAudit() {
      await empty()
      return {
        store: one,
        refuse: () => change('ADD CONSTRAINT refused CHECK (false) NOT VALID'),
        accept: () => change('DROP CONSTRAINT refused'),
      }
    },
  })
})

t.test('PostgreSQL: the store answers whether it is ready while as many checks wait as may wait', async (t) => {
  const { location } = await newLocation()
  const store = await open(t, location, OPTIONS)
  const checks = Array.from({ length: 8192 }, () => store.findToken(Buffer.alloc(16)))
  await t.rejects(store.findToken(Buffer.alloc(16)), { message: '8192 requests are already waiting' })
  await t.resolves(store.ping())
  t.equal((await Promise.all(checks)).length, 8192)

  const newToken = () => mintToken(0 as unknown as ApplicationKey, Date.now()).stored
  const tokens = Array.from({ length: 4096 }, () => store.addToken(newToken()))
  await t.rejects(store.addToken(newToken()), { message: '4096 requests are already waiting' })
  await t.resolves(store.ping(true), 'a write that is tried passes, too')
  t.equal((await Promise.all(tokens)).length, 4096)
})
