import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Event } from '../../src/domain/events.ts'
import type { Nodes } from '../../src/domain/store.ts'
import { createServerFigures } from '../../src/server/server-figures.ts'
import { startStatistics } from '../../src/server/statistics.ts'
import { createEventCounter } from '../../src/telemetry/metrics/count-events.ts'
import { createNumbers } from '../../src/telemetry/metrics/numbers.ts'
import { VERSION } from '../../src/version.ts'
import { AUDIT } from '../support/audit.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorld, START } from '../support/world.ts'

const DAY = 24 * 60 * 60 * 1000
const SAMPLE = { requestsInFlight: 0, connections: 0, scryptRunning: 0, scryptWaiting: 0 }

/** Statistics of a real store, with a clock that the test controls. */
async function createStatistics(t: Test) {
  const world = await createWorld(t, { databaseUrl: `sqlite:${join(temporaryFolder(t), 'store.db')}` })
  const { clock } = world
  const numbers = createNumbers()
  const count = createEventCounter(numbers)
  const clocks = { now: () => clock.time, monotonic: () => clock.monotonic }
  const figures = createServerFigures(numbers, { expected: 2, serving: () => 1 }, clocks)
  const { read, stop } = startStatistics(figures, { storeKind: 'sqlite', name: 'web-1:8080' })
  t.teardown(stop)
  return { ...world, figures, read, count: (type: Event['type']) => count({ type } as Event) }
}

t.test('Statistics: a server that has just started has all fields, even before its store is open', async (t) => {
  const { read } = await createStatistics(t)
  const { minutes, lately, lastMinute, ...rest } = await read()
  t.strictSame([minutes.length, lately.length], [61, 61])
  t.strictSame(rest, {
    at: START,
    startedAt: START,
    version: VERSION,
    lastHour: lastMinute,
    refusals: [],
    liveTokens: undefined,
    endingSecrets: undefined,
    workers: { expected: 2, serving: 1, each: [] },
    nodes: [],
    store: { kind: 'sqlite', isUp: false, databaseBytes: undefined, logBytes: undefined, lastBackupAt: undefined },
  })
})

t.test('Statistics: they show traffic, and the state of processes and store', async (t) => {
  const { read, count, figures, store, clock, token } = await createStatistics(t)
  figures.ofStore.open({ ...store, lastBackupAt: async () => START - 1 })
  const [first, second] = [figures.fleet.join(), figures.fleet.join()]
  first.take({ counted: [], sample: { ...SAMPLE, cpuSeconds: 0.25, residentBytes: 100, lagSeconds: 0.01 } })
  second.take({ counted: [], sample: { ...SAMPLE, cpuSeconds: 0.5, residentBytes: 200, lagSeconds: 0.02 } })
  count('token issued')
  await token()
  clock.time += 500
  const { database, log } = await store.size()
  t.match(await read(), {
    at: START + 500,
    startedAt: START,
    lastMinute: { tokens: 1 },
    workers: {
      each: [
        { worker: 1, cpuSeconds: 0.25, residentBytes: 100, lagSeconds: 0.01 },
        { worker: 2, cpuSeconds: 0.5, residentBytes: 200, lagSeconds: 0.02 },
      ],
    },
    liveTokens: { count: 1, isExact: true },
    endingSecrets: { inADay: 0, inAWeek: 0, next: [] },
    store: { isUp: true, databaseBytes: database, logBytes: log, lastBackupAt: START - 1 },
  })
  first.leave()
  t.strictSame(
    (await read()).workers.each.map(({ worker }) => worker),
    [2],
  )
})

t.test('Statistics: owners whose secrets end soon are listed, the next to end first', async (t) => {
  const { read, figures, store, administration, credentials, clock } = await createStatistics(t)
  figures.ofStore.open(store)
  const id = credentials.client_id
  await store.rotateSecret(id, { digest: '$sha256$A', createdAt: START, endsAt: START + 3 * DAY }, START, 0, AUDIT)
  const { clientId } = await administration.register({ name: 'Next', developerEmail: 'a@b.example' })
  await store.rotateSecret(clientId, { digest: '$sha256$A', createdAt: START, endsAt: START + DAY }, START, 0, AUDIT)
  t.strictSame((await read()).endingSecrets, {
    inADay: 1,
    inAWeek: 2,
    next: [
      { kind: 'application', id: clientId, name: 'Next', endsAt: START + DAY },
      { kind: 'application', id, name: 'Störe ✓', endsAt: START + 3 * DAY },
    ],
  })
  await store.removeApplication(clientId, AUDIT)
  clock.monotonic += 14_999
  t.equal((await read()).endingSecrets?.inADay, 1, 'it is not requested again so soon')
  clock.monotonic += 1
  t.equal((await read()).endingSecrets?.inADay, 0)
})

const { createDatabase } = await startDatabases()

t.test('Statistics: nodes on one PostgreSQL see each other, and which one was killed', async (t) => {
  const world = await createWorld(t, { databaseUrl: await createDatabase() })
  const { clock, store } = world
  const nodes = store.nodes as Nodes
  const start = (name: string) => {
    const numbers = createNumbers()
    const clocks = { now: () => clock.time, monotonic: () => clock.monotonic }
    const figures = createServerFigures(numbers, { expected: 2, serving: () => 1 }, clocks)
    figures.ofStore.open(store)
    const statistics = startStatistics(figures, { storeKind: 'postgres', name })
    t.teardown(statistics.stop)
    return { ...statistics, figures, count: createEventCounter(numbers) }
  }
  const [one, ten, two] = [start('web-1:80'), start('web-10:80'), start('web-2:80')]
  const seen = async () => (await one.read()).nodes.map(({ name, isThis, isGone }) => ({ name, isThis, isGone }))
  const [first, second, tenth] = [
    { name: 'web-1:80', isThis: true, isGone: false },
    { name: 'web-2:80', isThis: false, isGone: false },
    { name: 'web-10:80', isThis: false, isGone: false },
  ]
  t.strictSame(await seen(), [first], 'no other node has reported yet')

  clock.monotonic += 5000
  two.count({ type: 'token issued' } as Event)
  for (const { thisNode } of [one, two, ten]) await nodes.record(thisNode())
  t.strictSame(await seen(), [first, second, tenth], 'by their names')
  const at = clock.time
  t.match((await one.read()).nodes[1], {
    version: VERSION,
    startedAt: at,
    lastSeenAt: at,
    workers: { expected: 2, serving: 1 },
    lastMinute: { tokens: 1, checks: 0, refusals: 0 },
  })

  clock.time += 30_000
  clock.monotonic += 30_000
  await nodes.record(ten.thisNode())
  t.strictSame(await seen(), [first, second, tenth])
  clock.time += 1
  t.strictSame(await seen(), [first, { ...second, isGone: true }, tenth])

  clock.monotonic += 5000
  const namesake = start('web-10:80')
  for (const { thisNode } of [namesake, ten]) await nodes.record(thisNode())
  t.strictSame(
    (await one.read()).nodes.map(({ name, startedAt }) => `${name} ${startedAt - at}`),
    ['web-1:80 0', 'web-2:80 0', 'web-10:80 0', 'web-10:80 30001'],
  )

  one.figures.ofStore.open({ ...store, ping: () => Promise.reject(new Error('gone')) })
  t.strictSame(await seen(), [first], 'only this node is known while the store is away')
})
