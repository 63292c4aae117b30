import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Event } from '../../src/domain/events.ts'
import { createServerFigures } from '../../src/server/server-figures.ts'
import { startStatistics } from '../../src/server/statistics.ts'
import { createEventCounter } from '../../src/telemetry/metrics/count-events.ts'
import { createNumbers } from '../../src/telemetry/metrics/numbers.ts'
import { VERSION } from '../../src/version.ts'
import { AUDIT } from '../support/audit.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorld, START } from '../support/world.ts'

const DAY = 24 * 60 * 60 * 1000
const SAMPLE = { requestsInFlight: 0, connections: 0, scryptRunning: 0, scryptWaiting: 0 }

/** The statistics of a real store, at a time that the test decides. */
async function createStatistics(t: Test) {
  const world = await createWorld(t, { databaseUrl: `sqlite:${join(temporaryFolder(t), 'store.db')}` })
  const { clock } = world
  const numbers = createNumbers()
  const count = createEventCounter(numbers)
  const clocks = { now: () => clock.time, monotonic: () => clock.monotonic }
  const figures = createServerFigures(numbers, { expected: 2, serving: () => 1 }, clocks)
  const { read, stop } = startStatistics(figures, { storeKind: 'sqlite' })
  t.teardown(stop)
  return { ...world, figures, read, count: (type: Event['type']) => count({ type } as Event) }
}

t.test('Statistics: a server that has just begun has all of them, before its store is open, too', async (t) => {
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
    store: { kind: 'sqlite', isUp: false, databaseBytes: undefined, logBytes: undefined, lastBackupAt: undefined },
  })
})

t.test('Statistics: what is counted, and how the processes and the store are doing', async (t) => {
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

t.test('Statistics: who has no secret soon is named, the next one first', async (t) => {
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
  t.equal((await read()).endingSecrets?.inADay, 1, 'it is not asked for again so soon')
  clock.monotonic += 1
  t.equal((await read()).endingSecrets?.inADay, 0)
})
