import t from 'tap'
import { overviewLiveValues } from '../../../src/admin/console/figures.ts'
import { layout } from '../../../src/admin/console/layout.ts'
import { overview } from '../../../src/admin/console/overview.ts'
import type { Statistics } from '../../../src/domain/statistics.ts'
import { createConsoleWorld } from '../../support/console-world.ts'
import { textOf } from '../../support/pages.ts'
import { serverNode } from '../../support/server-node.ts'
import { NO_TRAFFIC, statisticsOf, traffic } from '../../support/statistics.ts'
import { START } from '../../support/world.ts'

const BUSY = statisticsOf({
  startedAt: START - 49 * 60 * 60_000,
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

const page = (statistics: Statistics, shown: Partial<Parameters<typeof overview>[1]> = {}) =>
  layout(overview(statistics, { refused: [], canChange: false, ...shown }), {
    operator: { name: 'anna', role: 'viewer' },
  })

/** The text of the live element with this name. */
const shown = (text: string, name: string) => new RegExp(`data-live="${name}"[^>]*>([^<]*)<`).exec(text)?.[1]
/** Whether this conditional part is visible. */
const isShown = (text: string, condition: string) => {
  const found = [...text.matchAll(new RegExp(`data-live-if="${condition}"( hidden)?>`, 'g'))]
  t.ok(found.length > 0, condition)
  return found.every(([, hidden]) => hidden === undefined)
}

t.test('Overview: an empty server says what to do next', async (t) => {
  const text = page(statisticsOf(), { canChange: true })
  t.ok(isShown(text, 'no-tokens'))
  t.match(text, '<a href="/new-application">Register an application</a>')
  t.notMatch(page(statisticsOf()), '/new-application', 'but not a viewer, who would be refused')
  t.ok(isShown(text, 'no-refusals'))
  t.match(text, 'No application or suite loses its last secret')
  t.equal(shown(text, 'uptime'), 'less than a minute')
  t.strictSame(
    ['tokens-minute', 'live-tokens', 'token-p99', 'workers', 'cpu'].map((name) => shown(text, name)),
    ['0', '0', '–', '1', '–'],
  )
  t.match(text, /Last backup.*never.*token-server backup FILE/)
})

t.test('Overview: if there may be several nodes, it marks the figures of one node', async (t) => {
  const { store } = statisticsOf()
  t.match(page(statisticsOf({ store: { ...store, kind: 'postgres' } })), 'those of this node')
  t.notMatch(page(statisticsOf()), 'those of this node')
})

t.test('Overview: a busy server shows its figures', async (t) => {
  const text = page(BUSY)
  t.notOk(isShown(text, 'no-tokens'))
  t.notOk(isShown(text, 'store-down'))
  const figures = {
    'tokens-minute': '101',
    'tokens-hour': '6,000',
    'live-tokens': 'about 123,456',
    'checks-hour': '100',
    'checks-active': ', 90\u00a0% valid',
    'refusals-hour': '33',
    'token-p99': '9\u00a0ms',
    workers: '2 of 2',
    'worker-0-cpu': '–',
    'worker-1-cpu': '25\u00a0%',
    'worker-1-memory': '128\u00a0MB',
    'worker-1-lag': '12\u00a0ms',
    'store-size': '4\u00a0KB',
  }
  t.strictSame(Object.fromEntries(Object.keys(figures).map((name) => [name, shown(text, name)])), figures)
  t.equal(shown(text, 'uptime'), '2 days')
  t.equal(shown(page(statisticsOf({ startedAt: START - 47 * 60 * 60_000 })), 'uptime'), '47 h')
  t.equal(shown(page(statisticsOf({ startedAt: START - 59 * 60_000 })), 'uptime'), '59 min')
  t.equal(shown(page(statisticsOf({ startedAt: START + 60_000 })), 'uptime'), 'less than a minute', 'the clock was set')
})

t.test('Overview: the table has the same figures, newest minute first, without unknown ones', async (t) => {
  const text = page(BUSY)
  const [, body = ''] = /by minute.*?<tbody[^>]*>(.*?)<\/tbody>/s.exec(text) ?? []
  const rows = [...body.matchAll(/<tr.*?<\/tr>/gs)].map(([row]) =>
    [...row.matchAll(/>([^<>]+)</g)].map(([, cell]) => cell),
  )
  t.equal(rows.length, 54)
  const minute = [59, 1].map((n) => new Date(START - (60 - n) * 60_000).toISOString().slice(11, 16))
  t.strictSame(rows[0], [
    `2027-01-15 ${minute[0]} UTC`,
    '159',
    '1,941',
    '59',
    '3',
    '2\u00a0ms',
    '9\u00a0ms',
    '0.4\u00a0ms',
    '2.1\u00a0ms',
  ])
  t.strictSame(rows.at(-1)?.slice(0, 2), [`2027-01-15 ${minute[1]} UTC`, '101'])
})

t.test('Overview: the first row of the table is the last 60 seconds', async (t) => {
  const minutes = BUSY.minutes.with(-1, { endedAt: START, traffic: traffic(3) })
  t.match(page(statisticsOf({ minutes })), '<th role="rowheader" scope="row">Last 60 seconds</th>')
  t.equal(page(statisticsOf({ minutes })).split('Last 60 seconds').length, 2)
})

t.test('Overview: problems come first', async (t) => {
  const { store } = statisticsOf()
  const text = page(statisticsOf({ store: { ...store, isUp: false }, workers: { expected: 4, serving: 1, each: [] } }))
  t.ok(isShown(text, 'store-down'))
  t.notOk(isShown(text, 'store-up'))
  t.ok(isShown(text, 'workers-missing'))
  t.equal(shown(text, 'workers'), '1 of 4')
})

t.test('Overview: of many reasons the most frequent ones are shown, and the rest are summed up', async (t) => {
  const reasons = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ kind: 'request' as const, reason: `reason ${n}`, count: 100 - n }))
  const all = (count: number) => {
    const changing = overviewLiveValues(statisticsOf({ refusals: reasons(count) }))
    return [0, 1, 2, 3, 4, 5].map((n) => `${changing[`reason-${n}`]} ${changing[`reason-${n}-count`]}`)
  }
  t.strictSame(all(1), ['reason 0 100', ' ', ' ', ' ', ' ', ' '])
  t.equal(all(6)[5], 'reason 5 95')
  t.equal(all(8)[5], `other reasons ${95 + 94 + 93}`)
  const { 'reason-0-bar': first, 'reason-1-bar': second } = overviewLiveValues(
    statisticsOf({
      refusals: [
        { kind: 'request', reason: 'a', count: 3 },
        { kind: 'request', reason: 'b', count: 1 },
      ],
    }),
  )
  t.strictSame([first, second], ['M0,4H100', 'M0,4H33.3'])
})

