import type { FastifyInstance } from 'fastify'
import { factsOf } from '../../domain/reasons.ts'
import type { RefusedClient } from '../../domain/refusal.ts'
import type { EndingSecrets, NodeStatistics, Statistics } from '../../domain/statistics.ts'
import type { AdminContext } from '../context.ts'
import { chart, type LiveValues, text, times } from './chart.ts'
import { table } from './components/table.ts'
import { asOf, badge, card, emptyState, name, note, section, time } from './components/words.ts'
import { count, duration, NONE, overviewCharts, overviewLiveValues, REASONS } from './figures.ts'
import { canChange } from './forms.ts'
import { type Html, html, type Part, path } from './html.ts'
import { type Page, showPage } from './layout.ts'

const MAX_REFUSED = 5

interface Shown {
  /** Those that were refused last. Undefined if the store does not answer. */
  refused: readonly RefusedClient[] | undefined
  /** Whether to offer registering an application. */
  canChange: boolean
}

/** /: the overview. */
export function overviewPage(console: FastifyInstance, { statistics, store }: AdminContext): void {
  console.get('/', async (request, reply) => {
    // The page also works while the store does not.
    const refused = store.listLastRefused(MAX_REFUSED).catch(() => undefined)
    return showPage(reply, overview(await statistics.read(), { refused: await refused, canChange: canChange(request) }))
  })
}

/** The figures of the server, kept up to date by live.js. */
export function overview(statistics: Statistics, { refused, canChange }: Shown): Page {
  const now = overviewLiveValues(statistics)
  const charts = overviewCharts(statistics)
  const only = (condition: string, content: Part) => html`<div${liveIf(condition, now)}>${content}</div>`
  return {
    title: 'Overview',
    section: '/',
    scripts: ['live.js'],
    lead: html`Version ${text('version', now)}, up for ${text('uptime', now)}. Figures as of <time data-live="at" data-clock="seconds" datetime="${now.at}">${now.at?.slice(11, 19)} UTC</time>.`,
    actions: html`<span class="badge good" data-live-state role="status" hidden></span><button type="button" class="button small" data-live-pause hidden>Pause</button><a class="button small" href="/" data-live-reload>Reload</a>${canChange && html`<a class="button primary small" href="/new-application">Register an application</a>`}`,
    content: html`
<div data-live-ended hidden>${note('warn', html`<p>Your session has ended, so these figures have stopped. <a href="/login">Sign in again</a></p>`)}</div>
${only('store-down', note('bad', html`<p>The database does not answer, so no tokens can be issued or checked. <code>token-server doctor</code> and the log say why.</p>`))}
${only('workers-missing', note('warn', html`<p>Some processes do not answer requests. One that has ended is replaced within seconds; look for <code>worker exited unexpectedly</code> in the log.</p>`))}
${only('no-tokens', emptyState('No tokens were issued in the last hour', html`<p>${canChange && html`<a href="/new-application">Register an application</a> and get a token with its secret: you will see it here at once. `}If a request is refused, the page of the <a href="/applications">application</a> says why.</p>`))}
${statistics.store.kind === 'postgres' && html`<p class="quiet-text">Traffic, times and processes are those of this node; live tokens, secrets and the database are those of all nodes.</p>`}
<div class="cards by-four">${cards(now)}</div>
${nodesSection(statistics)}
<div class="columns">
${charts.slice(0, 3).map((one) => section(`${one.id}-heading`, one.title, chart(one, now)))}
${section('reasons', 'Refusals by reason', html`${only('no-refusals', html`<p class="quiet-text">Nothing was refused in the last hour.</p>`)}${reasons(now)}<p class="hint">Token checks, in which a gateway or an API asks whether a token is valid, are not counted here but under <a href="#checks-heading">Token checks per minute</a>.</p>`)}
${charts.slice(3).map((one) => section(`${one.id}-heading`, one.title, chart(one, now)))}
</div>
${section('refused', 'Refused most recently', refusedTable(refused), asOf(statistics.at, '/'))}
${section('table', 'Figures as a table', figuresTable(statistics))}
<div class="columns">
${section('ending', 'Secrets that end within 7 days', endingTable(statistics.endingSecrets))}
${section('database', 'Database', storeFacts(statistics, now))}
</div>
${section('processes', 'Processes', workersTable(statistics, now))}`,
  }
}

