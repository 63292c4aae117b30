import t from 'tap'
import type { Event } from '../../src/domain/events.ts'
import { type Backlog, type Store, StoreUnavailable } from '../../src/domain/store.ts'
import { watchClock, watchClockOffset } from '../../src/server/clock-watch.ts'
import { watchBacklog } from '../../src/server/purge-loop.ts'
import { START } from '../support/world.ts'

t.test('Backlog: it is said once a minute while it lasts, and once when it is over', async (t) => {
  let answer: Backlog | Error | undefined
  let looks = 0
  const store = {
    async backlog() {
      looks++
      if (answer instanceof Error) throw answer
      return answer
    },
  } as Store
  const clock = { time: 0 }
  const events: Event[] = []
  const look = watchBacklog({ store, monotonic: () => clock.time, observe: (event) => events.push(event) })
  const lookFor = async (seconds: number) => {
    events.length = 0
    for (let second = 0; second < seconds; second++) {
      clock.time += 1000
      await look()
    }
    return [...events]
  }

  t.strictSame(await lookFor(60), [])
  t.equal(looks, 6, 'every ten seconds, however often it is called')
  answer = { bytes: 2 ** 26, cause: 'a reader' }
  const line = { type: 'store backlog', ...answer }
  t.strictSame(await lookFor(10), [line])
  t.strictSame(await lookFor(50), [])
  t.strictSame(await lookFor(60), [line])
  answer = new StoreUnavailable('gone')
  t.strictSame(await lookFor(60), [], 'who needs the store says that it is gone')
  answer = undefined
  t.strictSame(await lookFor(60), [{ type: 'store backlog cleared' }])
})

t.test(
  'Clock: that it differs from the database by more than a second is said once a minute, and when it is over',
  async (t) => {
    let offset: number | undefined
    let time = 0
    const events: Event[] = []
    const agrees = watchClockOffset({
      store: { clockOffset: () => offset },
      monotonic: () => time,
      observe: (event) => events.push(event),
    })
    const lookFor = (seconds: number) => {
      events.length = 0
      const answers = Array.from({ length: seconds }, () => {
        time += 1000
        return agrees()
      })
      return { events: [...events], answers: new Set(answers) }
    }

    t.strictSame(lookFor(60), { events: [], answers: new Set([false]) }, 'nobody knows')
    for (offset of [0, 1000, -1000]) t.strictSame(lookFor(60), { events: [], answers: new Set([true]) })
    offset = 3400
    const ahead: Event = { type: 'clock differs', seconds: 3 }
    t.strictSame(lookFor(60), { events: [ahead], answers: new Set([false]) })
    t.strictSame(lookFor(60), { events: [ahead], answers: new Set([false]) })
    offset = 5
    t.strictSame(lookFor(60), { events: [{ type: 'clock agrees' }], answers: new Set([true]) })
    offset = -2000
    t.strictSame(lookFor(1), { events: [{ type: 'clock differs', seconds: -2 }], answers: new Set([false]) })
  },
)

t.test('Clock: a jump is what it moves more or less than the monotonic clock between two looks', async (t) => {
  let wall = START
  let steady = 1000.5
  const jump = watchClock({ now: () => wall, monotonic: () => steady })
  const jumpAfter = (wallTime: number, steadyTime: number) => {
    wall += wallTime
    steady += steadyTime
    return Math.round(jump())
  }
  t.equal(jumpAfter(10_000, 10_000), 0)
  t.equal(jumpAfter(3_600_000, 3_600_000), 0, 'a long time is no jump')
  t.equal(jumpAfter(70_000, 10_000), 0, 'a minute is tolerated')
  t.equal(jumpAfter(70_001, 10_000), 60_001)
  t.equal(jumpAfter(10_000, 10_000), 0, 'each jump is told once')
  t.equal(jumpAfter(-7_190_000, 10_000), -7_200_000)
})
