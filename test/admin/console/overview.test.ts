import t from 'tap'
import { overviewCharts, topReasons } from '../../../src/admin/console/figures.ts'
import { layout } from '../../../src/admin/console/layout.ts'
import { liveParts, overview } from '../../../src/admin/console/overview.ts'
import { rangeIn } from '../../../src/admin/console/range.ts'
import type { Statistics } from '../../../src/views/statistics.ts'
import { createConsoleWorld, textOf } from '../../support/console-world.ts'
import { serverNode } from '../../support/server-node.ts'
import { endingSecret, NO_TRAFFIC, statisticsOf, traffic } from '../../support/statistics.ts'
import { START } from '../../support/world.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const BUSY = statisticsOf({
  startedAt: START - 49 * HOUR,
  lastMinute: traffic(1),
  lastHour: { ...traffic(0), tokens: 6000, activeChecks: 90, inactiveChecks: 10, refusals: 33 },
  minutes: statisticsOf().minutes.map((one, n) => ({ ...one, traffic: n % 10 === 0 ? undefined : traffic(n) })),
  refusals: [{ kind: 'authentication', reason: 'wrong secret', count: 33 }],
  liveTokens: { count: 123_456, isExact: false },
  workers: {
    expected: 2,
    serving: 2,
    each: [{ worker: 2, cpuSeconds: 0.251, residentBytes: 2 ** 27, lagSeconds: 0.0123 }],
  },
})

const VIEWER = { canChange: false, acknowledged: new Set<string>() }

const pageOf = (statistics: Statistics, canChange = false) =>
  layout(overview(statistics, { ...VIEWER, canChange }, { range: rangeIn({}, START, '1h') }), {
    operator: { name: 'anna', role: 'viewer', email: null },
  })

/** The page where these statistics differ from those of an empty server. */
const page = (statistics: Parameters<typeof statisticsOf>[0] = {}) => pageOf(statisticsOf(statistics))
/** The page where these facts about the store do. */
const pageOfStore = (store: Partial<Statistics['store']>) => page({ store: { ...statisticsOf().store, ...store } })

/** Whether this conditional part is visible. */
const isShown = (text: string, part: string) => {
  const found = new RegExp(`data-live="${part}"( hidden)?>`).exec(text)
  t.ok(found, part)
  return found?.[1] === undefined
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
  const text = pageOf(statisticsOf(), true)
  t.ok(isShown(text, 'no-tokens'))
  t.match(text, '<a href="/new-application">Register an application</a>')
  t.notMatch(page(), '/new-application', 'but not a viewer, who would be refused')
  t.match(text, 'Nothing was refused since the start.')
  t.match(page({ startedAt: START - HOUR }), 'Nothing was refused in the last hour.')
  t.match(text, /Last backup.*never.*token-server backup FILE/)
  const busy = pageOf(BUSY)
  t.notOk(isShown(busy, 'no-tokens'))
  for (const [text, statistics] of [
    [busy, BUSY],
    [page(), statisticsOf()],
  ] as const) {
    for (const part of Object.values(liveParts(statistics, VIEWER))) t.ok(text.includes(String(part)))
    t.notMatch(text, /undefined|NaN|Infinity/)
  }
})

t.test('Overview: its figures are rounded, and unknown ones are not shown as zero', async (t) => {
  /** Asserts that a page shows all of these. */
  function expect(text: string, ...figures: string[]) {
    const shown = textOf(text)
    for (const figure of figures) t.match(shown, figure)
  }
  expect(page(), 'up for 10 s.', 'last minute 0 0 in the last hour', 'Valid tokens 0 not')
  expect(page(), '(p99) – for a token; – for a check', 'Processes 1 – CPU, – memory')
  expect(page(), '4 KB on disk, write-ahead log 0 B')
  const busy = pageOf(BUSY)
  expect(busy, 'up for 2 days.', 'last minute 101 6,000 in the last hour', 'Valid tokens about 123,456 not')
  expect(busy, '2,000 90 valid in the last hour, 10 not valid', '(p99) 9 ms for a token')
  expect(busy, 'requests 33 in the last hour, 1 in the last minute')
  expect(busy, 'Processes 2 of 2 25 % CPU, 128 MB memory', 'Process 1 – – –', 'Process 2 25 % 128 MB 12 ms')
  expect(page({ startedAt: START + MINUTE }), 'up for 0 s.')
  const unknown = page({ liveTokens: undefined, endingSecrets: undefined })
  expect(unknown, 'Valid tokens – not', 'Used secrets ending – in 7 days; – without a newer one')
  const next = [endingSecret({ endsAt: START + HOUR })]
  const ending = page({ endingSecrets: { inADay: 0, inAWeek: 0, next } })
  expect(ending, 'Used secrets ending 1 in 7 days; 0 without a newer one')
  const unsized = pageOfStore({ databaseBytes: undefined, logBytes: undefined })
  expect(unsized, 'Database – on disk Traffic 1 h 24 h 7 days 30 days In the last 60 minutes From–to', 'Size – Last')
  expect(pageOfStore({ databaseBytes: 0 }), 'Database in memory lost when the server stops', 'Size in memory Started')
  const icon = page({ refusals: [{ kind: 'request', reason: 'no such endpoint', count: 2 }] })
  expect(icon, 'no such endpoint, such as /favicon.ico 2')
})

