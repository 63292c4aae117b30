import type { FastifyInstance } from 'fastify'
import { endingInUse } from '../../administration/attention.ts'
import { REASON_NAMES } from '../../domain/reasons.ts'
import { lasting } from '../../domain/time.ts'
import { type ApplicationCounts, type Counts, HOUR } from '../../domain/usage.ts'
import type { NodeStatistics, Statistics, Usage, WorkerStatistics } from '../../views/statistics.ts'
import { address, type Html, html, type Part } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { type Attending, attendingOf, attention } from './attention.ts'
import { bar, type Chart, chart, sparkline } from './chart.ts'
import {
  badge,
  card,
  clock,
  emptyState,
  facts,
  liveControls,
  name,
  number,
  section,
  type Tone,
  table,
  time,
} from './components.ts'
import { changeOf, count, duration, NONE, overviewCharts, percent, size, topReasons } from './figures.ts'
import { firstHour } from './first-hour.ts'
import { type Page, showPage } from './layout.ts'
import { type Range, rangeControl, rangeIn } from './range.ts'
import { KINDS, topPanel, usageCharts } from './usage.ts'

export function overviewPage(console: FastifyInstance, context: AdminContext): void {
  const { statistics } = context
  console.get('/', async (request, reply) => {
    const range = rangeIn(request.query, context.now(), '1h')
    const { period } = range
    const { usageOf } = administrationOf(context, request)
    const [shown, attending, ofAll, usage] = await Promise.all([
      statistics.read(),
      attendingOf(context, request),
      period && statistics.readUsage(period),
      // The page is shown even if the store does not answer.
      period === '1h' ? undefined : usageOf('', period ?? range).catch(() => undefined),
    ])
    const steps = await firstHour(context, request, shown).catch(() => undefined)
    const page = overview(shown, attending, { range, usage, ofAll }, steps?.later)
    return showPage(reply, { ...page, content: html`${steps?.first}\n${page.content}` })
  })
}

/** What the store has counted in a time. Undefined if unknown. */
type Counted = { range: Range; usage?: Usage | undefined; ofAll?: readonly ApplicationCounts[] | undefined }

/** The figures of the server, with `steps` below what needs attention. live.js keeps some of them up to date. */
export function overview(
  statistics: Statistics,
  attending: Attending,
  { range, usage, ofAll }: Counted,
  steps?: Html,
): Page {
  const { canChange } = attending
  const live = liveParts(statistics, attending)
  return {
    title: 'Overview',
    section: '/',
    scripts: ['live.js', 'chart.js'],
    lead: live.lead,
    actions: html`${liveControls(address('/', range.query))}${canChange && html`<a class="button primary" href="/new-application">Register an application</a>`}`,
    content: html`${live.alerts}
${steps}
${statistics.store.kind === 'postgres' && html`<p class="quiet-text">Traffic of the last hour, times and processes are those of this node; valid tokens, secrets and the database are those of all nodes.</p>`}
${live.cards}
${nodesSection(statistics)}
<div class="panel-head" id="traffic"><h2>Traffic</h2><div class="actions">${rangeControl('/', range, { part: '#traffic', usual: '1h' })}</div></div>
${range.period === '1h' ? live.charts : longCharts(usage, range, statistics)}
${range.period && topPanel(ofAll, range)}
${section('table', 'Figures as a table', figuresTable(statistics))}
<div class="columns">
${section('database', 'Database', live.database)}
${live.processes}
</div>`,
  }
}

export function liveParts(statistics: Statistics, attending: Attending) {
  const { at, startedAt, version, lastHour, liveTokens, stored } = statistics
  const only = (part: string, condition: boolean, content: Part) =>
    html`<div data-live="${part}"${!condition && html` hidden`}>${content}</div>`
  return {
    lead: html`<span data-live="lead">Version ${version}, up for ${lasting(Math.max(at - startedAt, 0))}. Figures as of ${clock(at, 'seconds')}.</span>`,
    alerts: html`
<div data-live="attention">${attention(statistics, attending)}</div>
${only('no-tokens', lastHour.tokens + stored.tokens === 0 && !liveTokens?.count, emptyState('No tokens were issued in the last hour', html`<p>${attending.canChange && html`<a href="/new-application">Register an application</a> and get a token with its secret: you will see it here at once. `}If a request is refused, the page of the <a href="/applications">application</a> says why.</p>`))}`,
    cards: html`<div class="cards" data-live="cards">${cards(statistics)}</div>`,
    charts: html`<div class="columns" data-live="charts">${chartSections(statistics)}</div>`,
    database: html`<div data-live="database">${storeFacts(statistics)}</div>`,
    processes: html`<div data-live="processes">${section('processes', 'Processes', workersTable(statistics))}</div>`,
  }
}

