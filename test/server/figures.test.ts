import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { findTrouble } from '../../src/administration/refusals.ts'
import type { Event } from '../../src/domain/events.ts'
import { ClocksDiffer, type Nodes } from '../../src/domain/store.ts'
import { countLiveTokens, createServerFigures, shareFigure } from '../../src/server/figures.ts'
import { startReporting } from '../../src/server/reporting.ts'
import { startStatistics } from '../../src/server/statistics.ts'
import { createEventCounter } from '../../src/telemetry/metrics/count-events.ts'
import { createCounters } from '../../src/telemetry/metrics/counters.ts'
import type { Sample } from '../../src/telemetry/metrics/fleet.ts'
import { VERSION } from '../../src/version.ts'
import { application } from '../support/newcomers.ts'
import { AUDIT, on } from '../support/on.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { refusal } from '../support/refusal.ts'
import { until } from '../support/until.ts'
import { credential } from '../support/workload-issuer.ts'
import { createWorld, createWorldWithFile, START } from '../support/world.ts'

const HOUR = 60 * 60 * 1000
const DAY = 24 * HOUR

/** A figure that is used for 100 ms, with reads that the test resolves. */
function createFigure(timeout: number, grace?: number) {
  const clock = { time: 0 }
  const questions: PromiseWithResolvers<number>[] = []
  const ask = shareFigure(
    () => {
      const question = Promise.withResolvers<number>()
      questions.push(question)
      return question.promise
    },
    { maxAge: 100, ...(grace && { grace }), timeout, monotonic: () => clock.time },
  )
  return { ask, clock, questions }
}

const fresh = (figure: number) => ({ figure, isFresh: true })

t.test('Shared figure: all callers share a read, and its result until it is too old', async (t) => {
  const { ask, clock, questions } = createFigure(60_000)
  const timers = () => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length
  const before = timers()
  const both = Promise.all([ask(), ask()])
  t.ok(timers() > before)
  clock.time = 50
  questions[0]?.resolve(7)
  t.strictSame(await both, [fresh(7), fresh(7)])
  // Timers of other tests may begin and end meanwhile.
  await until(() => timers() <= before)
  clock.time = 149
  t.strictSame(await ask(), fresh(7), 'its age counts from its arrival')
  t.equal(questions.length, 1)
  clock.time = 150
  const next = ask()
  questions[1]?.resolve(8)
  t.strictSame(await next, fresh(8))
})

t.test('Shared figure: a read that began before another version was asked for does not stand for that', async (t) => {
  const { ask, questions } = createFigure(60_000)
  const both = [ask(1), ask(2)]
  questions[0]?.resolve(7)
  t.strictSame(await Promise.all(both), [fresh(7), fresh(7)])
  const next = ask(2)
  questions[1]?.resolve(8)
  t.strictSame(await next, fresh(8))
  t.strictSame([await ask(2), await ask()], [fresh(8), fresh(8)])
})

t.test('Shared figure: while it is read again, nobody waits until it is older by its grace, too', async (t) => {
  const { ask, clock, questions } = createFigure(60_000, 50)
  const first = ask()
  questions[0]?.resolve(7)
  await first
  clock.time = 149
  t.match(await ask(), { figure: 7 })
  t.equal(questions.length, 2)
  clock.time = 150
  const next = ask()
  questions[1]?.resolve(8)
  t.strictSame(await next, fresh(8))
})

t.test('Shared figure: a read that hangs is not waited for, and not repeated meanwhile', async (t) => {
  const { ask, clock, questions } = createFigure(10)
  for (clock.time of [0, 1000]) t.strictSame(await ask(), { figure: undefined, isFresh: false })
  t.equal(questions.length, 1)
  questions[0]?.resolve(7)
  await turn()
  t.strictSame(await ask(), fresh(7))
  t.equal(questions.length, 1)
})

t.test('Shared figure: after a failed read it keeps its value, and is not fresh', async (t) => {
  const { ask, clock, questions } = createFigure(60_000)
  const first = ask()
  questions[0]?.resolve(7)
  await first
  clock.time = 100
  const second = ask()
  questions[1]?.reject(new Error('gone'))
  t.strictSame(await second, { figure: 7, isFresh: false })
  const third = ask()
  questions[2]?.resolve(8)
  t.strictSame(await third, fresh(8), 'it is read again at once')
})

