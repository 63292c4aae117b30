import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Application } from '../../src/domain/application.ts'
import type { Event } from '../../src/domain/events.ts'
import { StoreUnavailable } from '../../src/domain/store.ts'
import { mintToken, TOKEN_LIFETIME } from '../../src/domain/token.ts'
import type { Opened } from '../../src/store/opened.ts'
import { withPrevious } from '../../src/store/previous.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { AUDIT } from '../support/audit.ts'
import { until } from '../support/until.ts'
import { register } from './conformance/harness.ts'

const NOW = Date.now()

/** Two stores that have the same application, as after a copy, and the present one as a server sees it. */
async function openBoth(t: Test, { lifetime = TOKEN_LIFETIME, now = () => NOW } = {}) {
  const previous = openSqlite(':memory:', { lockTimeout: 0 })
  const present = openSqlite(':memory:', { lockTimeout: 0 })
  for (const store of [previous, present]) await register(store, 'a')
  const application = (await present.findApplication('a')) as Application
  const closed: Event[] = []
  /** How often it was looked whether the previous one is still needed. */
  const looks = { count: 0 }
  const newestTokenAt = () => {
    looks.count++
    return previous.newestTokenAt()
  }
  const options = { now, lifetime, observe: (event: Event) => closed.push(event) }
  const store = withPrevious(present, { ...previous, newestTokenAt }, options)
  t.teardown(() => store.close())
  const mint = (issuedAt = NOW) => mintToken(application.key, issuedAt).stored
  return { previous, present, store, closed, looks, mint }
}

t.test('Previous store: a token that it alone has is found, with the application of the present store', async (t) => {
  const { previous, present, store, mint } = await openBoth(t)
  const token = mint()
  await previous.addToken(token)
  await present.updateApplication('a', { name: 'Renamed' }, AUDIT)
  t.match(await store.findToken(token.id), { stored: token, application: { name: 'Renamed' } })
  t.equal(await store.findToken(mint().id), undefined)
  await present.setStatus('a', 'suspended', AUDIT)
  t.match(await store.findToken(token.id), { application: { status: 'suspended' } })
})

t.test('Previous store: revoke-all in the present store revokes the tokens of both', async (t) => {
  const { previous, present, store, mint } = await openBoth(t)
  const token = mint()
  await previous.addToken(token)
  await present.revokeTokens('a', NOW, AUDIT)
  const found = await store.findToken(token.id)
  t.not(found?.stored.generation, found?.application?.tokenGeneration)
})

t.test('Previous store: a token of an application that was removed since has none, nor a namesake', async (t) => {
  const { previous, present, store, mint } = await openBoth(t)
  const token = mint()
  await previous.addToken(token)
  await present.removeApplication('a', AUDIT)
  t.match(await store.findToken(token.id), { stored: token, application: undefined })
  await register(present, 'a')
  t.match(await store.findToken(token.id), { stored: token, application: undefined })
})

t.test('Previous store: one whose application it does not know itself has none', async (t) => {
  const { previous, store, mint } = await openBoth(t)
  const token = mint()
  await previous.addToken(token)
  await previous.removeApplication('a', AUDIT)
  t.match(await store.findToken(token.id), { stored: token, application: undefined })
})

t.test('Previous store: a token that is revoked in one of the two is revoked', async (t) => {
  const { previous, present, store, mint } = await openBoth(t)
  const token = mint()
  for (const one of [previous, present]) await one.addToken(token)
  t.equal((await store.findToken(token.id))?.stored.revokedAt, null)
  await previous.revokeToken(token.id, NOW + 1)
  t.equal((await store.findToken(token.id))?.stored.revokedAt, NOW + 1)
  await present.revokeToken(token.id, NOW + 2)
  t.equal((await store.findToken(token.id))?.stored.revokedAt, NOW + 2)

  const other = mint()
  for (const one of [previous, present]) await one.addToken(other)
  await present.revokeToken(other.id, NOW + 3)
  t.equal((await store.findToken(other.id))?.stored.revokedAt, NOW + 3)
})

t.test('Previous store: a token that it alone has is revoked in the present store, also by several', async (t) => {
  const { previous, present, store, mint } = await openBoth(t)
  const token = mint()
  await previous.addToken(token)
  await Promise.all([1, 2, 3].map(() => store.revokeToken(token.id, NOW + 1)))
  t.match(await present.findToken(token.id), { stored: { ...token, revokedAt: NOW + 1 } })
  t.match(await previous.findToken(token.id), { stored: token }, 'it is only read')
  t.match(await store.findToken(token.id), { stored: { revokedAt: NOW + 1 } })
  await store.revokeToken(token.id, NOW + 2)
  await store.revokeToken(mint().id, NOW + 2)
  t.match(await store.findToken(token.id), { stored: { revokedAt: NOW + 1 } })
})

