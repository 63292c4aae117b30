import t from 'tap'
import { overviewLiveValues } from '../../../src/admin/console/figures.ts'
import { layout } from '../../../src/admin/console/layout.ts'
import { overview } from '../../../src/admin/console/overview.ts'
import type { Statistics } from '../../../src/domain/statistics.ts'
import { createConsoleWorld } from '../../support/console-world.ts'
import { textOf } from '../../support/pages.ts'
import { refusal } from '../../support/refusal.ts'
import { serverNode } from '../../support/server-node.ts'
import { NO_TRAFFIC, statisticsOf, traffic } from '../../support/statistics.ts'
import { START } from '../../support/world.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const BUSY = statisticsOf({
  startedAt: START - 49 * HOUR,
  lastMinute: traffic(1),
  lastHour: { ...traffic(0), tokens: 6000, activeChecks: 90, inactiveChecks: 10, refusals: 33 },
  minutes: statisticsOf().minutes.map(({ endedAt }, n) => ({
    endedAt,
    traffic: n % 10 === 0 ? undefined : traffic(n),
  })),
  refusals: [{ kind: 'authentication', reason: 'wrong secret', count: 33 }],
  liveTokens: { count: 123_456, isExact: false },
  workers: {
    expected: 2,
    serving: 2,
    each: [{ worker: 2, cpuSeconds: 0.251, residentBytes: 2 ** 27, lagSeconds: 0.0123 }],
  },
})

const pageOf = (statistics: Statistics, shown: Partial<Parameters<typeof overview>[1]> = {}) =>
  layout(overview(statistics, { refused: [], canChange: false, ...shown }), {
    operator: { name: 'anna', role: 'viewer' },
  })

/** The page where these statistics differ from those of an empty server. */
const page = (statistics: Parameters<typeof statisticsOf>[0] = {}) => pageOf(statisticsOf(statistics))
/** The page where these facts about the store do. */
const pageOfStore = (store: Partial<Statistics['store']>) => page({ store: { ...statisticsOf().store, ...store } })

/** The text of the live element with this name. */
const shown = (text: string, name: string) => new RegExp(`data-live="${name}"[^>]*>([^<]*)<`).exec(text)?.[1]
/** Whether this conditional part is visible. */
const isShown = (text: string, condition: string) => {
  const found = [...text.matchAll(new RegExp(`data-live-if="${condition}"( hidden)?>`, 'g'))]
  t.ok(found.length > 0, condition)
  return found.every(([, hidden]) => hidden === undefined)
}
/** The texts in each row of the table with this caption. */
const rowsOf = (text: string, caption: string) => {
  const [, body = ''] = new RegExp(`${caption}.*?<tbody[^>]*>(.*?)</tbody>`, 's').exec(text) ?? []
  return [...body.matchAll(/<tr.*?<\/tr>/gs)].map(([row]) =>
    [...row.matchAll(/>([^<>]*[^\s<>][^<>]*)</g)].map(([, cell]) => cell),
  )
}
const momentOf = (time: number) => `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`

t.test('Overview: an empty server says what to do next', async (t) => {
  const text = pageOf(statisticsOf(), { canChange: true })
  t.ok(isShown(text, 'no-tokens'))
  t.match(text, '<a href="/new-application">Register an application</a>')
  t.notMatch(page(), '/new-application', 'but not a viewer, who would be refused')
  t.ok(isShown(text, 'no-refusals'))
  t.match(text, 'No application or suite loses its last secret')
  t.match(text, /Last backup.*never.*token-server backup FILE/)
  const busy = pageOf(BUSY)
  t.notOk(isShown(busy, 'no-tokens') || isShown(busy, 'store-down'))
  for (const [text, statistics] of [
    [busy, BUSY],
    [page(), statisticsOf()],
  ] as const) {
    const places = [...text.matchAll(/data-live(?:-if)?="([^"]+)"/g)].map(([, name]) => name)
    const values = Object.keys(overviewLiveValues(statistics))
    t.strictSame([...new Set(places)].toSorted(), values.toSorted(), 'every live element has a value, and vice versa')
    t.notMatch(text, /undefined|NaN|Infinity/)
  }
})