t.test('Live tokens: a token lives for an hour', async (t) => {
  const { store, token } = await createWorld(t)
  await token()
  t.strictSame(await countLiveTokens(store, () => START + HOUR - 1), { count: 1, isExact: true })
  t.strictSame(await countLiveTokens(store, () => START + HOUR), { count: 0, isExact: true })
})

t.test('Live tokens: a very large number is estimated, and marked as an estimate', async (t) => {
  const { store } = await createWorld(t)
  const estimateAt = (time: number) => countLiveTokens({ ...store, countLiveTokens: async () => undefined }, () => time)
  t.strictSame(await estimateAt(START), { count: 100_000, isExact: false }, 'the counts come later')
  for (const [hour, tokens] of [7, 1_000_000, 200_000].entries())
    await store.addUsage([{ clientId: '', tokens, checks: 0, refusals: 0 }], START + (hour - 2) * HOUR)
  t.strictSame(await estimateAt(START), { count: 1_200_000, isExact: false })
  t.strictSame(await estimateAt(START + 0.75 * HOUR), { count: 450_000, isExact: false })
})

type World = Awaited<ReturnType<typeof createWorld>>
type StatisticsOptions = Parameters<typeof startStatistics>[2]

/** The figures of a server with the clocks of a world, and the statistics that are made of them. */
async function startFigures(t: Test, { clock, store }: World, options: Partial<StatisticsOptions> = {}) {
  const findTrouble = async () => ({ failing: [], reported: [], refusedChecks: [], removed: [] })
  const counters = createCounters()
  const clocks = { now: () => clock.time, monotonic: () => clock.monotonic }
  const { storeFigures, ...figures } = createServerFigures(counters, { expected: 2, serving: () => 1 }, clocks)
  const usual = { storeKind: 'sqlite', name: 'web-1:80', findTrouble, certificates: { list: () => [] } } as const
  const all = { ...figures, storeFigures }
  const { stop, ...statistics } = await startStatistics(store, all, { ...usual, ...options })
  t.teardown(stop)
  const count = createEventCounter(counters)
  return {
    ...storeFigures,
    ...statistics,
    fleet: figures.fleet,
    countToken: () => count({ type: 'token issued' } as Event),
    countFailure: () => count({ type: 'request failed', reason: 'store unavailable' } as Event),
  }
}

/** The same, of a world whose store is a file. */
async function createFigures(t: Test) {
  const world = await createWorldWithFile(t)
  const { clock, store } = world
  const { measure, ...figures } = await startFigures(t, world)
  /** The counters as they are now, and not some seconds ago. */
  function measureNow() {
    clock.monotonic += 15_000
    return measure()
  }
  /** Gives an application or a suite a secret that ends. */
  const endSecret = (owner: string, endsAt: number) =>
    on(store).rotateSecret(owner, { digest: '$sha256$A', createdAt: START, endsAt }, START, 0)
  return { ...world, ...figures, measure, measureNow, endSecret }
}

const NOT_OPEN = 'The database is not open yet, or has not answered for a second.'
const USABLE = { isUp: true, canWrite: true, canCheck: true, problem: undefined }

/** Of an application or suite whose last secret ends. */
const endingIn = (day: number, week: number) =>
  Object.entries({ '1d': day, '7d': week }).map(([within, count]) => [[within], count])

const NONE = [[[], 0]]
const NOTHING = {
  ...{ store_up: NONE, database_bytes: NONE, wal_bytes: NONE, oldest_expired_token_seconds: NONE },
  ...{ secrets_ending: endingIn(0, 0), last_backup_timestamp_seconds: NONE, clock_offset_seconds: NONE },
  audit_head_id: NONE,
}

