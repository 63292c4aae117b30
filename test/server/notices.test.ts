import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Event } from '../../src/domain/events.ts'
import { OperatorError } from '../../src/domain/operator-error.ts'
import { type Store, StoreUnavailable } from '../../src/domain/store.ts'
import { startNotices } from '../../src/server/notices.ts'
import { openStore } from '../../src/store/open.ts'
import type { Statistics } from '../../src/views/statistics.ts'
import { startReceiver } from '../support/notice.ts'
import { locationOf } from '../support/postgres/location.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { statisticsOf } from '../support/statistics.ts'
import { migratedDatabase } from '../support/temporary-database.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { START } from '../support/world.ts'

const { createDatabase } = await startDatabases()

const MINUTE = 60_000

type NoticeStore = Parameters<typeof startNotices>[0]['store']

const CALM = { failing: [], reported: [], refusedChecks: [], removed: [] }
const SHOP = { kind: 'application', reason: 'wrong secret', count: 3, since: START } as const
const failing = (...ids: string[]) => ({ trouble: { ...CALM, failing: ids.map((id) => ({ ...SHOP, id, name: id })) } })

async function openAt(t: Test, url: string): Promise<Store> {
  const store = await openStore(locationOf(url), { lockTimeout: 5000 })
  t.teardown(() => store.close())
  return store
}

const openNew = (t: Test) => openAt(t, migratedDatabase(t).env.DATABASE_URL)

/** A receiver, what needs attention, a clock, and servers that look every few milliseconds. */
async function createWorld(t: Test) {
  const receiver = await startReceiver(t)
  const clock = { time: START }
  const state: { now: Partial<Statistics> } = { now: {} }
  const looks = { count: 0 }
  const file = join(temporaryFolder(t), 'url')
  writeFileSync(file, `${receiver.url}\n`)
  const events: Event[] = []
  const statistics = {
    async read() {
      looks.count++
      const store = { ...statisticsOf().store, kind: 'postgres' as const }
      return statisticsOf({ store, at: clock.time, ...state.now })
    },
  }
  function startServer(store: NoticeStore, server = 'web-1:80') {
    const { waitingSince, stop } = startNotices({
      ...{ store, statistics, server, consoleUrl: undefined, files: { urlFile: file, secretFile: undefined } },
      ...{ observe: (event) => void events.push(event), now: () => clock.time, interval: 10 },
      monotonic: () => performance.now() + clock.time,
    })
    t.teardown(stop)
    return { waitingSince, stop }
  }
  /** Waits until every server has looked a few times. */
  const looked = async (times = 6) => {
    const before = looks.count
    await until(() => looks.count >= before + times)
  }
  const texts = () =>
    receiver.received.map(({ json: { event, subject } }) => `${event} ${(subject as { id: string })?.id}`)
  const idsOf = () => receiver.received.map(({ headers }) => headers['webhook-id'])
  return { receiver, clock, state, file, events, startServer, looked, texts, idsOf }
}

t.test(
  'Notices: what is seen twice is posted once, and its end once nothing was seen of it for five minutes',
  async (t) => {
    const { receiver, clock, state, events, startServer, looked, texts } = await createWorld(t)
    const { waitingSince } = startServer(await openNew(t))
    await looked()
    t.strictSame(texts(), [])
    state.now = failing('a')
    await until(() => texts().length === 1)
    state.now = failing('a', 'b')
    await until(() => texts().length === 2)
    await looked()
    state.now = failing('b')
    clock.time += 4 * MINUTE
    await looked()
    clock.time += MINUTE
    await until(() => texts().length === 3)
    await looked()
    t.strictSame(texts(), ['began a', 'began b', 'ended a'])
    t.equal(waitingSince(), undefined)
    t.strictSame(new Set(events.map(({ type }) => type)), new Set(['notice delivered']))
    t.match(events[2], {
      event: 'ended',
      matter: 'client refused application a',
      host: `127.0.0.1:${receiver.port}`,
    })
  },
)

t.test('Notices: what is over within a moment is not posted', async (t) => {
  const { state, startServer, looked, texts } = await createWorld(t)
  let reads = 0
  startServer(await openNew(t))
  Object.defineProperty(state, 'now', { get: () => (reads++ % 2 ? failing('flickers') : {}) })
  await looked(20)
  t.strictSame(texts(), [])
})