function cards(statistics: Statistics): Html[] {
  const { lastMinute, lastHour, stored, liveTokens, endingSecrets, workers, store } = statistics
  const { each, expected, serving } = workers
  const { inactiveChecks } = lastHour
  const inactive = inactiveChecks > 0 && html`, <a href="#reasons">${count(inactiveChecks)} not valid</a>`
  const failed = lastHour.failures > 0 && `, ${count(lastHour.failures)} more failed`
  const sum = (of: (worker: WorkerStatistics) => number) => each.reduce((total, worker) => total + of(worker), 0)
  const used =
    each.length === 0
      ? [NONE, NONE]
      : [percent(sum(({ cpuSeconds }) => cpuSeconds)), size(sum(({ residentBytes }) => residentBytes))]
  const isInMemory = store.databaseBytes === 0
  return [
    card(
      'Tokens, last minute',
      html`${count(lastMinute.tokens)}${lastDay(statistics, 'tokens')}`,
      html`${count(Math.max(lastHour.tokens, stored.tokens))} in the last hour${comparison(statistics, 'tokens')}`,
    ),
    card(
      'Valid tokens',
      liveTokens ? `${liveTokens.isExact ? '' : 'about '}${count(liveTokens.count)}` : NONE,
      'not expired, not revoked',
    ),
    card(
      'Checks, last minute',
      html`${count(lastMinute.activeChecks + lastMinute.inactiveChecks)}${lastDay(statistics, 'checks')}`,
      html`${count(Math.max(lastHour.activeChecks, stored.checks))} valid in the last hour${inactive}${comparison(statistics, 'checks', 'Valid: ')}`,
    ),
    card(
      'Refused requests',
      html`${count(lastHour.refusals)}${lastDay(statistics, 'refusals')}`,
      html`${counted(statistics)}, ${count(lastMinute.refusals)} in the last minute${failed}${comparison(statistics, 'refusals', 'With checks: ')}`,
    ),
    card(
      'Response time (p99)',
      duration(lastHour.tokenLatency?.p99Seconds),
      `for a token; ${duration(lastHour.checkLatency?.p99Seconds)} for a check`,
    ),
    card(
      'Used secrets ending',
      endingSecrets ? count(endingInUse(endingSecrets)) : NONE,
      `in 7 days; ${endingSecrets ? count(endingSecrets.inAWeek) : NONE} without a newer one`,
    ),
    card(
      'Processes',
      expected === 1 ? count(serving) : `${count(serving)} of ${count(expected)}`,
      `${used[0]} CPU, ${used[1]} memory`,
    ),
    card(
      'Database',
      isInMemory ? 'in memory' : size(store.databaseBytes),
      isInMemory ? 'lost when the server stops' : `on disk${logOf(store)}`,
    ),
  ]
}

/** The last 24 full hours, unless nothing happened in them, as far as is known. */
function lastDay({ hours = [] }: Statistics, kind: keyof Counts): Html | false {
  const counts = hours.slice(1, -1).map(({ [kind]: count }) => count)
  return counts.some((count) => count > 0) && sparkline(counts, kind === 'refusals' ? 'warn' : undefined)
}

/** The last full hour and the same one yesterday. Undefined if nothing is known of that. */
function comparison({ hours = [] }: Statistics, kind: keyof Counts, what = ''): Html | undefined {
  const yesterday = hours[0]?.[kind]
  if (!yesterday) return
  const { since, [kind]: last } = hours.at(-2) as (typeof hours)[number]
  return html`<br>${what}${changeOf(yesterday, last)} yesterday at ${clock(since)}`
}

/** When this process began to count: its figures do not outlive it. */
function counted({ at, startedAt }: Statistics): string {
  return at - startedAt < HOUR ? 'since the start' : 'in the last hour'
}

function logOf({ databaseBytes, logBytes }: Statistics['store']): string {
  return databaseBytes === 0 || logBytes === undefined ? '' : `, write-ahead log ${size(logBytes)}`
}

function chartSection(one: Chart): Html {
  return section(`${one.id}-heading`, one.title, chart(one))
}

function chartSections(statistics: Statistics): Html[] {
  return overviewCharts(statistics)
    .map(chartSection)
    .toSpliced(3, 0, section('reasons', 'Refused and failed, by reason', reasons(statistics)))
}

/** The charts of another time, for all nodes, from the store. */
function longCharts(usage: Usage | undefined, range: Range, statistics: Statistics): Html {
  if (!usage) return html`<p class="quiet-text">Not known, because the database does not answer.</p>`
  const sections = usageCharts(usage, KINDS, range, statistics.outages).map(chartSection)
  const ofLastHour = section('reasons', 'Refused and failed, by reason (last hour only)', reasons(statistics))
  return html`<div class="columns">${sections}${ofLastHour}</div>`
}

/** What is counted separately, the kinds of its reasons, and its tone. */
const COUNTED: readonly (readonly [label: Part, kinds: readonly string[], tone: Tone])[] = [
  ['Refused requests, without token checks', ['authentication', 'request'], 'warn'],
  [html`Token checks: not valid. <a href="/refusals#counted">By application and suite</a>`, ['check'], 'warn'],
  ['Failures: answered with 5xx', ['failure'], 'bad'],
]

