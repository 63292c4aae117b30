import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Event, Observer } from '../../src/domain/events.ts'
import { createRepeats } from '../../src/telemetry/floods.ts'
import { until } from '../support/until.ts'

function failure(err: unknown, reason: 'store unavailable' | 'unexpected error' = 'store unavailable'): Event {
  return { type: 'request failed', reason, err, status: 503, endpoint: '/x', remoteAddress: '192.0.2.1' } as Event
}

const full = () => new Error('The disk is full.')

t.test('Repeated failures: the first is said in full, the others of its kind are counted for a while', async (t) => {
  const window = 20
  const events: Event[] = []
  const { observe }: { observe: Observer } = createRepeats(
    (event) => {
      // In the next window, however late this one ended.
      if (events.push(event) === 4) observe(failure(full()))
    },
    { window },
  )
  for (let n = 0; n < 5; n++) observe(failure(full()))
  observe({ type: 'stopped' })
  observe(failure('locked'))
  t.match(events, [
    { type: 'request failed', err: full() },
    { type: 'stopped' },
    { type: 'request failed', err: 'locked' },
  ])

  await until(() => events.length === 5)
  const again = { type: 'request failures repeated', reason: 'store unavailable', message: 'The disk is full.' }
  t.strictSame(events.slice(3), [
    { ...again, count: 4 },
    { ...again, count: 1 },
  ])
  // After a quiet time it is said in full again. Of two timers that are due the earlier one is first.
  await sleep(3 * window)
  observe(failure(full()))
  t.match(events.slice(5), [{ type: 'request failed' }])
})

t.test('Repeated failures: what was counted is said at the end, once', async (t) => {
  const events: Event[] = []
  const { observe, sayAll } = createRepeats((event) => events.push(event))
  for (let n = 0; n < 3; n++) observe(failure(full()))
  sayAll()
  sayAll()
  t.match(events.slice(1), [{ type: 'request failures repeated', count: 2 }])
})

t.test('Repeated failures: a flood of kinds is bounded; they are then told apart by their reason', async (t) => {
  const events: Event[] = []
  const { observe, sayAll } = createRepeats((event) => events.push(event))
  for (let n = 0; n < 1000; n++) observe(failure(new Error(`${n}`)))
  observe(failure(new Error('x'), 'unexpected error'))
  t.equal(events.length, 66)
  sayAll()
  t.match(events.slice(66), [{ type: 'request failures repeated', reason: 'store unavailable', count: 935 }])
})
