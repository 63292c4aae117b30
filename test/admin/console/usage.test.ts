import t, { type Test } from 'tap'
import { createConsoleWorld, textOf } from '../../support/console-world.ts'
import { statisticsOf } from '../../support/statistics.ts'
import { START } from '../../support/world.ts'

const HOUR = 3_600_000

/** A console with a suite and applications, of which `a-0` did most. */
async function setting(t: Test, count = 1) {
  const world = await createConsoleWorld(t)
  const { administration, store } = world
  await administration.suites.register({ suiteId: 'store', name: 'Store' })
  for (let n = 0; n < count; n++) {
    await administration.applications.register({ clientId: `a-${n}`, name: `App ${n}` })
  }
  /** Stores what a client did some hours ago. */
  const did = (clientId: string, [tokens, checks, refusals]: [number, number, number], hours = 0) =>
    store.addUsage([{ clientId, tokens, checks, refusals }], START - hours * HOUR)
  const browser = await world.signIn()
  const bodyOf = (url: string) => browser.body(url)
  return { ...world, did, bodyOf }
}

t.test('Usage: the page of an application has sums and charts of the period, and links to others', async (t) => {
  const { did, bodyOf, statistics } = await setting(t)
  await did('a-0', [1, 2, 3])
  await did('a-0', [10, 20, 30], 2)
  await did('a-0', [100, 200, 300], 48)
  const sums = async (query: string) => {
    const body = await bodyOf(`/applications/a-0${query}`)
    const [, section = ''] = body.split('id="usage"')
    t.match(section, /href="\/applications\/a-0\?period=7d#usage"/)
    return textOf(section)
      .match(/Tokens issued ([\d,]+) .*?Valid checks ([\d,]+) .*?Refused requests and checks ([\d,]+) /)
      ?.slice(1)
  }
  t.strictSame(await sums('?period=1h'), ['1', '2', '3'])
  t.strictSame(await sums(''), ['11', '22', '33'])
  t.strictSame(await sums('?period=7d'), ['111', '222', '333'])
  t.match(await bodyOf('/applications/a-0?period=7d'), 'href="/applications/a-0?period=7d" data-live-reload')
  t.match(await bodyOf('/?period=7d'), 'href="/refusals?period=7d" data-key="r"', 'keys keep the range, as links do')
  await did('a-0', [1000, 0, 0], 29 * 24)
  t.strictSame(await sums('?period=30d'), ['1,111', '222', '333'])
  t.strictSame(await sums('?period=year'), ['11', '22', '33'], 'an unknown period is the usual one')
  const body = await bodyOf('/applications/a-0?period=1h')
  t.match(body, '<p class="print-only">In the last 60 minutes</p>')
  t.match(body, 'href="/applications/a-0?period=1h#usage" aria-current="page">1 h<')
  t.match(body, '<title>From 2027-01-15 08:00 UTC, so far: Tokens issued 1</title>')
  t.match(
    textOf(body),
    /From Tokens issued Valid checks Refused requests and checks 2027-01-15 08:00 UTC 1 2 3 2027-01-15 07:55 UTC 0 0 0 /,
  )
  t.notMatch(body, 'class="outage"')
  Object.assign(statistics, statisticsOf({ outages: [{ beganAt: START - 60_000, endedAt: START, failures: 9 }] }))
  t.match(await bodyOf('/applications/a-0?period=1h'), /class="outage".*Tokens issued 1, outage of 60 s</s)
})

t.test('Usage: the page of a suite has its checks and refusals', async (t) => {
  const { did, bodyOf } = await setting(t)
  await did('store', [0, 5, 7])
  const [, section = ''] = (await bodyOf('/suites/store')).split('id="usage"')
  t.match(textOf(section), /Valid checks 5 .*Refused requests and checks 7 /)
  t.notMatch(section, 'Tokens issued')
})

