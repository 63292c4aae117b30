import t, { type Test } from 'tap'
import { createConsoleWorld } from '../../support/console-world.ts'
import { statisticsOf, traffic } from '../../support/statistics.ts'
import { until } from '../../support/until.ts'

/** A listening console, and streams of its open pages. */
async function openConsole(t: Test) {
  const world = await createConsoleWorld(t)
  const address = await world.listen()
  /** Puts the port of this listener into the name of a session cookie. */
  const here = (cookie: string) => cookie.replace('-80=', `-${new URL(address).port}=`)

  /** Opens the stream of a session, and collects its events. */
  async function open(cookie?: string) {
    const closing = new AbortController()
    t.teardown(() => closing.abort())
    const answer = await fetch(`${address}/live`, {
      headers: { accept: 'text/event-stream', ...(cookie && { cookie: here(cookie) }) },
      signal: closing.signal,
    })
    let text = ''
    let isOver = false
    const reading = (async () => {
      try {
        for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) text += chunk
      } catch {}
      isOver = true
    })()
    /** The events, in order. */
    const told = () => [...text.matchAll(/^data: (\{.+\})$/gm)].map(([, data]) => JSON.parse(data as string))
    return { answer, reading, told, text: () => text, isOver: () => isOver, close: () => closing.abort() }
  }
  return { ...world, open }
}

t.test('Live: an open page gets everything, and then only changes', async (t) => {
  const { open, signIn, statistics } = await openConsole(t)
  const { cookie } = await signIn('viewer')
  const page = await open(cookie)
  t.equal(page.answer.status, 200)
  t.equal(page.answer.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.equal(page.answer.headers.get('cache-control'), 'no-store')
  await until(() => page.told().length === 1)
  t.match(page.told()[0], { 'tokens-minute': '0', 'tokens-y-4': '4', 'tokens-line-0': 'M575,100L600,100' })
  Object.assign(statistics, { lastMinute: traffic(1) })
  await until(() => page.told().length === 2)
  t.match(page.told()[1], { 'tokens-minute': '101', 'checks-minute': '2,000' })
  t.notOk('tokens-y-4' in page.told()[1])
})

t.test('Live: without a valid session it answers 401', async (t) => {
  const { open } = await openConsole(t)
  t.equal((await open()).answer.status, 401)
  t.equal((await open('__Host-session-80=wrong')).answer.status, 401)
})

t.test('Live: it ends with its session, and does not extend it', async (t) => {
  const { open, signIn, clock } = await openConsole(t)
  const { cookie } = await signIn()
  const page = await open(cookie)
  await until(() => page.told().length === 1)
  clock.time += 14 * 60_000
  const another = await open(cookie)
  t.equal(another.answer.status, 200)
  // Longer than the interval at which the session is checked.
  const { length } = page.text()
  await until(() => page.text().length >= length + 7 * ':\n\n'.length)
  clock.time += 60_000
  await Promise.all([page.reading, another.reading])
  t.match(page.text(), /\nevent: ended\ndata: \{\}\n\n$/)
  t.equal((await open(cookie)).answer.status, 401)
})

t.test('Live: it ends when another operator ends the session', async (t) => {
  const { open, signIn, administration } = await openConsole(t)
  const [anna, viktor] = [await open((await signIn('admin')).cookie), await open((await signIn('viewer')).cookie)]
  const [{ id = 0 } = {}] = (await administration.operators.show('viktor')).sessions
  await administration.operators.endSession('viktor', id)
  await viktor.reading
  t.match(viktor.text(), 'event: ended')
  t.equal(anna.isOver(), false)
})

t.test('Live: an operator has at most four streams; a 17th of all operators is told to retry later', async (t) => {
  const { open, signIn, administration } = await openConsole(t)
  const cookies = [(await signIn()).cookie]
  for (const name of ['bert', 'carla', 'dora', 'emil']) {
    await administration.operators.add(name, 'viewer')
    cookies.push((await signIn(name)).cookie)
  }
  const [anna, bert, carla, dora, emil] = cookies
  const pages = []
  for (const cookie of [anna, anna, anna, anna, anna]) pages.push(await open(cookie))
  await pages[0]?.reading
  t.match(pages[0]?.text(), /\nevent: elsewhere\ndata: \{\}\n\n$/)
  for (const cookie of [bert, carla, dora]) for (let n = 0; n < 4; n++) pages.push(await open(cookie))
  t.ok(pages.every(({ answer }) => answer.status === 200))
  const { answer } = await open(emil)
  t.strictSame([answer.status, answer.headers.get('retry-after')], [503, '30'])
  pages[5]?.close()
  await until(async () => (await open(emil)).answer.status === 200)
})

t.test('Live: all streams end when the server closes', async (t) => {
  const { open, signIn, app } = await openConsole(t)
  const { cookie } = await signIn()
  const pages = [await open(cookie), await open(cookie)]
  await until(() => pages.every(({ told }) => told().length === 1))
  await app.close()
  for (const { reading } of pages) await reading
})

t.test('Live: the overview is a page that a script updates from the stream', async (t) => {
  const { signIn } = await openConsole(t)
  const visit = await signIn()
  const { statusCode, body } = await visit('/')
  t.equal(statusCode, 200)
  t.match(body, /<script type="module" src="\/assets\/live-[0-9a-f]+\.js">/)
  t.match(body, statisticsOf().version)
})
