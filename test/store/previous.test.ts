import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Event } from '../../src/domain/events.ts'
import { StoreUnavailable } from '../../src/domain/store.ts'
import { mintToken } from '../../src/domain/token.ts'
import type { Opened } from '../../src/store/opened.ts'
import { withPrevious } from '../../src/store/previous.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { on } from '../support/on.ts'
import { until } from '../support/until.ts'
import { newKey } from './conformance/harness.ts'

const NOW = Date.now()

type Sqlite = ReturnType<typeof openSqlite>
type Changes = (store: Sqlite) => Partial<Sqlite>
type Options = { lifetime?: number; now?: () => number; ofPrevious?: Changes; ofPresent?: Changes }

/**
 * Two stores that have the same application, as after a copy, and the current one as a server sees it, where some of their
 * functions are others.
 */
async function openBoth(t: Test, { ofPrevious, ofPresent, ...options }: Options = {}) {
  const previous = openSqlite(':memory:', { lockTimeout: 0 })
  const present = openSqlite(':memory:', { lockTimeout: 0 })
  const [key] = [await newKey(present, 'a'), await newKey(previous, 'a')]
  const closed: Event[] = []
  const store = withPrevious(
    { ...present, ...ofPresent?.(present) },
    { ...previous, ...ofPrevious?.(previous) },
    { now: () => NOW, observe: (event: Event) => closed.push(event), ...options },
  )
  t.teardown(() => store.close())
  /** A token that was issued now, in each of some stores. */
  const issue = async (...stores: Opened[]) => {
    const { stored } = mintToken(key, NOW, 0, 'store')
    for (const one of stores) await one.addToken(stored)
    return stored
  }
  return { previous, present, store, closed, issue }
}

t.test('Previous store: a token that only it has is found, with the application of the current store', async (t) => {
  const { previous, present, store, closed, issue } = await openBoth(t)
  await store.ping()
  const token = await issue(previous)
  await on(present).updateApplication('a', { name: 'Renamed' })
  t.match(await store.findToken(token.id), { stored: token, application: { name: 'Renamed' } })
  t.equal(await store.findToken((await issue()).id), undefined)
  await on(present).setStatus('a', 'suspended')
  t.match(await store.findToken(token.id), { application: { status: 'suspended' } })
  await on(present).revokeTokens('a', NOW)
  const found = await store.findToken(token.id)
  t.not(found?.stored.generation, found?.application?.tokenGeneration, 'revoke-all is for the tokens of both')
  await on(present).removeApplication('a')
  const orphan = { stored: token, application: undefined }
  t.match(await store.findToken(token.id), orphan, 'it was removed since')
  await newKey(present, 'a')
  t.match(await store.findToken(token.id), orphan, 'a new application of that client id is another one')
  t.strictSame(closed, [], 'it is asked for at least a lifetime, also where it had no token yet')
})

t.test('Previous store: a token whose application it does not have has no application', async (t) => {
  const { previous, store, issue } = await openBoth(t)
  const token = await issue(previous)
  await on(previous).removeApplication('a')
  t.match(await store.findToken(token.id), { stored: token, application: undefined })
})

t.test('Previous store: a token that is revoked in either store is revoked', async (t) => {
  const { previous, present, store, issue } = await openBoth(t)
  const token = await issue(previous, present)
  const other = await issue(previous, present)
  const revokedAt = async ({ id }: typeof token) => (await store.findToken(id))?.stored.revokedAt
  t.equal(await revokedAt(token), null)
  await previous.revokeToken(token.id, NOW + 1)
  t.equal(await revokedAt(token), NOW + 1)
  for (const one of [token, other]) {
    await present.revokeToken(one.id, NOW + 2)
    t.equal(await revokedAt(one), NOW + 2)
  }
})

t.test('Previous store: a token that only it has is revoked in the current store, once', async (t) => {
  const { previous, present, store, issue } = await openBoth(t)
  const token = await issue(previous)
  await Promise.all([1, 2, 3].map(() => store.revokeToken(token.id, NOW + 1)))
  t.match(await present.findToken(token.id), { stored: { ...token, revokedAt: NOW + 1 } })
  t.match(await previous.findToken(token.id), { stored: token }, 'it is only read')
  await store.revokeToken(token.id, NOW + 2)
  await store.revokeToken((await issue()).id, NOW + 2)
  t.match(await store.findToken(token.id), { stored: { revokedAt: NOW + 1 } })
})

