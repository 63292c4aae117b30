import t from 'tap'
import type { Event } from '../../../src/domain/events.ts'
import { createEventCounter } from '../../../src/telemetry/metrics/count-events.ts'
import { createCounters } from '../../../src/telemetry/metrics/counters.ts'
import { createHistory, quantile } from '../../../src/telemetry/metrics/history.ts'
import { NO_TRAFFIC } from '../../support/statistics.ts'
import { START } from '../../support/world.ts'

/** A history whose clock starts at START, which is the start of a minute. */
function createWatch() {
  const clock = { time: START, monotonic: 5000 }
  const counters = createCounters()
  const count = createEventCounter(counters)
  const history = createHistory(counters, { now: () => clock.time, monotonic: () => clock.monotonic })

  /** Lets seconds pass without a sample. */
  function skip(seconds: number): void {
    clock.time += seconds * 1000
    clock.monotonic += seconds * 1000
  }

  /** Lets seconds pass, with a sample in each. */
  function pass(seconds: number): void {
    for (let n = 0; n < seconds; n++) {
      skip(1)
      history.takeSnapshot()
    }
  }

  const issue = (times = 1) => {
    for (let n = 0; n < times; n++) count({ type: 'token issued' } as Event)
  }
  const answer = (endpoint: string, seconds: number) =>
    count({ type: 'request answered', endpoint, status: 200, seconds } as Event)
  /** The tokens of each known window, by how long ago it ended. */
  const known = (all: ReturnType<typeof history.read>['minutes'], age: (endedAt: number, index: number) => number) => {
    const ages = all.map(({ endedAt, traffic }, index) => [age(endedAt, index), traffic?.tokens])
    return Object.fromEntries(ages.filter(([, tokens]) => tokens !== undefined))
  }
  /** Of each minute, by how many minutes ago it ended. */
  const tokens = () => known(history.read().minutes, (_, index) => 60 - index)
  /** Of each window of 60 seconds, by how many seconds ago it ended. */
  const lastTenMinutes = () => known(history.read().lastTenMinutes, (endedAt) => (clock.time - endedAt) / 1000)
  return { clock, counters, count, history, pass, skip, issue, answer, tokens, lastTenMinutes }
}

t.test('History: without any counts the sums are zero, and minutes before the start are unknown', async (t) => {
  const { history } = createWatch()
  const { lastMinute, lastHour, refusals, minutes } = history.read()
  t.strictSame({ lastMinute, lastHour, refusals }, { lastMinute: NO_TRAFFIC, lastHour: NO_TRAFFIC, refusals: [] })
  t.equal(minutes.length, 61)
  const known = minutes.filter(({ traffic }) => traffic)
  t.strictSame(known, [{ endedAt: START, traffic: NO_TRAFFIC }])
  t.equal(minutes[59]?.endedAt, START, 'minutes end where those of the clock do')
  t.equal(minutes[0]?.endedAt, START - 59 * 60_000)
})

t.test('History: a token is counted at once, and stays in its minute for an hour', async (t) => {
  const { history, pass, issue, tokens } = createWatch()
  issue()
  t.equal(history.read().lastMinute.tokens, 1)
  t.strictSame(tokens(), { 0: 1 })
  pass(59)
  t.equal(history.read().lastMinute.tokens, 1)
  pass(2)
  t.equal(history.read().lastMinute.tokens, 0)
  t.equal(history.read().lastHour.tokens, 1)
  t.strictSame(tokens(), { 1: 1, 0: 0 })
  issue(3)
  pass(61)
  t.strictSame(tokens(), { 2: 1, 1: 3, 0: 0 })
  pass(58 * 60)
  t.equal(history.read().lastHour.tokens, 4)
  t.match(tokens(), { 60: 1, 59: 3, 58: 0, 1: 0 })
  pass(60)
  t.equal(history.read().lastHour.tokens, 3)
})

t.test('History: counts from a gap without samples are in the sums, but in no minute', async (t) => {
  const { history, pass, skip, issue, tokens } = createWatch()
  issue()
  pass(60)
  skip(150)
  issue(5)
  pass(1)
  t.equal(history.read().lastHour.tokens, 6)
  t.strictSame(tokens(), { 3: 1, 0: 0 }, 'it is not known when')
  pass(90)
  t.strictSame(tokens(), { 5: 1, 1: 0, 0: 0 })
  skip(3 * 60 * 60)
  t.strictSame([history.read().lastMinute.tokens, history.read().lastHour.tokens], [0, 0])
  t.strictSame(tokens(), { 0: 0 }, 'what is older than an hour is forgotten')
})