t.test('Overview: nodes that share a store are in a table, and gone nodes have a badge', async (t) => {
  const at = START - 60_000
  const nodes = [
    { ...serverNode({ name: 'web-1:8080', lastSeenAt: START }), isThis: true, isGone: false },
    { ...serverNode({ name: 'web-2:8080', lastSeenAt: at, version: '1.2.4' }), isThis: false, isGone: true },
    { ...serverNode({ name: '<b>web-3</b>', lastSeenAt: START }), isThis: false, isGone: false },
  ]
  const text = page(statisticsOf({ nodes }))
  const [, body = ''] = /<table.*?The nodes that share the database.*?<tbody[^>]*>(.*?)<\/tbody>/s.exec(text) ?? []
  const rows = [...body.matchAll(/<tr.*?<\/tr>/gs)].map(([row]) =>
    [...row.matchAll(/>([^<>]*\S[^<>]*)</g)].map(([, cell]) => cell),
  )
  const moment = (time: number) => `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`
  t.strictSame(rows, [
    ['web-1:8080', 'this node', '1.2.3', '1 of 2', '3', '4', '5', moment(START)],
    ['web-2:8080', 'gone', '1.2.4', '–', '–', '–', '–', moment(at)],
    ['&lt;b&gt;web-3&lt;/b&gt;', '1.2.3', '1 of 2', '3', '4', '5', moment(START)],
  ])
  t.match(text, 'Together in the last minute: 6 tokens, 8 checks, 10 refusals.', 'only nodes that are not gone')
})

t.test('Overview: a single node has no table of nodes', async (t) => {
  const nodes = [{ ...serverNode(), isThis: true, isGone: false }]
  t.notMatch(page(statisticsOf({ nodes })), 'this node')
})

t.test('Overview: owners whose secrets end soon are linked, and their names escaped', async (t) => {
  const next = [
    { kind: 'application' as const, id: 'a/b?c', name: '<script>alert(1)</script>', endsAt: START + 1000 },
    { kind: 'suite' as const, id: 'store', name: 'متجر', endsAt: START + 2000 },
  ]
  const text = page(statisticsOf({ endingSecrets: { inADay: 2, inAWeek: 21, next } }))
  t.match(text, 'href="/applications/a%2Fb%3Fc"')
  t.match(text, 'href="/suites/store"')
  t.notMatch(text, '<script>alert')
  t.match(text, 'And 19 more.')
  t.equal(shown(text, 'ending-week'), '21')
})

t.test('Overview: unknown values are not shown as zero', async (t) => {
  const { store } = statisticsOf()
  const text = page(
    statisticsOf({
      liveTokens: undefined,
      endingSecrets: undefined,
      store: { ...store, kind: 'postgres', databaseBytes: undefined, logBytes: undefined },
    }),
  )
  t.strictSame(
    ['live-tokens', 'ending-week', 'ending-day', 'store-size', 'store-log'].map((name) => shown(text, name)),
    ['–', '–', '–', '–', ''],
  )
  t.match(text, 'Not known yet.')
  t.match(text, 'PostgreSQL')
  t.notMatch(text, 'Last backup')
})

