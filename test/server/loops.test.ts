import t, { type Test } from 'tap'
import type { Event } from '../../src/domain/events.ts'
import { type Backlog, type Store, StoreUnavailable } from '../../src/domain/store.ts'
import { mintToken } from '../../src/domain/token.ts'
import { startFlushLoop } from '../../src/server/loops.ts'
import { startPurgeLoop, watchBacklog, watchClock, watchClockOffset } from '../../src/server/purge-loop.ts'
import { logged } from '../support/logged.ts'
import { on } from '../support/on.ts'
import { until } from '../support/until.ts'
import { createWorldWithFile, keyOf, START } from '../support/world.ts'

const HOUR = 3_600_000

/** A world whose store is a file, and how many tokens are in it. */
async function createFileWorld(t: Test) {
  const world = await createWorldWithFile(t)
  const tokens = () => world.other.prepare('SELECT count(*) FROM tokens').pluck().get()
  const issue = (at: number) => world.store.addToken(mintToken(keyOf(1), at).stored)
  return { ...world, tokens, issue }
}

t.test('Flushes: a loop repeats its flush; a failed one is reported', async (t) => {
  const errors: unknown[] = []
  let flushes = 0
  const flush = async () => {
    if (++flushes < 3) throw new Error('full')
  }
  const loop = startFlushLoop(flush, 1, (error) => errors.push(error))
  t.teardown(loop.stop)
  await until(() => flushes > 4)
  t.match(errors, [{ message: 'full' }, { message: 'full' }])
  t.equal(errors.length, 2)
})