t.test('Store figures: they describe the store, and all exist before it is open', async (t) => {
  const { measure, measureNow, open, readState, store, clock, token, credentials, endSecret } = await createFigures(t)
  t.strictSame(await measure(), NOTHING)
  t.strictSame(await readState(), { isUp: false, canWrite: false, canCheck: false, problem: NOT_OPEN })
  // A scrape needs no list.
  const refuseList = () => Promise.reject(new Error('not asked for'))
  open({ ...store, listEndingSecrets: refuseList, listNames: refuseList })
  t.strictSame(await readState(), USABLE)
  const { database, log } = (await store.measure(START)).size
  const known = {
    store_up: [[[], 1]],
    database_bytes: [[[], database]],
    wal_bytes: [[[], log]],
    audit_head_id: [[[], 4]],
  }
  t.strictSame(await measure(), { ...NOTHING, ...known }, 'what was unknown is read at once')
  await token()
  clock.time += HOUR + 7000
  t.strictSame((await measureNow()).oldest_expired_token_seconds, [[[], 7]])
  await endSecret(credentials.client_id, START + 2 * DAY)
  t.strictSame((await measureNow()).secrets_ending, endingIn(0, 1))
})

t.test('Store figures: states of applications are counted every 15 seconds, and for another version', async (t) => {
  const { readStates, open, store, clock, administration, credentials } = await createFigures(t)
  t.equal(await readStates(), undefined)
  open(store)
  const states = { heavy: [], all: 1, quiet: 1, suspended: 0 }
  t.strictSame(await readStates(), states)
  await administration.suspend(credentials.client_id)
  clock.monotonic += 14_999
  t.strictSame(await readStates(), states)
  clock.monotonic += 1
  t.strictSame(await readStates(), { heavy: [], all: 1, quiet: 0, suspended: 1 })
  const { resume, suspend } = administration
  await resume(credentials.client_id)
  t.strictSame(await readStates(2), states)
  await suspend(credentials.client_id)
  t.strictSame([await readStates(2), await readStates()], [states, states], 'this version is known')
  t.match(await readStates(3), { suspended: 1 })
})

t.test('Store figures: queries run at most every 15 seconds', async (t) => {
  const { measure, open, store, clock } = await createFigures(t)
  let times = 0
  const measureStore = async (now: number) => {
    times++
    return { ...(await store.measure(now)), lastBackupAt: START }
  }
  open({ ...store, measure: measureStore })
  t.strictSame((await measure()).last_backup_timestamp_seconds, [[[], START / 1000]])
  clock.monotonic += 14_999
  await measure()
  t.equal(times, 1)
  clock.monotonic += 1
  await Promise.all([measure(), measure()])
  t.equal(times, 2)
})

t.test('Store figures: if the store hangs or fails they keep their values, but it is not up', async (t) => {
  const { measureNow, open, store, readState } = await createFigures(t)
  let trouble = async () => {}
  open({
    ...store,
    ping: () => trouble().then(() => store.ping()),
    measure: (now) => trouble().then(() => store.measure(now)),
    clockOffset: () => -1500,
  })
  const before = await measureNow()
  t.strictSame([before.store_up, before.clock_offset_seconds], [[[[], 1]], [[[], -1.5]]])
  const refuse = () => Promise.reject(new Error('gone'))
  const { promise, resolve } = Promise.withResolvers<void>()
  for (trouble of [refuse, () => promise]) {
    t.strictSame(await measureNow(), { ...before, store_up: [[[], 0]] })
    t.equal((await readState()).isUp, false)
  }
  resolve()
  trouble = async () => {}
  t.strictSame(await readState(), USABLE)
})

t.test('Store figures: a store that can only be read is known once requests have failed, in any process', async (t) => {
  const { open, store, other, readState, countFailure } = await createFigures(t)
  open(store)
  other.exec("CREATE TRIGGER full BEFORE UPDATE ON changes BEGIN SELECT RAISE(ABORT, 'no space'); END")
  t.strictSame(await readState(), USABLE, 'this process has written nothing')
  countFailure()
  const problem = /^The database \/.* answered SQLITE_CONSTRAINT_TRIGGER: no space .*\.$/
  for (let time = 0; time < 2; time++)
    t.match(await readState(), { isUp: false, canWrite: false, canCheck: true, problem })
  other.exec('DROP TRIGGER full')
  t.strictSame(await readState(), USABLE)
  const gone = () => Promise.reject(new Error('gone'))
  open({ ...store, ping: gone, findToken: gone })
  t.strictSame(await readState(), { isUp: false, canWrite: false, canCheck: false, problem: 'Gone.' })
  open({ ...store, ping: () => new Promise(() => {}) })
  t.match(await readState(), { isUp: false, canWrite: false, canCheck: true, problem: /^A write is waiting/ })
  open({ ...store, ping: () => Promise.reject(new ClocksDiffer('they differ')) })
  t.strictSame(await readState(), { isUp: false, canWrite: true, canCheck: true, problem: 'They differ.' })
})

