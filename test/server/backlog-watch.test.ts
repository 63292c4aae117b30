import t from 'tap'
import type { Event } from '../../src/domain/events.ts'
import { type Backlog, type Store, StoreUnavailable } from '../../src/domain/store.ts'
import { watchBacklog } from '../../src/server/purge-loop.ts'

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