t.test('Previous store: that another process has added a token meanwhile is no failure, all else is', async (t) => {
  const { previous, present, mint } = await openBoth(t)
  const token = mint()
  await previous.addToken(token)
  let isTaken = true
  const racing: Opened = {
    ...present,
    async addToken(stored) {
      if (isTaken) await present.addToken(stored)
      throw new StoreUnavailable('the id is taken')
    },
  }
  const store = withPrevious(racing, previous, { now: () => NOW, observe() {} })
  await store.revokeToken(token.id, NOW)
  t.match(await present.findToken(token.id), { stored: { revokedAt: NOW } })
  isTaken = false
  const other = mint()
  await previous.addToken(other)
  await t.rejects(store.revokeToken(other.id, NOW), StoreUnavailable)
  t.match(await store.findToken(other.id), { stored: { revokedAt: null } })
})

t.test('Previous store: where it cannot be read, only what is revoked in the present store is answered', async (t) => {
  const { previous, present, mint } = await openBoth(t)
  const [token, revoked] = [mint(), mint()]
  for (const one of [token, revoked]) await present.addToken(one)
  await present.revokeToken(revoked.id, NOW)
  const gone = () => Promise.reject(new StoreUnavailable('gone'))
  const store = withPrevious(present, { ...previous, findToken: gone, ping: gone }, { now: () => NOW, observe() {} })
  await t.rejects(store.findToken(token.id), StoreUnavailable)
  await t.rejects(store.findToken(mint().id), StoreUnavailable)
  await t.rejects(store.revokeToken(mint().id, NOW), StoreUnavailable)
  await t.rejects(store.ping(), StoreUnavailable)
  t.match(await store.findToken(revoked.id), { stored: { revokedAt: NOW } })
})

t.test('Previous store: it is closed when a lifetime has passed and its last token has expired', async (t) => {
  const clock = { time: NOW }
  const { previous, present, store, mint, closed, looks } = await openBoth(t, { lifetime: 100, now: () => clock.time })
  const token = mint()
  await previous.addToken(token)
  await store.ping()
  await until(() => looks.count >= 3)
  t.strictSame(closed, [], 'its server may go on issuing for as long as it likes')
  t.match(await store.findToken(token.id), { stored: token })
  clock.time += 100
  await until(() => closed.length > 0)
  t.match(closed, [{ type: 'previous database closed', database: ':memory:', setting: 'PREVIOUS_DATABASE_URL' }])
  await t.rejects(previous.ping(), 'it is closed')
  t.equal(await store.findToken(token.id), undefined)
  await store.revokeToken(token.id, NOW)
  const own = mint()
  await present.addToken(own)
  t.match(await store.findToken(own.id), { stored: own })
  await store.ping()
})

t.test('Previous store: it is asked for at least a lifetime, also where it has no token yet', async (t) => {
  const { previous, store, mint, closed } = await openBoth(t, { lifetime: 60_000 })
  await store.ping()
  const token = mint()
  await previous.addToken(token)
  t.match(await store.findToken(token.id), { stored: token })
  t.strictSame(closed, [])
})

t.test('Previous store: where its last token cannot be looked for, it stays open', async (t) => {
  const { previous, present } = await openBoth(t)
  let looks = 0
  const closed: Event[] = []
  const newestTokenAt = async () => {
    if (++looks < 3) throw new StoreUnavailable('locked')
    return undefined
  }
  const options = { now: () => NOW, lifetime: 60, observe: (event: Event) => closed.push(event) }
  const store = withPrevious(present, { ...previous, newestTokenAt }, options)
  t.teardown(() => store.close())
  await until(() => closed.length > 0)
  t.equal(looks, 3)
})

t.test('Previous store: where closing it fails, the server goes on without it', async (t) => {
  const { previous, present, mint } = await openBoth(t)
  const closed: Event[] = []
  const options = { now: () => NOW, lifetime: 60, observe: (event: Event) => closed.push(event) }
  const store = withPrevious(present, { ...previous, close: () => Promise.reject(new Error('EIO')) }, options)
  await until(() => closed.length > 0)
  const token = mint()
  await previous.addToken(token)
  t.equal(await store.findToken(token.id), undefined)
  await store.close()
})

t.test('Previous store: what is being looked up when it is closed is answered first', async (t) => {
  const { previous, present, mint } = await openBoth(t)
  const token = mint()
  for (const one of [previous, present]) await one.addToken(token)
  const order: string[] = []
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow = {
    ...previous,
    async findToken(id: Buffer) {
      asked.resolve()
      await answer.promise
      order.push('answered')
      return previous.findToken(id)
    },
    async close() {
      order.push('closed')
    },
  }
  const store = withPrevious(present, slow, { now: () => NOW, observe: () => t.fail('it is closed by the end') })
  const found = store.findToken(token.id)
  await asked.promise
  const closing = store.close()
  await nextTurn()
  answer.resolve()
  t.match(await found, { stored: token })
  await closing
  t.strictSame(order, ['answered', 'closed'])
})