t.test('Overview: it says what its figures are of, and problems come first', async (t) => {
  const postgres = pageOfStore({ kind: 'postgres' })
  t.match(postgres, 'those of this node', 'there may be several nodes')
  t.match(postgres, 'PostgreSQL')
  t.notMatch(postgres, 'Last backup')
  t.notMatch(page(), 'those of this node')
  t.notMatch(pageOfStore({ databaseBytes: 0 }), 'Last backup', 'a database in memory has no backup')

  const { store } = statisticsOf()
  const readable = { ...store, isUp: false, canWrite: false, problem: 'The disk is full.' }
  t.match(textOf(pageOfStore({ ...readable, canWrite: true })), 'SQLite clock differs')
  t.match(textOf(pageOfStore(readable)), 'SQLite can only be read')
  const down = page({ store: { ...readable, canCheck: false }, workers: { expected: 4, serving: 1, each: [] } })
  t.notMatch(textOf(down), ' answers ')
  t.match(textOf(down), 'SQLite does not answer')
  t.match(textOf(down), 'Processes 1 of 4')
})

t.test('Overview: tokens and checks of the last hour are also those that were stored before the start', async (t) => {
  const stored = { tokens: 1242, checks: 80, refusals: 7 }
  const text = page({ lastHour: { ...traffic(0), refusals: 3 }, stored, liveTokens: undefined })
  t.match(textOf(text), 'Tokens, last minute 0 1,242 in the last hour')
  t.match(textOf(text), '0 2,000 valid in the last hour Refused requests 3 since the start, 0 in the last minute')
  t.notOk(isShown(page({ stored }), 'no-tokens'))
})

t.test('Overview: tiles have the course of a day, and the last full hour beside the same one yesterday', async (t) => {
  const hours = Array.from({ length: 26 }, (_, n) => ({
    since: START - (25 - n) * HOUR,
    ...{ tokens: n === 0 ? 50 : 100 - n, checks: n === 0 ? 0 : 5, refusals: n === 0 ? 1000 : n },
  }))
  const text = page({ hours })
  t.match(textOf(text), ' in the last hour 52 % above yesterday at 07:00 UTC ')
  t.match(textOf(page({ hours: hours.with(-2, { ...hours[24], tokens: 1000 } as never) })), '1,900 % above yesterday')
  t.match(textOf(text), ' in the last minute With checks: 98 % below yesterday at 07:00 UTC ')
  t.notMatch(textOf(text), / in the last hour Valid: /, 'nothing is compared with nothing')
  t.match(textOf(page({ hours: hours.with(0, { ...hours[0], checks: 4 } as never) })), 'Valid: 25 % above yesterday')
  const courses = [...text.matchAll(/class="chart (spark.*?)"/g)].map(([, kind]) => kind)
  t.strictSame(courses, ['spark', 'spark', 'spark warn'])
  t.match(text, 'class="line" d="M0,0L26.1,1', 'those of 24 full hours')
  t.notMatch(page(), /spark|yesterday/)
  t.notMatch(page({ hours: hours.map((hour) => ({ ...hour, tokens: 0, checks: 0, refusals: 0 })) }), /spark|yesterday/)
})