function reasons(statistics: Statistics): Part {
  const { refusals } = statistics
  if (refusals.length === 0) return html`<p class="quiet-text">Nothing was refused ${counted(statistics)}.</p>`
  const lists = COUNTED.map(([label, kinds, tone]) => {
    return [label, topReasons(refusals.filter(({ kind }) => kinds.includes(kind))), tone] as const
  })
  const most = Math.max(...lists.flatMap(([, shown]) => shown.map(({ count }) => count)))
  return lists.map(([label, shown, tone]) => {
    if (shown.length === 0) return false
    return html`<p class="hint">${label}</p><ul class="bars">${shown.map((one) => reasonBar(one, most, tone))}</ul>`
  })
}

function reasonBar({ reason, count: times }: ReturnType<typeof topReasons>[number], most: number, tone: Tone): Html {
  const link = html`<a href="${address('/refusals', { reason })}">${reason}</a>`
  return html`<li>${REASON_NAMES.includes(reason) ? link : reason} <span class="number">${count(times)}</span>
${bar((times * 100) / most, tone)}</li>`
}

/** The nodes that share the store; not updated live. False if there is only one. */
function nodesSection({ nodes, at }: Statistics): Html | false {
  if (nodes.length < 2) return false
  const present = nodes.filter(({ isGone }) => !isGone)
  const sum = (of: (node: NodeStatistics) => number) => count(present.reduce((sum, node) => sum + of(node), 0))
  const figures = ['Processes', 'Tokens/min', 'Checks/min', 'Refused requests/min'].map(number)
  const columns = ['Node', 'Version', ...figures, 'Last seen']
  const content = html`${table('The nodes that share the database', columns, nodes.map(nodeRow))}
<p class="quiet-text">Together in the last minute: ${sum(({ lastMinute }) => lastMinute.tokens)} tokens, ${sum(({ lastMinute }) => lastMinute.checks)} checks, ${sum(({ lastMinute }) => lastMinute.refusals)} refused requests. As of ${time(at)}; reload for newer figures. A node with none of <code>ADMIN_ADDRESS</code>, <code>OPS_ADDRESS</code> and <code>NOTICE_URL_FILE</code> is not listed.</p>`
  return section('nodes', 'Nodes', content)
}

function nodeRow({ name: called, version, isThis, isGone, workers, lastMinute, lastSeenAt }: NodeStatistics): Part[] {
  const { tokens, checks, refusals } = lastMinute
  const figures = [`${count(workers.serving)} of ${count(workers.expected)}`, ...[tokens, checks, refusals].map(count)]
  return [
    html`${name(called)} ${isThis && badge('this node', 'good')}${isGone && badge('gone', 'bad')}`,
    version,
    ...(isGone ? figures.map(() => NONE) : figures),
    time(lastSeenAt),
  ]
}

function figuresTable({ minutes, at }: Statistics): Html {
  const columns = [
    'Tokens',
    'Valid',
    'Not valid',
    'Refused requests',
    'Failures',
    'Token, median',
    'Token, p99',
    'Check, median',
    'Check, p99',
  ]
  const rows = minutes.flatMap(({ endedAt, traffic }, n) => {
    if (!traffic) return []
    const isLast = n === minutes.length - 1
    const { tokens, activeChecks, inactiveChecks, refusals, failures, tokenLatency, checkLatency } = traffic
    const counts = [tokens, activeChecks, inactiveChecks, refusals, failures].map(count)
    const latencies = [tokenLatency, checkLatency]
      .flatMap((latency) => [latency?.p50Seconds, latency?.p99Seconds])
      .map(duration)
    return [[isLast ? 'Last 60 seconds' : time(endedAt), ...counts, ...latencies]]
  })
  return html`<details><summary>Every minute of the last hour, as of ${time(at)}</summary>${table(
    'Tokens, checks, refused requests and how long requests took, by minute',
    ['Minute until', ...columns.map(number)],
    rows.toReversed(),
  )}</details>`
}

function workersTable({ workers: { expected, each } }: Statistics): Html {
  return table(
    'The processes that answer requests, in the last second',
    ['Process', number('CPU'), number('Memory'), number('Longest pause')],
    Array.from({ length: expected }, (_, n) => {
      const one = each.find(({ worker }) => worker === n + 1)
      return [
        `Process ${n + 1}`,
        one ? percent(one.cpuSeconds) : NONE,
        size(one?.residentBytes),
        duration(one?.lagSeconds),
      ]
    }),
  )
}

function storeFacts({ store, startedAt }: Statistics): Html {
  const { kind, isUp, canWrite, canCheck, databaseBytes, lastBackupAt } = store
  const isInMemory = databaseBytes === 0
  return facts([
    [
      'Kind',
      html`${kind === 'sqlite' ? 'SQLite' : 'PostgreSQL'} ${isUp ? badge('answers', 'good') : badge(canWrite ? 'clock differs' : canCheck ? 'can only be read' : 'does not answer', 'bad')}`,
    ],
    ['Size', isInMemory ? 'in memory' : `${size(databaseBytes)}${logOf(store)}`],
    kind === 'sqlite' &&
      !isInMemory && [
        'Last backup',
        html`${time(lastBackupAt)}${lastBackupAt === undefined && html`<div class="hint">Make one with <code>token-server backup FILE</code></div>`}`,
      ],
    ['Started', time(startedAt)],
  ])
}
