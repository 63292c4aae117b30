import t, { type Test } from 'tap'
import type { LiveValues } from '../../../src/admin/console/chart.ts'
import { createBroadcast, type Listener } from '../../../src/admin/console/live.ts'
import { createConsoleWorld } from '../../support/console-world.ts'
import { traffic } from '../../support/statistics.ts'
import { until } from '../../support/until.ts'

const INTERVAL_MS = 5
const HEARTBEAT = ':\n\n'
const RETRY = 'retry: 3000\n\n'

/** More than the turns after which sessions are checked. */
const SOME_TURNS = 7

/** A broadcast with a short interval, its source and its listeners. */
function createRadio(t: Test) {
  const present: LiveValues = { a: '1', b: '1' }
  const source = { reads: 0, read: async () => ({ ...present }) }
  const read = () => {
    source.reads++
    return source.read()
  }
  const broadcast = createBroadcast({ interval: INTERVAL_MS, read })
  t.teardown(broadcast.end)

  /** Listens, and collects the messages. */
  function listen({ operator = 'anna', isSignedIn = async () => true, isBusy = () => false }: Partial<Listener> = {}) {
    const heard: string[] = []
    let isOver = false
    const tell = (event: string) => void heard.push(event)
    const end = () => {
      isOver = true
    }
    const listener: Listener = { operator, isSignedIn, isBusy, tell, end }
    const isLet = broadcast.join(listener)
    const news = () => heard.filter((event) => event !== HEARTBEAT)
    /** Resolves when it has heard something in each of some turns. */
    function hearMore() {
      const { length } = heard
      return until(() => heard.length >= length + SOME_TURNS)
    }
    return { isLet, heard, news, hearMore, isOver: () => isOver, leave: () => broadcast.leave(listener) }
  }
  return { present, source, broadcast, listen }
}

/** Resolves after some turns of a broadcast with the same interval. */
async function turnsPass(t: Test): Promise<void> {
  const other = createRadio(t).listen()
  await other.hearMore()
  other.leave()
}

t.test('Broadcast: statistics are read once for all listeners, one after the other, and only for them', async (t) => {
  const { source, listen } = createRadio(t)
  await turnsPass(t)
  t.equal(source.reads, 0)
  const all = [listen(), listen(), listen()]
  await Promise.all(all.map(({ hearMore }) => hearMore()))
  const most = Math.max(...all.map(({ heard }) => heard.length))
  t.ok(source.reads <= most, `${source.reads} reads for ${most} turns`)
  for (const { leave } of all) leave()
  const before = source.reads
  await turnsPass(t)
  t.equal(source.reads, before)

  const { promise, resolve } = Promise.withResolvers<LiveValues>()
  source.read = () => promise
  const one = listen()
  await turnsPass(t)
  t.equal(source.reads, before + 1, 'a slow one is not started twice')
  resolve({ a: 'slow' })
  await until(() => one.news().at(-1) === 'data: {"a":"slow"}\n\n')
})

t.test('Broadcast: there are 16 listeners at most, of one operator four: a fifth replaces the oldest', async (t) => {
  const { listen } = createRadio(t)
  const [bert, ...own] = [listen({ operator: 'bert' }), ...Array.from({ length: 20 }, () => listen())]
  const isOver = own.map(({ isOver }) => isOver())
  t.ok(isOver.every((isOver, n) => isOver === n < 16))
  t.equal(own[0]?.heard.at(-1), 'event: elsewhere\ndata: {}\n\n', 'which is told why')
  t.notOk(bert?.isOver())
  const others = Array.from({ length: 15 }, (_, n) => listen({ operator: `operator ${n % 5}` }))
  t.ok(others.every(({ isLet }, n) => isLet === n < 11))
  t.strictSame(others[11]?.heard, [])
  others[3]?.leave()
  t.ok(listen({ operator: 'carla' }).isLet)
})

t.test('Broadcast: on shutdown all streams end, and new ones are refused', async (t) => {
  const { listen, broadcast, source } = createRadio(t)
  const all = [listen(), listen()]
  await until(() => all.every(({ heard }) => heard.length > 1))
  broadcast.end()
  t.ok(all.every(({ isOver }) => isOver()))
  t.notOk(listen().isLet)
  const before = source.reads
  await turnsPass(t)
  t.equal(source.reads, before)
})