const LOAD = { requestsInFlight: 1, connections: 2, scryptRunning: 3, scryptWaiting: 4 }

t.test('Statistics: a server that has just started has all fields, even before its store is open', async (t) => {
  const { read, readTrouble } = await createFigures(t)
  const { minutes, lastTenMinutes, lastMinute, ...rest } = await read()
  t.strictSame(await readTrouble(), rest.trouble)
  t.strictSame([minutes.length, lastTenMinutes.length], [61, 61])
  t.strictSame(rest, {
    ...{
      at: START,
      startedAt: START,
      version: VERSION,
      name: 'web-1:80',
      heavy: [],
      refusals: [],
      outages: [],
      nodes: [],
    },
    ...{
      trouble: { failing: [], reported: [], refusedChecks: [], removed: [] },
      stored: { tokens: 0, checks: 0, refusals: 0 },
    },
    ...{ lastHour: lastMinute, liveTokens: undefined, endingSecrets: undefined, certificates: [], issuers: [] },
    hours: undefined,
    workers: { expected: 2, serving: 1, each: [] },
    store: {
      ...{ kind: 'sqlite', isUp: false, canWrite: false, canCheck: false, problem: NOT_OPEN },
      ...{ databaseBytes: undefined, logBytes: undefined, lastBackupAt: undefined, auditHead: undefined },
    },
  })
})

t.test('Statistics: they show traffic, and the state of processes and store', async (t) => {
  const { read, countToken, open, fleet, store, clock, token, credentials } = await createFigures(t)
  open({ ...store, measure: async (now) => ({ ...(await store.measure(now)), lastBackupAt: START - 1 }) })
  const samples = [
    { cpuSeconds: 0.25, residentBytes: 100, lagSeconds: 0.01 },
    { cpuSeconds: 0.5, residentBytes: 200, lagSeconds: 0.02 },
  ] as const
  await on(store).addSecret(credentials.client_id, credential('https://a.example'))
  await on(store).addSecret(credentials.client_id, credential('https://b.example'))
  await store.beginFetch('https://a.example', START)
  await store.endFetch('https://a.example', { at: START, keys: [], problem: null })
  await store.beginFetch('https://b.example', START)
  await store.endFetch('https://b.example', { at: START, keys: null, problem: 'away' })
  await on(store).addSecret(credentials.client_id, credential('https://c.example'))
  // Nobody has needed its keys for a day.
  await store.beginFetch('https://c.example', START - DAY)
  await store.endFetch('https://c.example', { at: START - DAY, keys: null, problem: 'away' })
  const [first] = samples.map((sample) => {
    const worker = fleet.join()
    worker.take({ counted: [], sample: { ...LOAD, ...sample } })
    return worker
  })
  countToken()
  await token()
  clock.time += 500
  const { auditHead, size } = await store.measure(START)
  const { database, log } = size
  const [one, two] = samples.map((sample, at) => ({ worker: at + 1, ...sample }))
  t.match(await read(), {
    at: START + 500,
    startedAt: START,
    lastMinute: { tokens: 1 },
    issuers: { length: 1, 0: { issuer: 'https://b.example', problem: 'away', fetchedAt: null } },
    workers: { each: [one, two] },
    liveTokens: { count: 1, isExact: true },
    endingSecrets: { inADay: 0, inAWeek: 0, next: [] },
    store: { isUp: true, databaseBytes: database, logBytes: log, lastBackupAt: START - 1, auditHead },
  })
  first?.leave()
  t.strictSame((await read()).workers.each, [two])
})

t.test('Statistics: which clients are failing is kept for 5 seconds, and read anew for another version', async (t) => {
  const world = await createWorld(t)
  const { store, clock, credentials } = world
  const find = () => findTrouble({ store, now: () => clock.time })
  const { readTrouble } = await startFigures(t, world, { findTrouble: find })
  const failing = async (version?: number) => (await readTrouble(version))?.failing.map(({ id }) => id)
  t.strictSame(await failing(), [])
  const id = credentials.client_id
  await store.recordRefusals([refusal(id, { isKnown: true })])
  t.strictSame(await failing(), [])
  t.strictSame(await failing(1), [id])
  t.strictSame(await failing(), [id])
})

