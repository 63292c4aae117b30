import t from 'tap'
import type { Event } from '../../src/domain/events.ts'
import { watchClockOffset } from '../../src/server/clock-watch.ts'

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