/** Attributes of an element that is shown only while a condition is true. */
function liveIf(condition: string, now: LiveValues): Html {
  return html` data-live-if="${condition}"${now[condition] === '' && html` hidden`}`
}

function cards(now: LiveValues): Html[] {
  const live = (name: string) => text(name, now)
  return [
    card('Tokens issued, last minute', live('tokens-minute'), html`${live('tokens-hour')} in the last hour`),
    card('Valid tokens', live('live-tokens'), 'not expired, not revoked'),
    card(
      'Token checks, last minute',
      live('checks-minute'),
      html`${live('checks-hour')} in the last hour${live('checks-active')}`,
    ),
    card('Refusals, last hour', live('refusals-hour'), html`${live('refusals-minute')} in the last minute`),
    card('Response time (p99)', live('token-p99'), html`for a token; ${live('check-p99')} for a check`),
    card(
      'Secrets that end within 7 days',
      live('ending-week'),
      html`<a href="#ending">${live('ending-day')} within 24 hours</a>`,
    ),
    card('Processes', live('workers'), html`${live('cpu')} CPU, ${live('memory')} memory`),
    card('Database', live('store-size'), live('store-place')),
  ]
}

/** The nodes that share the store. Not updated live. False if there is only one. */
function nodesSection({ nodes, at }: Statistics): Html | false {
  if (nodes.length < 2) return false
  const present = nodes.filter(({ isGone }) => !isGone)
  const sum = (of: (node: NodeStatistics) => number) => count(present.reduce((sum, node) => sum + of(node), 0))
  return section(
    'nodes',
    'Nodes',
    html`${table(
      'The nodes that share the database',
      [
        { label: 'Node' },
        { label: 'Version' },
        { label: 'Processes', kind: 'number' },
        { label: 'Tokens/min', kind: 'number' },
        { label: 'Checks/min', kind: 'number' },
        { label: 'Refusals/min', kind: 'number' },
        { label: 'Last seen' },
      ],
      nodes.map(nodeRow),
    )}
<p class="quiet-text">Together in the last minute: ${sum(({ lastMinute }) => lastMinute.tokens)} tokens, ${sum(({ lastMinute }) => lastMinute.checks)} checks, ${sum(({ lastMinute }) => lastMinute.refusals)} refusals. As of ${time(at)}; reload for newer figures. A node without <code>ADMIN_ADDRESS</code> is not listed.</p>`,
  )
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

/** A bar for each reason. Unused ones are hidden. */
function reasons(now: LiveValues): Html {
  return html`<ul class="bars">${times(REASONS, (n) => {
    const reason = `reason-${n}`
    return html`<li${liveIf(reason, now)}>${text(reason, now)} <span class="number">${text(`${reason}-count`, now)}</span>
<svg class="chart" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><path class="grid" d="M0,4H100"></path><path class="series-2 line" data-live="${reason}-bar" d="${now[`${reason}-bar`]}"></path></svg></li>`
  })}</ul>`
}

/** The applications and suites to look at first. Not updated live. */
function refusedTable(refused: Shown['refused']): Html {
  if (!refused) return html`<p class="quiet-text">Not known, because the database does not answer.</p>`
  if (refused.length === 0)
    return html`<p class="quiet-text">No application or suite was refused in the last 30 days.</p>`
  const rows = refused.map(({ kind, id, name: called, reason, lastAt }) => [
    ownerLink(kind, id, called),
    factsOf(reason)?.words ?? reason,
    time(lastAt),
  ])
  return table(
    'Applications and suites that were refused most recently',
    [{ label: 'Name' }, { label: 'Reason' }, { label: 'Last refused', kind: 'line' }],
    rows,
  )
}

function ownerLink(kind: RefusedClient['kind'], id: string, called: string): Html {
  return html`<a href="${kind === 'application' ? path`/applications/${id}` : path`/suites/${id}`}">${name(called)}</a>`
}

/** All known minutes, newest first. */
function figuresTable({ minutes, at }: Statistics): Html {
  const columns = [
    'Minute until',
    'Tokens',
    'Valid',
    'Not valid',
    'Refusals',
    'Token, median',
    'Token, p99',
    'Check, median',
    'Check, p99',
  ]
  const rows = minutes.flatMap(({ endedAt, traffic }, n) => {
    if (!traffic) return []
    const isLast = n === minutes.length - 1
    const { tokens, activeChecks, inactiveChecks, refusals, tokenLatency, checkLatency } = traffic
    const counts = [tokens, activeChecks, inactiveChecks, refusals].map(count)
    const latencies = [tokenLatency, checkLatency].flatMap((latency) => [latency?.p50, latency?.p99]).map(duration)
    return [[isLast ? 'Last 60 seconds' : time(endedAt), ...counts, ...latencies]]
  })
  return html`<details><summary>Every minute of the last hour, as of ${time(at)}</summary>${table(
    'Tokens, checks, refusals and how long requests took, by minute',
    columns.map((label, n) => (n === 0 ? { label } : { label, kind: 'number' })),
    rows.toReversed(),
  )}</details>`
}

function endingTable(ending: EndingSecrets | undefined): Html {
  if (!ending) return html`<p class="quiet-text">Not known yet.</p>`
  if (ending.next.length === 0)
    return html`<p class="quiet-text">No application or suite loses its last secret within 7 days.</p>`
  const rows = ending.next.map(({ kind, id, name: called, endsAt }) => [
    ownerLink(kind, id, called),
    kind,
    time(endsAt),
  ])
  const more = ending.inAWeek - ending.next.length
  return html`<p>After that, all their requests are refused. Rotate the secret of each, and pass the new one on in time.</p>${table(
    'Applications and suites whose last secret ends soon',
    [{ label: 'Name' }, { label: 'Kind' }, { label: 'Last secret ends' }],
    rows,
  )}${more > 0 && html`<p class="quiet-text">And ${count(more)} more.</p>`}`
}

function workersTable({ workers: { expected } }: Statistics, now: LiveValues): Html {
  return table(
    'The processes that answer requests, in the last second',
    [
      { label: 'Process' },
      { label: 'CPU', kind: 'number' },
      { label: 'Memory', kind: 'number' },
      { label: 'Longest pause', kind: 'number' },
    ],
    times(expected, (n) => [
      `Process ${n + 1}`,
      ...['cpu', 'memory', 'lag'].map((figure) => text(`worker-${n}-${figure}`, now)),
    ]),
  )
}

function storeFacts({ store, startedAt }: Statistics, now: LiveValues): Html {
  const isSqlite = store.kind === 'sqlite'
  return html`<dl class="facts">
<div><dt>Kind</dt><dd>${isSqlite ? 'SQLite' : 'PostgreSQL'} <span${liveIf('store-up', now)}>${badge('answers', 'good')}</span><span${liveIf('store-down', now)}>${badge('does not answer', 'bad')}</span></dd></div>
<div><dt>Size</dt><dd>${text('store-size', now)}${text('store-log', now)}</dd></div>
${isSqlite && store.databaseBytes !== 0 && html`<div><dt>Last backup</dt><dd>${time(store.lastBackupAt)}${store.lastBackupAt === undefined && html`<div class="hint">Make one with <code>token-server backup FILE</code></div>`}</dd></div>`}
<div><dt>Started</dt><dd>${time(startedAt)}</dd></div>
</dl>`
}