t.test('Overview: the table has the same figures, newest minute first, without unknown ones', async (t) => {
  const rows = rowsOf(pageOf(BUSY), 'by minute')
  t.equal(rows.length, 54)
  t.strictSame(rows[0], [
    momentOf(START - MINUTE),
    ...['159', '1,941', '59', '3', '2', '2\u00a0ms', '9\u00a0ms', '0.4\u00a0ms', '2.1\u00a0ms'],
  ])
  t.strictSame(rows.at(-1)?.slice(0, 2), [momentOf(START - 59 * MINUTE), '101'])
  const last = page({ minutes: BUSY.minutes.with(-1, { endedAt: START, traffic: traffic(3) }) })
  t.match(last, '<th role="rowheader" scope="row">Last 60 seconds</th>')
  t.equal(last.split('Last 60 seconds').length, 2)
})

t.test('Overview: of many reasons the most frequent ones are shown, and the rest are summed up', async (t) => {
  const rowsFor = (...counts: number[]) =>
    topReasons(counts.map((count, n) => ({ reason: `reason ${n}`, count }))).map(({ reason, count }) => [reason, count])
  t.strictSame(rowsFor(100), [['reason 0', 100]])
  t.strictSame(rowsFor(100, 99, 98, 97, 96, 95)[5], ['reason 5', 95])
  const many = rowsFor(100, 99, 98, 97, 96, 95, 94, 93)
  t.strictSame([many.length, many[5]], [6, ['other reasons', 95 + 94 + 93]])
  const [kind, two] = ['request', [3, 1]] as const
  const text = page({ refusals: two.map((count) => ({ kind, reason: `${count} times`, count })) })
  t.match(text, /3 times .*d="M0,4H100"><\/path><\/svg>.*1 times .*d="M0,4H33.3"/s)
  const kinds = (['check', 'request'] as const).map((kind) => ({ kind, reason: kind, count: kind === 'check' ? 2 : 8 }))
  t.match(page({ refusals: kinds }), /request .*d="M0,4H100".*check .*d="M0,4H25"/s, 'on one scale')
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
  t.match(text, 'Together in the last minute: 6 tokens, 8 checks, 10 refused requests.', 'only nodes that are not gone')
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
    const [tokens] = overviewCharts(statisticsOf({ startedAt: START - minutes * MINUTE }))
    t.equal((START - Number(tokens?.moments[0])) / MINUTE, span)
    t.match(tokens?.description, span === 60 ? ' over the last hour' : ` over the last ${span} minutes`)
  }
  const minutes = BUSY.minutes.map(({ endedAt }) => ({ endedAt, traffic: NO_TRAFFIC }))
  const [, line, , latency] = [
    ...pageOf({ ...BUSY, minutes }).matchAll(/<g class="series-1[^"]*">.*class="line" d="(.*?)"/g),
  ]
  t.match(line?.[1], /^M0,100L10,100L.*L600,100$/)
  t.equal(latency?.[1], '')
})

t.test('Overview: refusals, checks that were not valid and failures are counted apart', async (t) => {
  const text = page({
    lastHour: { ...traffic(0), activeChecks: 1, inactiveChecks: 1, failures: 3 },
    refusals: [
      { kind: 'failure', reason: 'store unavailable', count: 3 },
      { kind: 'check', reason: 'unknown token', count: 1 },
    ],
  })
  const shown = textOf(text)
  t.match(shown, /Token checks: not valid\. By application and suite unknown token 1 Failures: .* store unavailable 3/)
  t.match(text, '<li><a href="/refusals?reason=unknown+token">unknown token</a> <')
  t.match(text, /unknown token<.*\n<svg class="chart warn".*store unavailable<.*\n<svg class="chart bad"/s)
  t.match(shown, ', 3 more failed')
  t.notMatch(textOf(page({ lastHour: traffic(0) })), 'more failed')
  t.match(text, '<a href="#reasons">1 not valid</a>')
})

t.test('Overview: an admin can register an application there, and a script updates it', async (t) => {
  const { signIn } = await createConsoleWorld(t)
  const { body } = await (await signIn())('/')
  t.match(body, /<script type="module" src="\/assets\/live-[0-9a-f]+\.js">/)
  t.match(body, statisticsOf().version)
  const button = '<a class="button primary" href="/new-application">Register an application</a>'
  t.match(body, button)
  t.notMatch(await (await signIn('viewer')).body('/'), button, 'a viewer cannot')
})