t.test('Overview: every live value has an element on the page, and every live element a value', async (t) => {
  for (const statistics of [BUSY, statisticsOf()]) {
    const text = page(statistics)
    const places = [...text.matchAll(/data-live(?:-if)?="([^"]+)"/g)].map(([, name]) => name)
    t.strictSame([...new Set(places)].toSorted(), Object.keys(overviewLiveValues(statistics)).toSorted())
    t.notMatch(text, /undefined|NaN|Infinity/)
  }
})

t.test('Overview: with nothing but zeros, the lines are at the bottom', async (t) => {
  const minutes = BUSY.minutes.map(({ endedAt }) => ({ endedAt, traffic: NO_TRAFFIC }))
  const { 'tokens-line-0': line, 'token-latency-line-0': latency } = overviewLiveValues({ ...BUSY, minutes })
  t.match(line, /^M0,100L10,100L.*L600,100$/)
  t.equal(latency, '')
})

t.test('Overview: the charts of a new server show only the time since its start, later the last hour', async (t) => {
  const shownFor = (minutes: number) => {
    const changing = overviewLiveValues(statisticsOf({ startedAt: START - minutes * 60_000 }))
    return [(START - Date.parse(changing['tokens-x-0'] as string)) / 60_000, changing['tokens-desc']?.split(/[,.] /)[1]]
  }
  for (const [minutes, span] of [
    [0, 4],
    [3.9, 4],
    [4, 8],
    [8, 20],
    [20, 40],
  ] as const) {
    t.strictSame(shownFor(minutes), [span, `over the last ${span} minutes`])
  }
  t.strictSame(shownFor(40), [60, 'over the last hour'])
})

t.test('Overview: a database in memory says so, and offers no backup', async (t) => {
  const { store } = statisticsOf()
  const text = page(statisticsOf({ store: { ...store, databaseBytes: 0 } }))
  t.equal(shown(text, 'store-size'), 'in memory')
  t.equal(shown(text, 'store-place'), 'lost when the server stops')
  t.notMatch(text, 'Last backup')
  t.equal(shown(page(statisticsOf()), 'store-place'), 'on disk, write-ahead log 0\u00a0B')
  const unknown = statisticsOf({ store: { ...store, databaseBytes: undefined, logBytes: undefined } })
  t.equal(shown(page(unknown), 'store-place'), 'on disk')
})

t.test('Overview: browser requests such as /favicon.ico are named as such', async (t) => {
  const refusals = [{ kind: 'request' as const, reason: 'no such endpoint', count: 2 }]
  t.equal(shown(page(statisticsOf({ refusals })), 'reason-0'), 'no such endpoint, such as /favicon.ico')
})

t.test('Overview: those that were refused most recently are linked, with the reason', async (t) => {
  const refused = [
    { kind: 'application' as const, id: 'a/b', name: '<b>Shop', reason: 'wrong secret', lastAt: START },
    { kind: 'suite' as const, id: 'store', name: 'Store', reason: 'made up', lastAt: START - 60_000 },
  ]
  const text = page(statisticsOf(), { refused })
  t.match(text, '<a href="/applications/a%2Fb">')
  t.match(text, '<a href="/suites/store">')
  t.match(
    textOf(text),
    /Refused most recently As of 08:00:00 UTC · Reload .* <b>Shop The secret does not match 2027-01-15 08:00 UTC Store made up 2027-01-15 07:59 UTC/,
  )
  t.match(page(statisticsOf()), 'No application or suite was refused in the last 30 days.')
})

t.test('Overview: at most five refused ones are listed, and the page works if the store does not', async (t) => {
  const { signIn, store, administration, clock } = await createConsoleWorld(t)
  const browser = await signIn()
  const ids = [1, 2, 3, 4, 5, 6].map((n) => `app-${n}`)
  for (const [n, clientId] of ids.entries()) {
    await administration.applications.register({ clientId, name: clientId, developerEmail: 'a@b.example' })
    const lastAt = clock.time + n
    const what = { isKnown: true, reason: 'wrong secret', endpoint: '/', suite: undefined, remoteAddress: '192.0.2.1' }
    const last = { count: 1, firstAt: lastAt, lastAt, requestId: undefined, traceId: undefined }
    await store.recordRefusals([{ clientId, ...what, ...last }])
  }
  const { body } = await browser('/')
  const linked = [...body.matchAll(/href="\/applications\/(app-\d)"/g)].map(([, id]) => id)
  t.strictSame(linked, ids.slice(1).toReversed())
  store.listLastRefused = async () => {
    throw new Error('no store')
  }
  const without = await browser('/')
  t.equal(without.statusCode, 200)
  t.match(without.body, 'Not known, because the database does not answer.')
})