t.test(
  'Notices: none is lost while the receiver fails, over a restart, and each attempt has the same id',
  async (t) => {
    const { receiver, clock, state, events, startServer, texts, idsOf } = await createWorld(t)
    const store = await openNew(t)
    receiver.answer = (response) => response.writeHead(500).end()
    const first = startServer(store)
    state.now = failing('a', 'b')
    await until(() => texts().length === 1)
    await until(() => events.length === 1)
    t.equal(first.waitingSince(), START)
    const host = `127.0.0.1:${receiver.port}`
    const nextAt = '2027-01-15T08:00:30.000Z'
    t.match(events, [{ type: 'notice not delivered', problem: 'it answered 500', nextAt, host }])
    await first.stop()

    startServer(store)
    receiver.answer = (response) => response.writeHead(429, { 'retry-after': '90' }).end()
    clock.time += 30_000
    await until(() => events.length === 2)
    clock.time += 89_999
    await receiver.close()
    clock.time += 1
    await until(() => events.length === 3)
    t.match(events[2], { problem: /ECONNREFUSED/ })
    const again = await startReceiver(t, receiver.port)
    clock.time += 120_000
    await until(() => again.received.length === 2)
    const ids = idsOf()
    t.strictSame(texts(), ['began a', 'began a'])
    t.strictSame(
      again.received.map(({ json }) => (json.subject as { id: string }).id),
      ['a', 'b'],
    )
    t.strictSame([ids[1], again.received[0]?.headers['webhook-id']], [ids[0], ids[0]])
    t.not(again.received[1]?.headers['webhook-id'], ids[0])

    again.answer = (response) => response.writeHead(500).end()
    state.now = failing('c')
    await until(() => again.received.length > 2)
    clock.time += 8 * 24 * 60 * MINUTE
    await until(() => events.some((event) => event.type === 'notice not delivered' && event.nextAt === undefined))
    t.notMatch(JSON.stringify(events), /S3CRET|K3Y/)
  },
)

t.test(
  'Notices: a server stops at once although the receiver hangs, and the next one posts that notice again',
  async (t) => {
    const { receiver, clock, state, startServer, texts, idsOf, looked } = await createWorld(t)
    const store = await openNew(t)
    receiver.answer = () => {}
    const { stop } = startServer(store)
    state.now = failing('a')
    await until(() => texts().length === 1)
    await stop()
    receiver.answer = (response) => response.end()
    startServer(store)
    await looked()
    t.equal(texts().length, 1, 'the other server may still be about it')
    clock.time += 30_000
    await until(() => texts().length === 2)
    t.equal(idsOf()[1], idsOf()[0])
  },
)

t.test('Notices: of more than 20 in an hour the last one counts those that wait', async (t) => {
  const { receiver, state, events, startServer } = await createWorld(t)
  startServer(await openNew(t))
  state.now = failing(...Array.from({ length: 25 }, (_, n) => `a-${n}`))
  await until(() => events.length === 20)
  t.match(receiver.received.at(-1)?.json, { event: 'counted', count: 6, kinds: { 'client refused': 6 } })
  t.match(events.at(-1), { type: 'notice delivered', event: 'counted', matter: undefined })
})

t.test('Notices: the file of the URL is read each time', async (t) => {
  const { receiver, clock, state, file, events, startServer, texts } = await createWorld(t)
  writeFileSync(file, 'no URL: S3CRET')
  startServer(await openNew(t))
  state.now = failing('a')
  await until(() => events.length === 1)
  t.match(events, [
    { type: 'notice not delivered', problem: /^NOTICE_URL_FILE, .* must have an https URL/, host: undefined },
  ])
  t.notMatch(JSON.stringify(events), /S3CRET/)
  writeFileSync(file, receiver.url)
  clock.time += 30_000
  await until(() => texts().length === 1)
})

t.test('Notices: of several servers on one PostgreSQL one posts each notice, whichever of them see it', async (t) => {
  const { receiver, clock, state, startServer, looked, idsOf, texts } = await createWorld(t)
  const url = await createDatabase()
  const stores = [await openAt(t, url), await openAt(t, url), await openAt(t, url)]
  for (const [at, store] of stores.entries()) startServer(store, `web-${at}:80`)
  const ids = Array.from({ length: 8 }, (_, n) => `app-${n}`)
  state.now = failing(...ids)
  await until(() => texts().length === ids.length)
  await looked(12)
  clock.time += MINUTE
  await looked(12)
  state.now = {}
  // Otherwise what a server saw before would be six minutes old when it is stored.
  await looked(12)
  clock.time += 6 * MINUTE
  await until(() => texts().length === 2 * ids.length)
  await looked(12)
  t.equal(new Set(idsOf()).size, receiver.received.length, 'none is doubled')
  const expected = ids.flatMap((id) => [`began ${id}`, `ended ${id}`])
  t.strictSame(texts().toSorted(), expected.toSorted())
})