t.test('Statistics: owners whose secrets end soon are listed, the next to end first', async (t) => {
  const { read, open, store, credentials, endSecret } = await createFigures(t)
  open(store)
  const id = credentials.client_id
  await endSecret(id, START + DAY)
  await endSecret('store', START + 7 * DAY)
  t.match((await read()).endingSecrets, {
    inADay: 1,
    inAWeek: 2,
    next: [
      { kind: 'application', id, name: 'Störe ✓', endsAt: START + DAY },
      { kind: 'suite', id: 'store', name: 'Store API', endsAt: START + 7 * DAY },
    ],
  })
})

t.test('Statistics: applications that got many tokens in the last 60 minutes are heavy, most first', async (t) => {
  const { read, open, store, credentials, clock } = await createFigures(t)
  await store.register({ suites: [], applications: [application('b'), application('c')] }, AUDIT)
  const counts = { checks: 0, refusals: 0 }
  const clients = { [credentials.client_id]: 361, b: 362, c: 360 }
  const usage = Object.entries(clients).map(([clientId, tokens]) => ({ clientId, tokens, ...counts }))
  await store.addUsage(usage, clock.time)
  open(store)
  t.match((await read()).heavy, {
    length: 2,
    0: { clientId: 'b', name: 'Application b', tokens: 362 },
    1: { clientId: credentials.client_id, tokens: 361 },
  })
})

const failedRequest = (at: number) => ({
  ...{ at, requestId: 'r', reason: 'store unavailable', endpoint: 'other', remoteAddress: '192.0.2.1' },
  ...{ isKnown: false, clientId: undefined, suite: undefined, detail: undefined },
})

t.test('Statistics: the hours since the same one yesterday, of all nodes together', async (t) => {
  const { read, open, store, clock } = await createFigures(t)
  open(store)
  clock.time += 1000
  for (const hour of [0, 1, 24, 25, 26])
    await store.addUsage([{ clientId: '', tokens: hour + 7, checks: 0, refusals: 0 }], START - hour * HOUR)
  const { hours = [] } = await read()
  t.equal(hours.length, 26)
  t.strictSame(
    [0, 1, -2, -1].map((n) => hours.at(n)?.tokens),
    [32, 31, 8, 7],
  )
  t.equal(hours[0]?.since, START - 25 * HOUR)
})

t.test('Statistics: what was stored before a restart is known after it', async (t) => {
  const world = await createWorld(t)
  const { store, credentials, clock } = world
  const [counts, before] = [{ tokens: 1242, checks: 9, refusals: 1 }, START - HOUR / 2]
  await store.addUsage([{ clientId: credentials.client_id, ...counts }], before)
  const times = [before - HOUR, before, before + 59_999]
  await store.recordRefusedRequests(times.map(failedRequest))
  const { read, open, outages } = await startFigures(t, world)
  open(store)
  const stored = [
    { beganAt: before - HOUR, endedAt: before - HOUR, failures: 1 },
    { beganAt: before, endedAt: before + 59_999, failures: 2 },
  ]
  t.match(await read(), { lastHour: { tokens: 0 }, stored: counts, outages: stored })
  t.strictSame(outages(), stored)
  clock.time += HOUR
  t.match(await read(), { stored: { tokens: 0 } }, 'then its own figures are enough')
})

t.test('Statistics: outages before the start are known as soon as the store answers', async (t) => {
  const world = await createWorld(t)
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { clock, store } = world
  const gone = { ...store, listRefusedRequests: () => Promise.reject(new Error('gone')) }
  const { outages, countFailure } = await startFigures(t, { ...world, store: gone })
  await store.recordRefusedRequests([START - HOUR, START - 1].map(failedRequest))
  clock.time += 1000
  countFailure()
  mock.timers.tick(1000)
  t.strictSame(outages(), [{ beganAt: START + 1000, endedAt: START + 1000, failures: 1 }])
  await store.recordRefusedRequests([failedRequest(START + 1000)])
  Object.assign(gone, store)
  const all = [
    { beganAt: START - HOUR, endedAt: START - HOUR, failures: 1 },
    { beganAt: START - 1, endedAt: START + 1000, failures: 2 },
  ]
  await until(() => {
    mock.timers.tick(1000)
    return outages().length > 1
  })
  t.strictSame(outages(), all)
  mock.timers.tick(1000)
  await turn()
  t.strictSame(outages(), all, 'they count once')
})