t.test('Overview: its figures are rounded, and unknown ones are not shown as zero', async (t) => {
  /** Asserts what the live elements with these names show, in this order. */
  function expect(text: string, names: string, ...figures: string[]) {
    const found = names.split(' ').map((name) => shown(text, name))
    t.strictSame(found, figures, names)
  }
  const empty = 'uptime tokens-minute live-tokens token-p99 workers cpu store-place'
  expect(page(), empty, 'less than a minute', '0', '0', '–', '1', '–', 'on disk, write-ahead log 0\u00a0B')
  const busy = pageOf(BUSY)
  expect(busy, 'uptime tokens-minute tokens-hour live-tokens', '2 days', '101', '6,000', 'about 123,456')
  expect(busy, 'checks-hour checks-active refusals-hour token-p99', '100', ', 90\u00a0% valid', '33', '9\u00a0ms')
  expect(busy, 'workers worker-0-cpu worker-1-cpu', '2 of 2', '–', '25\u00a0%')
  expect(busy, 'worker-1-memory worker-1-lag store-size', '128\u00a0MB', '12\u00a0ms', '4\u00a0KB')
  expect(page({ startedAt: START - 47 * HOUR }), 'uptime', '47 h')
  expect(page({ startedAt: START - 59 * MINUTE }), 'uptime', '59 min')
  expect(page({ startedAt: START + MINUTE }), 'uptime', 'less than a minute')
  const unknown = page({ liveTokens: undefined, endingSecrets: undefined })
  expect(unknown, 'live-tokens ending-week ending-day', '–', '–', '–')
  const somewhere = pageOfStore({ databaseBytes: undefined, logBytes: undefined })
  expect(somewhere, 'store-size store-log store-place', '–', '', 'on disk')
  expect(pageOfStore({ databaseBytes: 0 }), 'store-size store-place', 'in memory', 'lost when the server stops')
  const icon = page({ refusals: [{ kind: 'request', reason: 'no such endpoint', count: 2 }] })
  expect(icon, 'reason-0', 'no such endpoint, such as /favicon.ico')
})

t.test('Overview: it says what its figures are of, and problems come first', async (t) => {
  const postgres = pageOfStore({ kind: 'postgres' })
  t.match(postgres, 'those of this node', 'there may be several nodes')
  t.match(postgres, 'PostgreSQL')
  t.notMatch(postgres, 'Last backup')
  t.notMatch(page(), 'those of this node')
  t.match(page({ endingSecrets: undefined }), 'Not known yet.')
  t.notMatch(pageOfStore({ databaseBytes: 0 }), 'Last backup', 'a database in memory has no backup')

  const { store } = statisticsOf()
  const down = page({ store: { ...store, isUp: false }, workers: { expected: 4, serving: 1, each: [] } })
  t.ok(isShown(down, 'store-down') && isShown(down, 'workers-missing'))
  t.notOk(isShown(down, 'store-up'))
  t.equal(shown(down, 'workers'), '1 of 4')
})

t.test('Overview: the table has the same figures, newest minute first, without unknown ones', async (t) => {
  const rows = rowsOf(pageOf(BUSY), 'by minute')
  t.equal(rows.length, 54)
  t.strictSame(rows[0], [
    momentOf(START - MINUTE),
    ...['159', '1,941', '59', '3', '2\u00a0ms', '9\u00a0ms', '0.4\u00a0ms', '2.1\u00a0ms'],
  ])
  t.strictSame(rows.at(-1)?.slice(0, 2), [momentOf(START - 59 * MINUTE), '101'])
  const last = page({ minutes: BUSY.minutes.with(-1, { endedAt: START, traffic: traffic(3) }) })
  t.match(last, '<th role="rowheader" scope="row">Last 60 seconds</th>')
  t.equal(last.split('Last 60 seconds').length, 2)
})

t.test('Overview: of many reasons the most frequent ones are shown, and the rest are summed up', async (t) => {
  const liveOf = (...counts: number[]) =>
    overviewLiveValues(
      statisticsOf({ refusals: counts.map((count, n) => ({ kind: 'request', reason: `reason ${n}`, count })) }),
    )
  for (const [counts, row, shown] of [
    [[100], 0, 'reason 0 100'],
    [[100], 1, ' '],
    [[100, 99, 98, 97, 96, 95], 5, 'reason 5 95'],
    [[100, 99, 98, 97, 96, 95, 94, 93], 5, `other reasons ${95 + 94 + 93}`],
  ] as const) {
    const values = liveOf(...counts)
    t.equal(`${values[`reason-${row}`]} ${values[`reason-${row}-count`]}`, shown)
  }
  t.match(liveOf(3, 1), { 'reason-0-bar': 'M0,4H100', 'reason-1-bar': 'M0,4H33.3' })
})