t.test('History: setting the clock shifts the hour without gaps', async (t) => {
  const { clock, history, pass, issue, tokens } = createWatch()
  issue(2)
  pass(60)
  clock.time -= 7 * 60 * 60 * 1000
  issue()
  pass(61)
  t.strictSame(tokens(), { 2: 2, 1: 1, 0: 0 })
  t.equal(history.read().minutes[59]?.endedAt, clock.time - 1000)
})

t.test('History: it has checks, refusals by reason, and durations of requests', async (t) => {
  const { history, count, answer } = createWatch()
  for (const type of ['check passed', 'check passed'] as const) count({ type } as Event)
  for (const reason of ['expired token', 'no such suite']) count({ type: 'token refused', reason } as Event)
  for (let n = 0; n < 2; n++) count({ type: 'authentication refused', reason: 'wrong secret' } as Event)
  for (let n = 0; n < 3; n++) count({ type: 'request refused', reason: 'not a form' } as Event)
  for (let n = 0; n < 4; n++) count({ type: 'request failed', reason: 'store unavailable' } as Event)
  count({ type: 'quota refusal' } as Event)
  answer('/v1/oauth/accesstoken', 0.007)
  answer('/v1/oauth/introspect', 0.0001)
  for (const path of ['/v1/oauth/verify', '/v1/oauth/verify/:suite']) answer(path, 60)
  answer('/health/live', 3)
  const { lastHour, refusals } = history.read()
  t.match(lastHour, { activeChecks: 2, inactiveChecks: 2, refusals: 6, failures: 4, checkLatency: { p99Seconds: 10 } })
  t.match(lastHour.tokenLatency, { p50Seconds: 0.0075, p99Seconds: 0.00995 })
  t.strictSame(refusals, [
    { kind: 'failure', reason: 'store unavailable', count: 4 },
    { kind: 'request', reason: 'not a form', count: 3 },
    { kind: 'authentication', reason: 'wrong secret', count: 2 },
    { kind: 'request', reason: 'token quota exceeded', count: 1 },
    { kind: 'check', reason: 'expired token', count: 1 },
    { kind: 'check', reason: 'no such suite', count: 1 },
  ])
})

t.test('History: very high counts are exact', async (t) => {
  const { counters, history, pass, tokens } = createWatch()
  const at = Number(counters.seriesOf('tokens_issued_total')[0]?.at)
  counters.add(at, 2 ** 52)
  pass(61)
  counters.add(at, 1)
  t.strictSame(tokens(), { 1: 2 ** 52, 0: 1 })
  t.equal(history.read().lastHour.tokens, 2 ** 52 + 1)
})

t.test('History: for the last ten minutes it has a 60-second window every ten seconds', async (t) => {
  const { pass, skip, issue, lastTenMinutes } = createWatch()
  t.strictSame(lastTenMinutes(), { 0: 0 })
  pass(9)
  issue()
  pass(6)
  t.strictSame(lastTenMinutes(), { 5: 1, 0: 1 })
  issue(2)
  pass(50)
  t.strictSame(lastTenMinutes(), { 55: 1, 45: 3, 35: 3, 25: 3, 15: 3, 5: 3, 0: 3 })
  pass(20)
  t.match(lastTenMinutes(), { 15: 2, 5: 0, 0: 0 })
  skip(25)
  pass(15)
  t.match(lastTenMinutes(), { 45: 0, 15: 0, 5: 0 })
  t.notOk('25' in lastTenMinutes() || '35' in lastTenMinutes(), 'no samples')
  pass(660)
  t.equal(Object.keys(lastTenMinutes()).length, 61)
})

t.test('History: clock jitter does not shift the minutes', async (t) => {
  const { clock, history, pass } = createWatch()
  pass(60)
  for (const drift of [-0.7, 0.4, 300, -300]) {
    clock.time += drift
    t.equal(history.read().minutes[58]?.endedAt, START, String(drift))
    clock.time -= drift
  }
})

t.test('Quantile: values are interpolated linearly within a bucket, and end at the last bound', async (t) => {
  for (const [share, counts, value] of [
    [0.5, [10, 0, 0, 0], 0.5],
    [0.5, [0, 10, 0, 0], 1.5],
    [0.99, [0, 0, 100, 0], 3.98],
    [0.5, [5, 0, 5, 0], 1],
    [0.75, [5, 0, 5, 0], 3],
    [0.5, [0, 0, 0, 0], undefined],
    [0.99, [1, 0, 0, 1], 4],
  ] as const) {
    t.equal(quantile(share, [...counts], [1, 2, 4]), value, `${share} of ${counts}`)
  }
})