t.test('Overview: longer periods are of all nodes, from the store', async (t) => {
  const { did, bodyOf, store, context } = await setting(t)
  await did('', [3, 4, 5], 30)
  t.match(await bodyOf('/'), /data-live="charts".*Tokens issued per minute/s)
  const day = await bodyOf('/?period=24h')
  t.match(day, 'Tokens issued: 0 in all')
  t.notMatch(day, 'data-live="charts"')
  const week = await bodyOf('/?period=7d')
  t.match(week, 'Tokens issued: 3 in all, 3 at most.')
  t.strictSame(
    [...week.matchAll(/<g class="(.*?)"><path class="blocks"/g)].map(([, series]) => series),
    ['series-1', 'series-1', 'series-1 warn'],
    'only the refusals have their color',
  )
  Object.assign(store, { listUsage: async () => Promise.reject(new Error('gone')) })
  context.statistics.readUsage = async () => undefined
  t.match(textOf(await bodyOf('/?period=7d')), 'Not known, because the database does not answer.')
})

t.test('Usage: from a time to another one, in the shortest parts that are kept; a wrong time is said', async (t) => {
  const { did, bodyOf, clock } = await setting(t)
  for (const hours of [0, 1, 24, 24 * 20]) await did('a-0', [1, 2, 3], hours)
  await did('', [1, 2, 3], 30)
  const charts = async (query: string, page = '/applications/a-0') => {
    const body = await bodyOf(`${page}?${query}`)
    const [, each] = /Tokens issued (per [^<]*)</.exec(body) ?? []
    return [each, /Tokens issued: (\d+) in all/.exec(body)?.[1], body.match(/<rect[^>]* x=/g)?.length]
  }
  t.strictSame(await charts('since=2027-01-15T06:59'), ['per five minutes', '2', 42])
  t.strictSame(await charts('until=2027-01-14T23:59'), ['per hour', '1', 72], 'a day until then')
  t.strictSame(await charts('since=2027-01-14&until=2027-01-14'), ['per hour', '1', 72])
  t.strictSame(await charts('since=2026-12-26&until=2027-01-15'), ['per day (UTC)', '4', 63])
  t.strictSame(await charts('since=2027-01-15&until=2027-01-01'), ['per hour', '0', 3], 'the wrong way round')
  t.strictSame(await charts('since=2028-01-01'), ['per five minutes', '0', 3], 'in the future')
  t.strictSame(await charts('since=2025-01-01&until=2025-01-02'), ['per day (UTC)', '0', 3], 'too long ago')
  t.strictSame((await charts('since=2027-01-14', '/'))[1], '1')
  clock.time += HOUR / 6
  const body = await bodyOf('/?since=2027-01-14T06:00&until=2027-01-14T17:59')
  t.match(body, 'Tokens issued from 2027-01-14 06:00 to 2027-01-14 18:00 UTC, on all nodes.')
  t.match(body, /datetime="2027-01-14T18:00:00.000Z">18:00<\/time><\/div>/, 'where the chart ends')
  t.match(body, '<title>From 2027-01-14 17:00 UTC: Tokens')
  t.notMatch(body, 'Most active applications')
  t.match(body, '<details class="range" open>')
  const wrong = await bodyOf('/?since=now')
  t.match(wrong, '<p class="error" id="field-since-error">Write a time like this')
  t.match(wrong, 'Tokens issued per minute')
})

t.test('Overview: the applications that did most in the period are links, the most first', async (t) => {
  const { did, bodyOf, administration, context } = await setting(t, 8)
  const shown = textOf(await bodyOf('/'))
  t.match(shown, /Most active applications in the last 60 minutes All, by tokens in the last hour Tokens issued None\./)
  for (let n = 0; n < 8; n++) await did(`a-${n}`, [n, 8 - n, 0])
  await did('a-0', [99, 0, 1], 30)
  await did('a-6', [0, 0, 0])
  const namesOf = async (url: string) => {
    const [, section = ''] = (await bodyOf(url)).split('id="top"')
    const lists = section.split('<h3>').slice(1, 4)
    return lists.map((list) => [...list.matchAll(/href="\/applications\/a-(\d)\?period/g)].map(([, n]) => n).join(''))
  }
  t.strictSame(await namesOf('/'), ['76543', '01234', ''])
  t.strictSame(await namesOf('/?period=7d'), ['07654', '01234', '0'])
  await administration.applications.remove('a-7')
  t.strictSame(await namesOf('/'), ['65432', '01234', ''])
  context.statistics.readUsage = async () => undefined
  t.match(textOf(await bodyOf('/')), 'Not known yet. Reload the page in a moment.')
})
