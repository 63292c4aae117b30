import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { LiveValues } from '../../../src/admin/console/chart.ts'
import { createBroadcast, type Listener } from '../../../src/admin/console/live.ts'
import { until } from '../../support/until.ts'

/** A broadcast with a short interval, its source and its listeners. */
function createRadio(t: Test) {
  const present: LiveValues = { a: '1', b: '1' }
  let reads = 0
  let problem: Error | undefined
  const broadcast = createBroadcast({
    interval: 5,
    read: async () => {
      reads++
      if (problem) throw problem
      return { ...present }
    },
  })
  t.teardown(broadcast.end)

  /** Listens, and collects the messages. */
  function listen({ operator = 'anna', isSignedIn = async () => true, isBusy = () => false }: Partial<Listener> = {}) {
    const heard: string[] = []
    let isOver = false
    const listener = {
      operator,
      isSignedIn,
      isBusy,
      tell: (event: string) => void heard.push(event),
      end: () => {
        isOver = true
      },
    }
    const isLet = broadcast.join(listener)
    /** Without heartbeats. */
    const news = () => heard.filter((event) => event !== ':\n\n')
    return { isLet, heard, news, isOver: () => isOver, leave: () => broadcast.leave(listener) }
  }
  return { present, broadcast, listen, reads: () => reads, fail: (error?: Error) => (problem = error) }
}

const RETRY = 'retry: 3000\n\n'

t.test('Broadcast: a new listener gets everything, and then only changes', async (t) => {
  const { present, listen } = createRadio(t)
  const one = listen()
  await until(() => one.heard.includes(':\n\n'))
  present.b = '2'
  await until(() => one.news().length === 3)
  const another = listen()
  t.strictSame(one.news(), [RETRY, 'data: {"a":"1","b":"1"}\n\n', 'data: {"b":"2"}\n\n'])
  t.strictSame(another.news(), [RETRY, 'data: {"a":"1","b":"2"}\n\n'], 'at once if there is another listener')
})

t.test('Broadcast: statistics are read once for all listeners, and not at all without one', async (t) => {
  const { listen, reads } = createRadio(t)
  await sleep(30)
  t.equal(reads(), 0)
  const all = [listen(), listen(), listen()]
  await until(() => all.every(({ heard }) => heard.length > 20))
  const most = Math.max(...all.map(({ heard }) => heard.length))
  t.ok(reads() <= most, `${reads()} reads for ${most} turns`)
  for (const { leave } of all) leave()
  const before = reads()
  await sleep(50)
  t.equal(reads(), before)
  const later = listen()
  await until(() => later.heard.length > 3)
})

t.test('Broadcast: when a session ends, its stream says so and ends; the others continue', async (t) => {
  const { listen } = createRadio(t)
  let isSignedIn = true
  const [one, other] = [listen({ isSignedIn: async () => isSignedIn }), listen()]
  await until(() => one.heard.length > 12)
  isSignedIn = false
  await until(one.isOver)
  t.equal(one.heard.at(-1), 'event: ended\ndata: {}\n\n')
  const { length } = one.heard
  const heard = other.heard.length
  await until(() => other.heard.length > heard + 6)
  t.equal(one.heard.length, length)
  t.equal(other.isOver(), false)
})

t.test('Broadcast: there are at most 16 listeners', async (t) => {
  const { listen } = createRadio(t)
  const all = Array.from({ length: 20 }, (_, n) => listen({ operator: `operator ${n % 7}` }))
  t.strictSame(
    all.map(({ isLet }) => isLet),
    [...Array(16).fill(true), ...Array(4).fill(false)],
  )
  t.strictSame(all[16]?.heard, [])
  all[3]?.leave()
  t.ok(listen().isLet)
})

t.test('Broadcast: a fifth stream of one operator replaces the oldest one, which is told why', async (t) => {
  const { listen } = createRadio(t)
  const [bert, ...own] = [listen({ operator: 'bert' }), ...Array.from({ length: 20 }, () => listen())]
  t.ok(own.every(({ isLet }) => isLet))
  t.strictSame(
    own.map(({ isOver }) => isOver()),
    [...Array(16).fill(true), ...Array(4).fill(false)],
  )
  t.equal(own[0]?.heard.at(-1), 'event: elsewhere\ndata: {}\n\n')
  t.equal(bert?.isOver(), false)
  for (const operator of ['bert', 'carla', 'dora']) t.ok(listen({ operator }).isLet)
})

t.test('Broadcast: on shutdown all streams end, and new ones are refused', async (t) => {
  const { listen, broadcast, reads } = createRadio(t)
  const all = [listen(), listen()]
  await until(() => all.every(({ heard }) => heard.length > 1))
  broadcast.end()
  t.ok(all.every(({ isOver }) => isOver()))
  t.notOk(listen().isLet)
  const before = reads()
  await sleep(30)
  t.equal(reads(), before)
})

t.test('Broadcast: a listener that does not read is skipped, and gets everything later', async (t) => {
  const { present, listen } = createRadio(t)
  let isBusy = false
  const slow = listen({ isBusy: () => isBusy })
  const other = listen()
  await until(() => slow.news().length === 2)
  isBusy = true
  const { length } = slow.heard
  present.a = '2'
  await until(() => other.news().length === 3)
  present.b = '3'
  await until(() => other.news().length === 4)
  t.equal(slow.heard.length, length)
  isBusy = false
  await until(() => slow.heard.length > length)
  t.equal(slow.heard[length], 'data: {"a":"2","b":"3"}\n\n')
})

t.test('Broadcast: figures and sessions that cannot be read are kept as they were', async (t) => {
  const { present, listen, fail } = createRadio(t)
  const one = listen({ isSignedIn: async () => Promise.reject(new Error('The store is away.')) })
  await until(() => one.heard.length > 12)
  fail(new Error('gone'))
  present.a = '3'
  const before = one.heard.length
  await until(() => one.heard.length > before + 6)
  t.equal(one.news().length, 2)
  t.equal(one.isOver(), false)
  fail()
  await until(() => one.heard.includes('data: {"a":"3"}\n\n'))
})

t.test('Broadcast: a slow read is not started twice', async (t) => {
  const { promise, resolve } = Promise.withResolvers<LiveValues>()
  let reads = 0
  const read = () => {
    reads++
    return promise
  }
  const broadcast = createBroadcast({ interval: 1, read })
  const heard: string[] = []
  const tell = (event: string) => void heard.push(event)
  broadcast.join({ operator: 'anna', isSignedIn: async () => true, isBusy: () => false, tell, end: () => {} })
  await sleep(30)
  t.equal(reads, 1)
  resolve({ a: '1' })
  await until(() => heard.includes('data: {"a":"1"}\n\n'))
  broadcast.end()
})