t.test('Previous store: another process may have added the token; any other error is a failure', async (t) => {
  let isTaken = true
  const { previous, present, store, issue } = await openBoth(t, {
    ofPresent: (present) => ({
      async addToken(stored) {
        if (isTaken) await present.addToken(stored)
        throw new StoreUnavailable('the id is taken')
      },
    }),
  })
  const [token, other] = [await issue(previous), await issue(previous)]
  await store.revokeToken(token.id, NOW)
  t.match(await present.findToken(token.id), { stored: { revokedAt: NOW } })
  isTaken = false
  await t.rejects(store.revokeToken(other.id, NOW), StoreUnavailable)
  t.match(await store.findToken(other.id), { stored: { revokedAt: null } })
})

t.test('Previous store: if it cannot be read, only tokens revoked in the current store are answered', async (t) => {
  const gone = () => Promise.reject(new StoreUnavailable('gone'))
  const { present, store, issue } = await openBoth(t, { ofPrevious: () => ({ findToken: gone, ping: gone }) })
  const [token, revoked, missing] = [await issue(present), await issue(present), await issue()]
  await present.revokeToken(revoked.id, NOW)
  await t.rejects(store.findToken(token.id), StoreUnavailable)
  await t.rejects(store.findToken(missing.id), StoreUnavailable)
  await t.rejects(store.revokeToken(missing.id, NOW), StoreUnavailable)
  await t.rejects(store.ping(), StoreUnavailable)
  t.match(await store.findToken(revoked.id), { stored: { revokedAt: NOW } })
})

t.test('Previous store: it is closed when a lifetime has passed and its last token has expired', async (t) => {
  const clock = { time: NOW }
  let looks = 0
  const { previous, present, store, closed, issue } = await openBoth(t, {
    lifetime: 100,
    now: () => clock.time,
    ofPrevious: ({ newestTokenAt }) => ({ newestTokenAt: () => newestTokenAt().finally(() => looks++) }),
  })
  const token = await issue(previous)
  await store.ping()
  await until(() => looks >= 3)
  t.strictSame(closed, [], 'its server may go on issuing for as long as it likes')
  t.match(await store.findToken(token.id), { stored: token })
  clock.time += 100
  await until(() => closed.length > 0)
  t.match(closed, [{ type: 'previous database closed', database: ':memory:', setting: 'PREVIOUS_DATABASE_URL' }])
  await t.rejects(previous.ping(), 'it is closed')
  t.equal(await store.findToken(token.id), undefined)
  await store.revokeToken(token.id, NOW)
  const own = await issue(present)
  t.match(await store.findToken(own.id), { stored: own })
  await store.ping()
})

t.test('Previous store: it stays open while its last token cannot be read', async (t) => {
  let looks = 0
  const { previous, store, closed, issue } = await openBoth(t, {
    lifetime: 60,
    ofPrevious: () => ({
      async newestTokenAt() {
        if (++looks < 3) throw new StoreUnavailable('locked')
        return undefined
      },
      close: () => Promise.reject(new Error('EIO')),
    }),
  })
  await until(() => closed.length > 0)
  t.equal(looks, 3)
  const token = await issue(previous)
  t.equal(await store.findToken(token.id), undefined, 'where closing it fails, the server goes on without it')
})

t.test('Previous store: pending look-ups are answered before it is closed', async (t) => {
  const order: string[] = []
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { previous, present, store, issue, closed } = await openBoth(t, {
    ofPrevious: ({ findToken }) => ({
      async findToken(id) {
        asked.resolve()
        await answer.promise
        order.push('answered')
        return findToken(id)
      },
      async close() {
        order.push('closed')
      },
    }),
  })
  const token = await issue(previous, present)
  const found = store.findToken(token.id)
  await asked.promise
  const closing = store.close()
  await nextTurn()
  answer.resolve()
  t.match(await found, { stored: token })
  await closing
  t.strictSame(order, ['answered', 'closed'])
  t.strictSame(closed, [], 'it is closed by the end')
})