t.test('Broadcast: a listener that does not read is skipped, and gets everything later', async (t) => {
  const { present, listen } = createRadio(t)
  let isBusy = false
  const [slow, other] = [listen({ isBusy: () => isBusy }), listen()]
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
  t.strictSame(other.news(), [RETRY, 'data: {"a":"1","b":"1"}\n\n', 'data: {"a":"2"}\n\n', 'data: {"b":"3"}\n\n'])
  t.strictSame(listen().news(), [RETRY, 'data: {"a":"2","b":"3"}\n\n'], 'a new one gets everything, at once')
})

t.test('Broadcast: figures and sessions that cannot be read are kept as they were', async (t) => {
  const { present, source, listen } = createRadio(t)
  const one = listen({ isSignedIn: async () => Promise.reject(new Error('The store is away.')) })
  await one.hearMore()
  const { read } = source
  source.read = async () => Promise.reject(new Error('gone'))
  present.a = '3'
  await one.hearMore()
  t.equal(one.news().length, 2)
  t.notOk(one.isOver())
  source.read = read
  await until(() => one.heard.includes('data: {"a":"3"}\n\n'))
})

/** A listening console, and streams of its open pages. */
async function openConsole(t: Test) {
  const world = await createConsoleWorld(t, { liveInterval: INTERVAL_MS })
  const address = await world.listen()

  /** Opens the stream of a session, and collects its events. */
  async function open(cookie = '') {
    const closing = new AbortController()
    t.teardown(() => closing.abort())
    // The name of the cookie has the port of the listener.
    const here = cookie.replace('-80=', `-${new URL(address).port}=`)
    const headers = { accept: 'text/event-stream', cookie: here }
    const { status, headers: answered, body } = await fetch(`${address}/live`, { headers, signal: closing.signal })
    let text = ''
    const reading = (async () => {
      try {
        for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) text += chunk
      } catch {}
    })()
    const told = () => [...text.matchAll(/^data: (\{.+\})$/gm)].map(([, data]) => JSON.parse(data as string))
    return { status, headers: answered, reading, told, text: () => text, close: () => closing.abort() }
  }
  return { ...world, open }
}

t.test('Live: an open page gets everything, and then only changes, until the server closes', async (t) => {
  const { open, signIn, statistics, app } = await openConsole(t)
  const { cookie } = await signIn('viewer')
  const [page, another] = [await open(cookie), await open(cookie)]
  t.equal(page.status, 200)
  t.equal(page.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.equal(page.headers.get('cache-control'), 'no-store')
  await until(() => page.told().length === 1)
  t.match(page.told()[0], { 'tokens-minute': '0', 'tokens-y-4': '4', 'tokens-line-0': 'M575,100L600,100' })
  Object.assign(statistics, { lastMinute: traffic(1) })
  await until(() => page.told().length === 2)
  t.match(page.told()[1], { 'tokens-minute': '101', 'checks-minute': '2,000' })
  t.notOk('tokens-y-4' in page.told()[1])
  await app.close()
  await Promise.all([page.reading, another.reading])
})

t.test('Live: it needs a session, ends with it while others continue, and does not extend it', async (t) => {
  const { open, signIn, clock } = await openConsole(t)
  for (const cookie of ['', '__Host-session-80=wrong']) t.equal((await open(cookie)).status, 401)
  const { cookie } = await signIn()
  const page = await open(cookie)
  await until(() => page.told().length === 1)
  clock.time += 14 * 60_000
  const [another, other] = [await open(cookie), await open((await signIn('viewer')).cookie)]
  const { length } = page.text()
  await until(() => page.text().length >= length + SOME_TURNS * HEARTBEAT.length)
  clock.time += 60_000
  await Promise.all([page.reading, another.reading])
  t.match(page.text(), /\nevent: ended\ndata: \{\}\n\n$/)
  t.equal((await open(cookie)).status, 401)
  const heard = other.text().length
  await until(() => other.text().length >= heard + SOME_TURNS * HEARTBEAT.length)
})

t.test('Live: an operator’s fifth stream ends the first, and a 17th of all is told to retry later', async (t) => {
  const { open, signIn, administration } = await openConsole(t)
  const pages = []
  for (const name of ['bert', 'carla', 'dora', 'emil']) {
    await administration.operators.add(name, 'viewer')
    const { cookie } = await signIn(name)
    for (let n = 0; n < (name === 'bert' ? 5 : 4); n++) pages.push(await open(cookie))
  }
  await pages[0]?.reading
  const { cookie } = await signIn()
  const { status, headers } = await open(cookie)
  t.strictSame([status, headers.get('retry-after')], [503, '30'])
  pages[1]?.close()
  await until(async () => (await open(cookie)).status === 200)
})
