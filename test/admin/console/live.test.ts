import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import { createConsoleWorld, textOf } from '../../support/console-world.ts'
import { refusal } from '../../support/refusal.ts'
import { traffic } from '../../support/statistics.ts'

const MINUTE = 60_000

/** A console, and windows with its overview. */
async function start(t: Test) {
  const world = await createConsoleWorld(t)
  const source = { reads: 0, read: world.context.statistics.read }
  world.context.statistics.read = async () => {
    source.reads++
    return source.read()
  }

  /** Opens a window. Resolves to a function that requests its live parts, as live.js does, after the first request. */
  async function open(browser: Awaited<ReturnType<typeof world.signIn>>, id: string, application = '') {
    async function ask(isNew = false) {
      const url = `/live?window=${id}${isNew ? '&new=yes' : ''}&client=${application}`
      const { statusCode, headers, rawPayload } = await browser(url)
      const text = headers['content-encoding'] === 'gzip' ? textOf(String(gunzipSync(rawPayload))) : ''
      return { statusCode, headers, text }
    }
    return Object.assign(ask, { first: await ask(true) })
  }
  return { ...world, source, open }
}

t.test('Live: a window gets the figures of this second, which are read once for all windows', async (t) => {
  const { open, signIn, statistics, source, clock } = await start(t)
  const [anna, viktor] = [await signIn(), await signIn('viewer')]
  const pages = [await open(anna, 'a'), await open(anna, 'b'), await open(viktor, 'a')]
  for (const { first } of pages) t.match(first.text, 'Tokens, last minute 0 0 in the last hour')
  t.match(pages[0]?.first.headers, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
  const offers = pages.map(({ first }) => first.text.includes('Register an application'))
  t.strictSame(offers, [true, true, false], 'a viewer is not offered what is refused')
  await pages[0]?.()
  Object.assign(statistics, { lastMinute: traffic(1) })
  t.match((await pages[1]?.())?.text, 'Tokens, last minute 0 ')
  t.equal(source.reads, 1)
  clock.time += 1000
  for (const page of pages) t.match((await page()).text, 'Tokens, last minute 101 ')
  t.equal(source.reads, 2)
})

t.test('Live: the page of a suite gets its status and refusals', async (t) => {
  const { open, signIn, administration, store } = await start(t)
  await administration.applications.register({ name: 'Shop', clientId: 'shop-1' })
  const anna = await signIn()
  t.match(await anna.body('/applications/shop-1/edit'), 'href="/new-suite">Register a suite</a>', 'there is none yet')
  await administration.suites.register({ suiteId: 'store', name: 'Store API' })
  await store.recordRefusals([refusal('store', { count: 7 })])
  const { first } = await open(anna, 'a', 'store')
  t.match(first.text, 'The secret does not match wrong secret 7')
})

t.test('Live: the page of an application gets its status and refusals, read once a second for all', async (t) => {
  const { open, signIn, administration, store, clock } = await start(t)
  await administration.applications.register({ name: 'Shop', clientId: 'shop-1' })
  const [anna, viktor] = [await signIn(), await signIn('viewer')]
  const pages = [await open(anna, 'a', 'shop-1'), await open(anna, 'b', 'shop-1'), await open(viktor, 'a', 'shop-1')]
  for (const { first } of pages) {
    t.match(first.text, 'No problem is known. It has not asked for a token yet.')
    t.match(first.text, 'Last refusals No request was refused in the last 30 days.')
  }
  await administration.applications.suspend('shop-1')
  t.match((await open(anna, 'c', 'shop-1')).first.text, 'Resume', 'a new window shows a change of this second')
  await administration.applications.resume('shop-1')
  let reads = 0
  const { findApplication } = store
  store.findApplication = (clientId) => {
    reads++
    return findApplication(clientId)
  }
  await store.recordRefusals([refusal('shop-1'), refusal('shop... (7 characters)', { isKnown: false })])
  clock.time += 1000
  for (const page of pages) t.match((await page()).text, /There is a problem\. .*“Rotate secret”/)
  const perExplanation = reads / 2
  clock.time += 1000
  await pages[0]?.()
  t.equal(reads / 3, perExplanation, 'once for admins, and once for viewers')
  await administration.applications.remove('shop-1')
  clock.time += 1000
  t.match((await pages[0]?.())?.text, 'No problem is known. Shop (shop-1) was removed by tester')
  t.equal((await open(anna, 'c', 'nobody')).first.statusCode, 404)
})

t.test('Live: it needs a session, ends with it, and does not extend that of an admin', async (t) => {
  const { open, visit, signIn, clock } = await start(t)
  for (const cookie of ['', '__Host-session-80=wrong']) {
    t.equal(await visit.status('/live', { headers: { cookie, accept: '*/*' } }), 401)
  }
  const browser = await signIn()
  const page = await open(browser, 'a')
  clock.time += 14 * MINUTE
  t.equal((await page()).statusCode, 200)
  const other = await open(await signIn('viewer'), 'a')
  clock.time += MINUTE
  const accept = { headers: { accept: '*/*' } }
  t.equal(await browser.status('/live?window=a', accept), 401)
  t.equal((await other()).statusCode, 200)
})

t.test('Live: while the store does not answer, live windows go on, and no others begin', async (t) => {
  const { open, signIn, store, clock } = await start(t)
  const browser = await signIn()
  const page = await open(browser, 'a')
  const { findSession } = store
  store.findSession = async () => {
    throw new StoreUnavailable()
  }
  t.equal((await page()).statusCode, 200)
  t.equal((await open(browser, 'b')).first.statusCode, 503)
  clock.time += 6000
  t.equal((await page()).statusCode, 503, 'nor one that has not asked for a while')
  store.findSession = findSession
  t.equal((await open(browser, 'b')).first.statusCode, 200)
})

t.test('Live: figures that cannot be read are an error of this second only', async (t) => {
  const { open, signIn, source, clock } = await start(t)
  const page = await open(await signIn(), 'a')
  const { read } = source
  source.read = async () => Promise.reject(new Error('gone'))
  clock.time += 1000
  t.equal((await page()).statusCode, 500)
  source.read = read
  clock.time += 1000
  t.equal((await page()).statusCode, 200)
})

t.test('Live: an operator’s fifth window replaces the oldest, unless that has been closed', async (t) => {
  const { open, signIn, clock } = await start(t)
  const browser = await signIn()
  const [oldest, ...others] = [await open(browser, '1'), await open(browser, '2'), await open(browser, '3')]
  const viktor = await open(await signIn('viewer'), '1')
  await open(browser, '4')
  t.equal((await oldest?.())?.statusCode, 200)
  const fifth = await open(browser, '5')
  t.equal((await oldest?.())?.statusCode, 409)
  for (const page of [...others, fifth, viktor]) t.equal((await page()).statusCode, 200)
  clock.time += 4000
  for (const page of [...others, fifth]) await page()
  clock.time += 2000
  t.equal((await oldest?.())?.statusCode, 200, 'the fourth has not asked for more than five seconds')
  t.equal((await others[0]?.())?.statusCode, 200)
})

t.test('Live: a 17th window of all is told to retry later', async (t) => {
  const { open, signIn, administration, clock } = await start(t)
  for (const name of ['bert', 'carla', 'dora', 'emil']) {
    await administration.operators.add(name, 'viewer')
    const browser = await signIn(name)
    for (let n = 0; n < 5; n++) t.equal((await open(browser, `${n}`)).first.statusCode, 200)
  }
  const browser = await signIn()
  const { statusCode, headers } = (await open(browser, 'a')).first
  t.strictSame([statusCode, headers['retry-after']], [503, '30'])
  clock.time += 6000
  t.equal((await open(browser, 'a')).first.statusCode, 200)
})
