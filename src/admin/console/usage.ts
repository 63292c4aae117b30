import type { FastifyRequest } from 'fastify'
import type { ApplicationCounts, Counts } from '../../domain/usage.ts'
import type { Outage, Usage } from '../../views/statistics.ts'
import { address, type Html, html, path } from '../../web/html.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf } from '../wire/caller.ts'
import { bar, type Chart, chart } from './chart.ts'
import { name, number, section, table, time } from './components.ts'
import { count, short } from './figures.ts'
import { type Range, rangeControl, rangeIn } from './range.ts'

const EACH: Record<number, string> = { 300: 'five minutes', 3600: 'hour', 86400: 'day (UTC)' }

export const KINDS = ['tokens', 'checks', 'refusals'] as const

type Kind = (typeof KINDS)[number]

/** The store has one count of refused requests and checks together, so they cannot be stacked on what was answered. */
const TITLES = { tokens: 'Tokens issued', checks: 'Valid checks', refusals: 'Refused requests and checks' }

const toneOf = (kind: Kind) => (kind === 'refusals' ? 'warn' : undefined)

/** A chart of each kind. */
export function usageCharts(
  { stepSeconds, points }: Usage,
  kinds: readonly Kind[],
  { words, until }: Range,
  outages: readonly Outage[],
): Chart[] {
  return kinds.map((kind) => ({
    id: `usage-${kind}`,
    title: `${TITLES[kind]} per ${EACH[stepSeconds]}`,
    description: `${TITLES[kind]} ${words}, on all nodes.`,
    moments: points.map(({ since }) => since),
    series: [{ label: TITLES[kind], tone: toneOf(kind), figures: points.map((point) => point[kind]) }],
    format: short,
    step: 1,
    span: stepSeconds * 1000,
    outages,
    until,
  }))
}

/** What an application or a suite did in a period: sums, charts, and a table of both. `hint` says what the counts mean. */
export async function usagePanel(
  context: AdminContext,
  request: FastifyRequest,
  { clientId, base, kinds, hint }: { clientId: string; base: string; kinds: readonly Kind[]; hint: string },
): Promise<Html> {
  const range = rangeIn(request.query, context.now(), '24h')
  const { period, words } = range
  const usage = await administrationOf(context, request).usageOf(clientId, period ?? range)
  const charts = usageCharts(usage, kinds, range, context.statistics.outages())
  const sums = kinds.map((kind, n) => {
    const drawn = chart(charts[n] as Chart)
    return html`<div><h3>${TITLES[kind]}</h3><p class="card-figure">${count(usage[kind])}</p>${drawn}</div>`
  })
  const rows = usage.points.map((point) => [time(point.since), ...kinds.map((kind) => count(point[kind]))])
  return section(
    'usage',
    'Usage',
    html`<div class="usage">${sums}</div>
<p class="hint">${hint} ${words}, per ${EACH[usage.stepSeconds]}, on all nodes, up to a minute late. Not live: reload for newer figures.</p>
<details><summary>As a table</summary>${table(
      `Usage ${words}`,
      ['From', ...kinds.map((kind) => number(TITLES[kind]))],
      rows.toReversed(),
    )}</details>`,
    rangeControl(base, range, { part: '#usage', usual: '24h' }),
  )
}

const TOP = 5

const MORE = html`<a href="/applications?sort=tokens">All, by tokens in the last hour</a>`

/** The most active applications in a period. `all` is undefined if not known yet. */
export function topPanel(all: readonly ApplicationCounts[] | undefined, { period, words }: Range): Html {
  const list = (kind: Kind) => {
    const top = mostOf(all ?? [], kind)
    const rows = top.map(
      ({ clientId, name: called, [kind]: times }) =>
        html`<li><a href="${address(path`/applications/${clientId}`, { period: String(period) })}">${name(called)}</a> <span class="number">${count(times)}</span>
${bar((times * 100) / (top[0] as Counts)[kind], toneOf(kind))}</li>`,
    )
    return html`<div><h3>${TITLES[kind]}</h3>${rows.length > 0 ? html`<ol class="bars">${rows}</ol>` : html`<p class="quiet-text">None.</p>`}</div>`
  }
  const lists = html`<div class="usage">${KINDS.map(list)}</div>`
  const unknown = html`<p class="quiet-text">Not known yet. Reload the page in a moment.</p>`
  return section('top', `Most active applications ${words}`, all ? lists : unknown, MORE)
}

/** Works in one pass, because there may be many applications. */
function mostOf(all: readonly ApplicationCounts[], kind: Kind): ApplicationCounts[] {
  let most: ApplicationCounts[] = []
  for (const one of all) {
    const least = most[TOP - 1]?.[kind] ?? 0
    if (one[kind] > least) most = [...most, one].sort((a, b) => b[kind] - a[kind]).slice(0, TOP)
  }
  return most
}