const { createDatabase } = await startDatabases()

t.test('Statistics: nodes on one PostgreSQL see each other, and which one was killed', async (t) => {
  const world = await createWorld(t, { databaseUrl: await createDatabase() })
  const { clock, store } = world
  const nodes = store.nodes as Nodes
  const start = async (name: string) => {
    const node = await startFigures(t, world, { storeKind: 'postgres', name })
    node.open(store)
    return node
  }
  const [one, ten, two] = [await start('web-1:80'), await start('web-10:80'), await start('web-2:80')]
  const seen = async () => (await one.read()).nodes.map(({ name, isGone }) => (isGone ? `${name}, gone` : name))
  t.strictSame(await seen(), ['web-1:80'], 'no other node has reported yet')

  clock.monotonic += 5000
  two.countToken()
  for (const { thisNode } of [one, two, ten]) await nodes.record(thisNode())
  t.strictSame(await seen(), ['web-1:80', 'web-2:80', 'web-10:80'], 'by their names')
  const at = clock.time
  const [first, second] = (await one.read()).nodes
  t.match(first, { isThis: true })
  const state = { workers: { expected: 2, serving: 1 }, lastMinute: { tokens: 1, checks: 0, refusals: 0 } }
  t.match(second, { isThis: false, version: VERSION, startedAt: at, lastSeenAt: at, ...state })

  clock.time += 30_000
  clock.monotonic += 30_000
  await nodes.record(ten.thisNode())
  t.strictSame(await seen(), ['web-1:80', 'web-2:80', 'web-10:80'])
  clock.time += 1
  t.strictSame(await seen(), ['web-1:80', 'web-2:80, gone', 'web-10:80'])

  clock.monotonic += 5000
  const namesake = await start('web-10:80')
  for (const { thisNode } of [namesake, ten]) await nodes.record(thisNode())
  const starts = (await one.read()).nodes.map(({ name, startedAt }) => `${name} ${startedAt - at}`)
  t.strictSame(starts, ['web-1:80 0', 'web-2:80 0', 'web-10:80 0', 'web-10:80 30001'])

  one.open({ ...store, ping: () => Promise.reject(new Error('gone')) })
  t.strictSame(await seen(), ['web-1:80'], 'only this node is known while the store is away')
})

function startSampling() {
  const samples: Sample[] = []
  const report: Parameters<typeof startReporting>[2] = ({ sample }, onSent) => {
    samples.push(sample)
    onSent?.()
  }
  const { stop } = startReporting(createCounters(), () => LOAD, report)
  return { samples, stop }
}

t.test('Sampler: where the memory cannot be read, the last figure stays', async (t) => {
  const { samples, stop } = startSampling()
  const rss = mock.method(process.memoryUsage, 'rss', () => 7)
  t.teardown(() => rss.mock.restore())
  await stop()
  rss.mock.mockImplementation(() => {
    throw new Error('EMFILE: too many open files, uv_resident_set_memory')
  })
  await stop()
  t.match(samples, [{ residentBytes: 7 }, { residentBytes: 7 }])
})

t.test('Sampler: each sample has the CPU time and the delay since the one before, until it is stopped', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { samples, stop } = startSampling()
  mock.timers.tick(999)
  t.equal(samples.length, 0)
  mock.timers.tick(1)
  const end = performance.now() + 300
  while (performance.now() < end);
  mock.timers.tick(1000)
  await stop()
  mock.timers.tick(60_000)
  t.equal(samples.length, 3)
  const [first, late, last] = samples as [Sample, Sample, Sample]

  t.ok(late.lagSeconds >= 0.2, String(late.lagSeconds))
  t.ok(late.cpuSeconds > 0.01 && late.cpuSeconds < 60, String(late.cpuSeconds))
  t.ok(late.residentBytes > 10_000_000)
  t.match([late, last], [LOAD, LOAD])
  for (const other of [first, last]) t.ok(other.lagSeconds < late.lagSeconds)
  t.ok(last.cpuSeconds < late.cpuSeconds, 'nothing was measured since')
})