t.test('Notices: what is about the store is posted without it, and the others wait in it', async (t) => {
  const { receiver, clock, state, events, startServer, looked, texts, idsOf } = await createWorld(t)
  const store = await openNew(t)
  const fault: { now: Error | undefined } = { now: undefined }
  const refuse = () => Promise.reject(fault.now)
  const fragile: NoticeStore = {
    listNotices: () => (fault.now ? refuse() : store.listNotices()),
    updateNotices: (decide) => (fault.now ? refuse() : store.updateNotices(decide)),
    listEndingSecrets: (...args) => (fault.now ? refuse() : store.listEndingSecrets(...args)),
  }
  receiver.answer = (response) => response.writeHead(500).end()
  const { waitingSince } = startServer(fragile)
  state.now = failing('a')
  await until(() => events.length === 1)

  fault.now = new StoreUnavailable('gone')
  const down = { ...statisticsOf().store, isUp: false, canWrite: false, canCheck: false, problem: 'Gone.' }
  state.now = { ...failing('a'), store: down }
  receiver.answer = (response) => response.end()
  clock.time += MINUTE
  await until(() => texts().length === 2)
  await looked()
  const kinds = () => receiver.received.slice(1).map(({ json: { kind, event } }) => `${event} ${kind}`)
  t.strictSame(kinds(), ['began database unavailable'])
  t.equal(waitingSince(), START)

  fault.now = undefined
  state.now = failing('a')
  await until(() => texts().length === 3)
  t.equal(idsOf()[2], idsOf()[0])
  await looked()
  clock.time += 5 * MINUTE
  await until(() => texts().length === 4)
  t.strictSame(kinds(), ['began database unavailable', 'began client refused', 'ended database unavailable'])
  t.strictSame(
    (await store.listNotices()).map(({ matter, event }) => `${event} ${matter}`),
    ['began client refused application a', 'began outage', 'ended outage'],
  )

  fault.now = new OperatorError('The store moved to another one.')
  state.now = failing('a', 'b')
  await looked()
  t.equal(texts().length, 4, 'the server of the new store posts')
  fault.now = new Error('a bug')
  await until(() => events.some(({ type }) => type === 'notices not recorded'))
})

t.test('Notices: after an outage that all nodes have told, one of them tells its end', async (t) => {
  const { receiver, clock, state, startServer, looked } = await createWorld(t)
  const store = await openNew(t)
  const fault = { isOn: true }
  const ask = <Answer>(answer: () => Promise<Answer>) =>
    fault.isOn ? Promise.reject(new StoreUnavailable('gone')) : answer()
  const fragile: NoticeStore = {
    listNotices: () => ask(store.listNotices),
    updateNotices: (decide) => ask(() => store.updateNotices(decide)),
    listEndingSecrets: (...args) => ask(() => store.listEndingSecrets(...args)),
  }
  state.now = { store: { ...statisticsOf().store, isUp: false, canWrite: false, canCheck: false, problem: 'Gone.' } }
  const nodes = [startServer(fragile, 'web-1:80'), startServer(fragile, 'web-2:80')]
  const events = () => receiver.received.map(({ json: { event, kind, server } }) => `${event} ${kind} ${server}`)
  await until(() => events().length === 2)
  t.strictSame(events().toSorted(), ['began database unavailable web-1:80', 'began database unavailable web-2:80'])
  fault.isOn = false
  state.now = { outages: [{ beganAt: clock.time, endedAt: clock.time, failures: 7 }] }
  await looked(12)
  t.equal(events().length, 2, 'the outage is known')
  state.now = {}
  await looked(12)
  clock.time += 6 * MINUTE
  await until(() => events().length === 3)
  await looked(12)
  t.strictSame([events().length, events()[2]?.slice(0, 26)], [3, 'ended database unavailable'])
  t.strictSame(
    nodes.map(({ waitingSince }) => waitingSince()),
    [undefined, undefined],
  )
})

t.test('Notices: a server whose clock differs posts that, and leaves the rest to the others', async (t) => {
  const { receiver, state, startServer, looked } = await createWorld(t)
  const store = await openNew(t)
  startServer(store)
  const kinds = () => receiver.received.map(({ json: { event, kind } }) => `${event} ${kind}`)
  const differing = { ...statisticsOf().store, isUp: false, canWrite: true, problem: 'They differ.' }
  state.now = { ...failing('a'), store: differing }
  await until(() => kinds().length === 1)
  await looked()
  t.strictSame([kinds(), await store.listNotices()], [['began clocks differ'], []])
  state.now = failing('a')
  await until(() => kinds().length === 2)
  t.strictSame(kinds()[1], 'began client refused')
})

t.test('Notices: what a server posts from memory is forgotten, too', async (t) => {
  const { clock, state, startServer, looked, texts } = await createWorld(t)
  const store = await openNew(t)
  const { waitingSince } = startServer(store)
  state.now = { store: { ...statisticsOf().store, isUp: false, canWrite: true, problem: 'They differ.' } }
  await until(() => texts().length === 1)
  state.now = {}
  await looked()
  clock.time += 6 * MINUTE
  await until(() => texts().length === 2)
  clock.time += 3 * 24 * 60 * MINUTE
  await looked()
  t.equal(waitingSince(), undefined)
  t.strictSame(await store.listNotices(), [])
})