t.test('Overview: nodes that share a store are in a table, and gone nodes have a badge', async (t) => {
  const at = START - MINUTE
  const self = { isThis: true, isGone: false }
  const text = page({
    nodes: [
      { ...serverNode({ name: 'web-1:8080', lastSeenAt: START }), ...self },
      { ...serverNode({ name: 'web-2:8080', lastSeenAt: at, version: '1.2.4' }), isThis: false, isGone: true },
      { ...serverNode({ name: '<b>web-3</b>', lastSeenAt: START }), isThis: false, isGone: false },
    ],
  })
  t.strictSame(rowsOf(text, 'The nodes that share the database'), [
    ['web-1:8080', 'this node', '1.2.3', '1 of 2', '3', '4', '5', momentOf(START)],
    ['web-2:8080', 'gone', '1.2.4', '–', '–', '–', '–', momentOf(at)],
    ['&lt;b&gt;web-3&lt;/b&gt;', '1.2.3', '1 of 2', '3', '4', '5', momentOf(START)],
  ])
  t.match(text, 'Together in the last minute: 6 tokens, 8 checks, 10 refusals.', 'only nodes that are not gone')
  t.notMatch(page({ nodes: [{ ...serverNode(), ...self }] }), 'this node', 'a single node has no table')
})

t.test('Overview: the charts show the time since the start, later the last hour', async (t) => {
  for (const [minutes, span] of [
    [0, 4],
    [3.9, 4],
    [4, 8],
    [8, 20],
    [20, 40],
    [40, 60],
  ] as const) {
    const values = overviewLiveValues(statisticsOf({ startedAt: START - minutes * MINUTE }))
    t.equal((START - Date.parse(values['tokens-x-0'] as string)) / MINUTE, span)
    t.match(values['tokens-desc'], span === 60 ? ' over the last hour' : ` over the last ${span} minutes`)
  }
  const minutes = BUSY.minutes.map(({ endedAt }) => ({ endedAt, traffic: NO_TRAFFIC }))
  const { 'tokens-line-0': line, 'token-latency-line-0': latency } = overviewLiveValues({ ...BUSY, minutes })
  t.match(line, /^M0,100L10,100L.*L600,100$/)
  t.equal(latency, '')
})

t.test('Overview: who was refused most recently, and whose secrets end soon, is linked', async (t) => {
  const shop = { kind: 'application', id: 'a/b?c', name: '<b>Shop' } as const
  const store = { kind: 'suite', id: 'store', name: 'Store' } as const
  const refused = pageOf(statisticsOf(), {
    refused: [
      { ...shop, reason: 'wrong secret', lastAt: START },
      { ...store, reason: 'made up', lastAt: START - MINUTE },
    ],
  })
  t.match(
    textOf(refused),
    /Refused most recently As of 08:00:00 UTC · Reload .* <b>Shop The secret does not match 2027-01-15 08:00 UTC Store made up 2027-01-15 07:59 UTC/,
  )
  t.match(page(), 'No application or suite was refused in the last 30 days.')
  const next = [shop, store].map((one, n) => ({ ...one, endsAt: START + n }))
  const ending = page({ endingSecrets: { inADay: 2, inAWeek: 21, next } })
  t.match(ending, 'And 19 more.')
  t.equal(shown(ending, 'ending-week'), '21')
  const links = ['<a href="/applications/a%2Fb%3Fc">', '<a href="/suites/store">']
  for (const link of links) for (const text of [refused, ending]) t.match(text, link)
})

t.test('Overview: at most five refused ones are listed, and the page works if the store does not', async (t) => {
  const { signIn, store, administration, clock } = await createConsoleWorld(t)
  const browser = await signIn()
  for (let n = 1; n <= 6; n++) {
    await administration.applications.register({ clientId: `app-${n}`, name: 'A', developerEmail: 'a@b.example' })
    await store.recordRefusals([refusal(`app-${n}`, { lastAt: clock.time + n })])
  }
  const { body } = await browser('/')
  const linked = [...body.matchAll(/href="\/applications\/app-(\d)"/g)].map(([, n]) => n)
  t.strictSame(linked, ['6', '5', '4', '3', '2'])
  t.match(body, /<script type="module" src="\/assets\/live-[0-9a-f]+\.js">/, 'a script updates it')
  t.match(body, statisticsOf().version)
  const button = '<a class="button primary small" href="/new-application">Register an application</a>'
  t.match(body, button)
  t.notMatch((await (await signIn('viewer'))('/')).body, button, 'for those who may')

  store.listLastRefused = async () => {
    throw new Error('no store')
  }
  t.match((await browser('/')).body, 'Not known, because the database does not answer.')
})