t.test('Flushes: a loop that is stopped during a flush flushes once more', async (t) => {
  const [amid, stopped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let flushes = 0
  async function flush(): Promise<void> {
    if (++flushes > 1) return
    amid.resolve()
    await stopped.promise
  }
  const loop = startFlushLoop(flush, 1, (error) => t.fail(String(error)))
  await amid.promise
  const stop = loop.stop()
  stopped.resolve()
  await stop
  t.equal(flushes, 2)
})

t.test('Flushes: a loop that is stopped flushes what is left, and reports if it could not', async (t) => {
  const errors: unknown[] = []
  const options = [1_000_000_000, (error: unknown) => errors.push(error)] as const
  let flushed = 0
  await startFlushLoop(async () => void flushed++, ...options).stop()
  t.strictSame([flushed, errors], [1, []])
  await startFlushLoop(() => Promise.reject(new Error('full')), ...options).stop()
  t.match(errors, [{ message: 'full' }])
})

/** A purge loop that looks every few milliseconds, with two clocks that the test moves. */
async function startLoop(t: Test, start = START, clockOffset = (): number | undefined => 0) {
  const { store, tokens, issue } = await createFileWorld(t)
  const clocks = { wall: start, steady: 0 }
  const events: Event[] = []
  let steps = 0
  const loop = startPurgeLoop({
    store: { ...store, clockOffset },
    now: () => clocks.wall,
    monotonic: () => {
      steps++
      return clocks.steady
    },
    observe: (event) => events.push(event),
    idleDelay: 1,
  })
  t.teardown(loop.stop)

  /** Moves the clocks. Resolves when the loop has looked at them several times. */
  async function pass(wall: number, steady = wall): Promise<void> {
    clocks.wall += wall
    clocks.steady += steady
    const enough = steps + 10
    await until(() => steps > enough)
  }
  return { pass, told: () => logged(events).filter(({ type }) => type !== 'audit head'), tokens, issue, store }
}

t.test('Purge: a clock that is ahead for a while deletes no token', async (t) => {
  const { pass, told, tokens, issue } = await startLoop(t)
  await issue(START)
  await pass(0)
  await pass(2 * HOUR, 0)
  await pass(11_000)
  await pass(-2 * HOUR, 0)
  t.equal(tokens(), 1)
  const jumps = [7200, -7200].map((seconds) => ({ type: 'clock jumped', seconds }))
  t.strictSame(told(), jumps)
})

t.test('Purge: while the clock of the database is unknown or differs, nothing is deleted', async (t) => {
  let offset: number | undefined
  const { pass, tokens, issue } = await startLoop(t, START, () => offset)
  await issue(START - 2 * HOUR)
  for (offset of [undefined, -2 * HOUR]) {
    await pass(0)
    t.equal(tokens(), 1)
  }
  offset = 0
  await pass(0, 10)
  await until(() => tokens() === 0)
})

t.test('Purge: after a jump it goes on when every token that was valid then has expired', async (t) => {
  const { pass, tokens, issue } = await startLoop(t)
  await issue(START)
  await pass(2 * HOUR, 0)
  await pass(HOUR - 1)
  t.equal(tokens(), 1)
  await pass(1)
  await until(() => tokens() === 0)
})

t.test('Purge: a clock that counts from 1970 on does not make it fail', async (t) => {
  const { pass, told, tokens, issue } = await startLoop(t, 0)
  await issue(0)
  await pass(0)
  t.equal(tokens(), 1)
  await pass(HOUR)
  await until(() => tokens() === 0)
  t.strictSame(told(), [])
})

t.test('Purge: setting the clock back ends all sessions and login links; setting it forward ends none', async (t) => {
  const { pass, store } = await startLoop(t)
  await on(store).addOperator({ name: 'anna', role: 'admin', createdAt: START })
  async function begin(): Promise<void> {
    const code = { createdAt: START, endsAt: START + 8 * HOUR }
    for (const digest of ['used', 'code']) await on(store).addLoginCode('anna', { ...code, digest })
    const from = { authenticatedAt: START, remoteAddress: '192.0.2.1', userAgent: 'Browser' }
    await on(store).beginSession('anna', 'used', { digest: 'session', ...code, ...from })
  }
  const left = async () =>
    [await store.findLoginCode('code'), await store.findSession('session')].filter(Boolean).length
  await begin()
  await pass(HOUR, 0)
  t.equal(await left(), 2)
  await pass(-HOUR / 60 - 1, 0)
  await until(async () => (await left()) === 0)
  await begin()
  await pass(0)
  t.equal(await left(), 2, 'sessions that start later are kept')
})

t.test('Purge: in the background, step by step, until the table is empty; a failed step is tried again', async (t) => {
  const { store, clock, other, tokens, issue } = await createFileWorld(t)
  for (const count of [1000, 501]) await Promise.all(Array.from({ length: count }, () => issue(START)))
  const events: Event[] = []
  const observe = (event: Event) => events.push(event)
  const options = { store, now: () => clock.time + HOUR, monotonic: () => 0, observe }
  other.exec('BEGIN IMMEDIATE')
  const hasty = startPurgeLoop(options)
  await until(() => events.length > 0)
  await hasty.stop()
  t.equal(tokens(), 1501)
  other.exec('COMMIT')

  const loop = startPurgeLoop(options)
  await until(() => tokens() === 0)
  await loop.stop()
  const [failed, ...purged] = events
  t.match(failed, { type: 'purge failed', err: { name: 'StoreUnavailable' } })
  const steps = [500, 700, 301].map((count) => ({ type: 'tokens purged', count }))
  t.strictSame(
    purged.filter(({ type }) => type !== 'audit head'),
    steps,
  )
})

/** Calls a watch once a second. Resolves to its events and results of so many seconds. */
function startWatch<Seen>(watch: (monotonic: () => number, observe: (event: Event) => void) => () => Seen) {
  let time = 0
  const events: Event[] = []
  const observe = (event: Event) => events.push(event)
  const look = watch(() => time, observe)
  return async (seconds: number) => {
    events.length = 0
    const seen = new Set<Awaited<Seen>>()
    for (let second = 0; second < seconds; second++) {
      time += 1000
      seen.add(await look())
    }
    return { events: [...events], seen: [...seen] }
  }
}

t.test('Backlog: it is reported once a minute while it lasts, and once when it is over', async (t) => {
  let answer: Backlog | Error | undefined
  let looks = 0
  async function backlog() {
    looks++
    if (answer instanceof Error) throw answer
    return answer
  }
  const lookFor = startWatch((monotonic, observe) => watchBacklog({ store: { backlog } as Store, monotonic, observe }))
  const expectEvents = async (seconds: number, events: Event[], why = '') =>
    t.strictSame((await lookFor(seconds)).events, events, why)
  await expectEvents(60, [])
  t.equal(looks, 6, 'every ten seconds, however often it is called')
  answer = { bytes: 2 ** 26, cause: 'a reader' }
  const line = { type: 'store backlog', ...answer } as const
  await expectEvents(10, [line])
  await expectEvents(50, [])
  await expectEvents(60, [line])
  answer = new StoreUnavailable('gone')
  await expectEvents(60, [], 'requests report that the store is gone')
  answer = undefined
  await expectEvents(60, [{ type: 'store backlog cleared' }])
})

t.test('Clock: a difference of more than a second is reported once a minute, and when it is over', async (t) => {
  let offset: number | undefined
  const lookFor = startWatch((monotonic, observe) =>
    watchClockOffset({ store: { clockOffset: () => offset }, monotonic, observe }),
  )
  t.strictSame(await lookFor(60), { events: [], seen: [false] }, 'it is unknown')
  for (offset of [0, 1000, -1000]) t.strictSame(await lookFor(60), { events: [], seen: [true] })
  offset = 3400
  const differs = { events: [{ type: 'clock differs', seconds: 3 }], seen: [false] }
  for (let minute = 0; minute < 2; minute++) t.strictSame(await lookFor(60), differs)
  offset = 5
  t.strictSame(await lookFor(60), { events: [{ type: 'clock agrees' }], seen: [true] })
  offset = -2000
  t.strictSame(await lookFor(1), { events: [{ type: 'clock differs', seconds: -2 }], seen: [false] })
})

t.test('Clock: a jump is what it moves more or less than the monotonic clock between two looks', async (t) => {
  let wall = START
  let steady = 1000.5
  const jump = watchClock({ now: () => wall, monotonic: () => steady })
  for (const [wallTime, steadyTime, expected, why = ''] of [
    [10_000, 10_000, 0],
    [HOUR, HOUR, 0, 'a long time is no jump'],
    [70_000, 10_000, 0, 'a minute is tolerated'],
    [70_001, 10_000, 60_001],
    [10_000, 10_000, 0, 'each jump is told once'],
    [-7_190_000, 10_000, -7_200_000],
  ] as const) {
    wall += wallTime
    steady += steadyTime
    t.equal(Math.round(jump()), expected, why)
  }
})
