import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { cookieOf, copyOf, createConsoleWorld, textOf, withoutIcons } from '../../support/console-world.ts'
import { statisticsOf, traffic } from '../../support/statistics.ts'

const DAY = 86_400_000

async function setting(t: Test, options: Parameters<typeof createConsoleWorld>[1] = {}) {
  const world = await createConsoleWorld(t, options)
  const browser = await world.signIn()
  const body = (cookie = browser.cookie) => browser.body('/', { headers: { cookie } })
  /** The steps, and whether each is done. */
  async function steps() {
    const [, list = ''] = (await body()).split('<ol class="steps">')
    const summaries = list.split('</ol>')[0]?.matchAll(/<details( open)?><summary>(.*?)<\/summary>/g) ?? []
    return [...summaries].map(([, open = '', text = '']) => textOf(text).trim() + open)
  }
  return { ...world, browser, body, steps }
}

const REST = ['Make a backup to do', 'TLS, here or at a proxy to do', 'Get notices to do']

t.test('First hour: an empty server lists what to do, and ticks off what is done', async (t) => {
  const { steps, body, administration, clock, store, context, statistics } = await setting(t)
  const clients = ['Register a suite', 'Register an application', 'Get a token', 'Check it at a gateway']
  const has = async (done: number, message: string) =>
    t.strictSame(
      await steps(),
      [...clients.map((title, n) => `${title} ${n < done ? 'done' : `to do${n === done ? ' open' : ''}`}`), ...REST],
      message,
    )
  await has(0, 'the next one is open')
  const empty = await body()
  t.match(copyOf(empty, 'first-token'), "'client_id=CLIENT_ID'")
  t.match(copyOf(empty, 'gateway-0'), '/v1/oauth/verify/SUITE;')
  await administration.suites.register({ suiteId: 'store', name: 'Store' })
  await has(1, 'a suite')
  await administration.applications.register({ clientId: 'a' })
  await has(2, 'an application')
  t.ok((await body()).indexOf('id="first-hour"') < (await body()).indexOf('data-live="attention"'), 'it comes first')
  const page = await body()
  t.match(copyOf(page, 'first-token'), "'client_id=a'")
  for (let n = 0; n < 5; n++) t.match(copyOf(page, `gateway-${n}`), /store/)
  t.match(page, '<a href="/docs/http.md#the-token-request">Read more</a>')
  await store.addUsage([{ clientId: '', tokens: 1, checks: 0, refusals: 0 }], clock.time - 20 * DAY)
  await has(3, 'a token, some time ago')
  const [before = '', after = ''] = (await body()).split('data-live="attention"')
  t.notMatch(before, 'class="steps"')
  t.match(
    after,
    '<details class="panel"><summary>The first hour: 3 of 7 done</summary><ol class="steps">',
    'and then below',
  )
  Object.assign(statistics, statisticsOf({ lastHour: traffic(0) }))
  t.strictSame((await steps())[3], 'Check it at a gateway done', 'a check, a moment ago')
  Object.assign(statistics, statisticsOf({ store: { ...statistics.store, lastBackupAt: clock.time } }))
  await store.addUsage([{ clientId: '', tokens: 1, checks: 1, refusals: 0 }], clock.time)
  t.strictSame((await steps()).slice(3), [
    'Check it at a gateway done',
    'Make a backup done',
    `${REST[1]} open`,
    REST[2],
  ])
  context.about.urls.publicUrl = 'https://auth.example'
  context.about.settings = [{ name: 'NOTICE_URL_FILE', value: '/etc/notices', meaning: '' }]
  t.strictSame(await steps(), [], 'all is done')
})

t.test('First hour: /live ticks off the first token and the first check', async (t) => {
  const { browser, body, statistics } = await setting(t)
  t.match(withoutIcons(await body()), '<span data-live="first-token"><span class="badge quiet">to do</span></span>')
  Object.assign(statistics, statisticsOf({ lastHour: { ...traffic(0), activeChecks: 0 } }))
  const { rawPayload } = await browser('/live?window=w&new=yes')
  const live = withoutIcons(String(gunzipSync(rawPayload)))
  t.match(live, '<span data-live="first-token"><span class="badge good">done</span></span>')
  t.match(live, '<span data-live="first-check"><span class="badge quiet">to do</span></span>')
  t.match(withoutIcons(await body()), '<summary>Get a token <span class="badge good">done</span></summary>')
})

t.test('First hour: it is for admins of a new server, until they hide it', async (t) => {
  const { steps, body, browser, signIn, administration, clock, store } = await setting(t)
  t.notMatch(await (await signIn('viewer')).body('/'), 'id="first-hour"')
  const hidden = await browser('/preferences', { form: { steps: 'off', back: '/' } })
  t.notMatch(await body(`${browser.cookie}; ${cookieOf(hidden)}`), 'id="first-hour"')
  await administration.suites.register({ suiteId: 'store', name: 'Store' })
  t.equal((await steps()).length, 7)
  Object.assign(store, { listSuites: async () => Promise.reject(new Error('gone')) })
  t.strictSame(await steps(), [], 'the overview does without it')
  t.notOk(clock.time < 31 * DAY)
})

t.test('First hour: an old server, a demo and one in memory', async (t) => {
  const old = await setting(t)
  await old.administration.suites.register({ suiteId: 'store', name: 'Store' })
  old.clock.time += 31 * DAY
  t.notMatch(await (await old.signIn()).body('/'), 'id="first-hour"')
  const demo = await setting(t, { howToSignIn: 'press Enter' })
  t.strictSame(await demo.steps(), [])
  const { steps, statistics } = await setting(t)
  statistics.store = { ...statistics.store, databaseBytes: 0 }
  t.notOk((await steps()).includes(String(REST[0])), 'a database in memory has no backup')
  statistics.store = { ...statistics.store, databaseBytes: 4096, kind: 'postgres' }
  t.notOk((await steps()).includes(String(REST[0])), 'nor does this server know of those of PostgreSQL')
})
