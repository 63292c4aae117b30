import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Event, Observer } from '../../src/domain/events.ts'
import { createFloods } from '../../src/telemetry/floods.ts'
import { heapUsed } from '../support/heap-used.ts'
import { until } from '../support/until.ts'

const asked = { requestId: 'r', remoteAddress: '192.0.2.1' }
const answered = { status: 400, endpoint: '/', ...asked }
const wrongSecret: Event = { type: 'authentication refused', reason: 'wrong secret', clientId: 'a', ...answered }
const malformed: Event = { type: 'request refused', reason: 'request malformed', field: undefined, ...answered }
const noOperator: Event = { type: 'operator refused', reason: 'unknown key', ...asked }
const tooMany: Event = { ...malformed, reason: 'too many failures' }
const ofNobody = { suite: undefined, clientId: undefined, tokenId: undefined }
const junk: Event = { type: 'token refused', reason: 'malformed token', ...ofNobody, ...asked }

/** A log behind floods, and its events. The default window never ends during a test. */
function createWorld({ window = 1e9 } = {}) {
  const clock = { time: 0 }
  const seen: Event[] = []
  const floods = createFloods((event) => seen.push(event), { monotonic: () => clock.time, window })
  function repeat(count: number, event: Event): number {
    const before = seen.length
    for (let n = 0; n < count; n++) floods.observe(event)
    return seen.length - before
  }
  return { clock, seen, repeat, reportCounts: floods.reportCounts }
}

t.test('Floods: of each kind of refusal a hundred are logged, then one a second; the rest is counted', async (t) => {
  for (const event of [wrongSecret, malformed, junk, noOperator]) {
    const { clock, seen, repeat, reportCounts } = createWorld()
    t.equal(repeat(150, event), 100, event.type)
    clock.time = 2000
    t.equal(repeat(10, event), 2)
    clock.time = 30_000
    reportCounts()
    t.match(seen.at(-1), { type: 'refusals not logged', prefix: '192.0.2.1', count: 58, throttled: 0, seconds: 30 })
    reportCounts()
    t.equal(seen.length, 103, 'once')
  }
})

t.test('Floods: throttled requests are never logged one by one', async (t) => {
  const { seen, repeat, reportCounts } = createWorld()
  t.equal(repeat(5, tooMany), 0)
  repeat(101, malformed)
  reportCounts()
  t.match(seen.at(-1), { type: 'refusals not logged', count: 6, throttled: 5 })
})

t.test('Floods: each prefix and kind has its own limit; other events are not limited', async (t) => {
  const { repeat } = createWorld()
  for (const other of [malformed, junk]) repeat(1000, other)
  t.equal(repeat(150, wrongSecret), 100, 'other refusals take no line from those of authentication')
  const from = (remoteAddress: string): Event => ({ ...wrongSecret, remoteAddress })
  t.strictSame([repeat(200, from('2001:db8::1')), repeat(200, from('2001:db8::2'))], [100, 0])
  t.equal(repeat(200, from('2001:db8:0:1::1')), 100)
  const via = (peer: string) => (_: unknown, n: number) =>
    repeat(1, { ...noOperator, remoteAddress: `192.0.2.${n} via ${peer}` })
  for (const peer of ['127.0.0.1', '10.0.0.1']) {
    const logged = Array.from({ length: 200 }, via(peer)).filter((lines) => lines === 1)
    t.equal(logged.length, 100, 'clients that a proxy names have the limit of the proxy')
  }
  t.equal(repeat(500, { ...junk, clientId: 'a', reason: 'expired token' }), 500)
  t.equal(repeat(500, { type: 'restarted' }), 500)
})

t.test('Floods: a limited number of prefixes is counted separately, and the rest together', async (t) => {
  const { seen, repeat, reportCounts } = createWorld()
  for (let n = 0; n < 3000; n++) repeat(2, { ...tooMany, remoteAddress: `10.0.${n >> 8}.${n & 255}` })
  reportCounts()
  t.equal(seen.length, 1025)
  t.match(seen[0], { prefix: '10.0.0.0', count: 2 })
  t.match(seen.at(-1), { prefix: 'others', count: 2 * (3000 - 1024), throttled: 2 * (3000 - 1024) })
})

t.test('Floods: the counts are reported at the end of each window', async (t) => {
  const { seen, repeat } = createWorld({ window: 10 })
  repeat(1, tooMany)
  await until(() => seen.length === 1)
  repeat(2, tooMany)
  await until(() => seen.length === 2)
  t.match(seen, [{ count: 1 }, { count: 2 }])
})

t.test('Floods: of an address that a proxy forwards not all of the header is kept', async (t) => {
  const { repeat, reportCounts } = createWorld()
  const before = heapUsed()
  for (let n = 0; n < 1000; n++) {
    const remoteAddress = `192.168.${100 + (n >> 7)}.${100 + (n & 127)}${'x'.repeat(16_000)}`.slice(0, 15)
    repeat(1, { ...tooMany, remoteAddress })
  }
  t.ok(heapUsed() - before < 4 * 1024 * 1024)
  reportCounts()
})

function failure(err: unknown, reason: 'store unavailable' | 'unexpected error' = 'store unavailable'): Event {
  return { type: 'request failed', reason, err, status: 503, endpoint: '/x', remoteAddress: '192.0.2.1' } as Event
}

const full = () => new Error('The disk is full.')

t.test('Repeated failures: the first is logged in full, others of its kind are counted for a while', async (t) => {
  const window = 20
  const events: Event[] = []
  const flood: Observer = (event) => {
    // In the next window, however late this one ended.
    if (events.push(event) === 4) observe(failure(full()))
  }
  const { observe } = createFloods(flood, { monotonic: () => 0, window })
  for (let n = 0; n < 5; n++) observe(failure(full()))
  observe({ type: 'stopped' })
  observe(failure('locked'))
  const failed = { type: 'request failed' }
  t.match(events, [{ ...failed, err: full() }, { type: 'stopped' }, { ...failed, err: 'locked' }])

  await until(() => events.length === 5)
  const again = { type: 'request failures repeated', reason: 'store unavailable', message: 'The disk is full.' }
  const counted = [4, 1].map((count) => ({ ...again, count }))
  t.strictSame(events.slice(3), counted)
  // After a quiet window it is logged in full again. Of two timers that are due, the earlier one is first.
  await sleep(3 * window)
  observe(failure(full()))
  t.match(events.slice(5), [{ type: 'request failed' }])
})

t.test('Repeated failures: a limited number of kinds is distinguished, and then only reasons', async (t) => {
  const events: Event[] = []
  const { observe, reportCounts } = createFloods((event) => events.push(event), { monotonic: () => 0 })
  for (let n = 0; n < 1000; n++) observe(failure(new Error(`${n}`)))
  observe(failure(new Error('x'), 'unexpected error'))
  t.equal(events.length, 66)
  for (let times = 0; times < 2; times++) reportCounts()
  t.equal(events.length, 67, 'the counts are reported at the end, once')
  t.match(events.slice(66), [{ type: 'request failures repeated', reason: 'store unavailable', count: 935 }])
})
