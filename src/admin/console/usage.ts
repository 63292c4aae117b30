import type { FastifyRequest } from 'fastify'
import type { Application, ApplicationKey } from '../../domain/application.ts'
import type { Outage, Statistics } from '../../domain/statistics.ts'
import { type Counts, PERIOD_NAMES, PERIODS, type Period, type Usage } from '../../domain/usage.ts'
import type { AdminContext } from '../context.ts'
import { type Chart, chart } from './chart.ts'
import { name, number, section, table, time } from './components.ts'
import { count, short } from './figures.ts'
import { fieldsOf } from './forms.ts'
import { address, type Html, html, path } from './html.ts'

/** The periods, in words. */
const WORDS: Record<Period, { link: string; text: string; each: string }> = {
  '1h': { link: '1 h', text: 'in the last 60 minutes', each: 'five minutes' },
  '24h': { link: '24 h', text: 'in the last 24 hours', each: 'hour' },
  '7d': { link: '7 days', text: 'in the last 7 days', each: 'hour' },
}

/** The period that a page was asked for, or else this one. */
export function periodOf({ query }: FastifyRequest, usual: Period): Period {
  const asked = fieldsOf(query).text('period')
  return PERIOD_NAMES.find((period) => period === asked) ?? usual
}

/** Links to the same part of a page with each period. */
export function periodLinks(base: string, part: string, current: Period): Html {
  const link = (period: Period) =>
    html`<a class="button small" href="${address(base, { period })}#${part}"${period === current && html` aria-current="true"`}>${WORDS[period].link}</a>`
  return html`<nav class="periods" aria-label="Period">${PERIOD_NAMES.map(link)}</nav>`
}

type Kind = keyof Counts

const TITLES: Record<Kind, string> = { tokens: 'Tokens issued', checks: 'Valid checks', refusals: 'Refusals' }

/** A chart of each of these kinds of counts. */
export function usageCharts({ period, points }: Usage, kinds: readonly Kind[], outages: readonly Outage[]): Chart[] {
  return kinds.map((kind) => ({
    id: `usage-${kind}`,
    title: `${TITLES[kind]} per ${WORDS[period].each}`,
    description: `${TITLES[kind]} ${WORDS[period].text}, on all nodes.`,
    moments: points.map(({ since }) => since),
    series: [{ label: TITLES[kind], figures: points.map((point) => point[kind]) }],
    format: short,
    step: 1,
    span: PERIODS[period].span,
    outages,
  }))
}

interface Panel {
  usage: Usage
  /** The path of the page. */
  base: string
  kinds: readonly Kind[]
  /** What the counts mean. */
  hint: string
  statistics: Pick<Statistics, 'outages'>
}

/** What an application or a suite did in a period: sums, charts, and the same as a table. */
export function usagePanel({ usage, base, kinds, hint, statistics }: Panel): Html {
  const charts = usageCharts(usage, kinds, statistics.outages)
  const sums = kinds.map((kind, n) => {
    const drawn = chart(charts[n] as Chart)
    return html`<div><h3>${TITLES[kind]}</h3><p class="card-figure">${count(usage[kind])}</p>${drawn}</div>`
  })
  const words = WORDS[usage.period]
  const rows = usage.points.map((point) => [time(point.since), ...kinds.map((kind) => count(point[kind]))])
  return section(
    'usage',
    'Usage',
    html`<div class="usage">${sums}</div>
<p class="hint">${hint} ${words.text}, per ${words.each}, on all nodes; up to a minute late.</p>
<details><summary>As a table</summary>${table(
      `Usage ${words.text}`,
      ['From', ...kinds.map((kind) => number(TITLES[kind]))],
      rows.toReversed(),
    )}</details>`,
    periodLinks(base, 'usage', usage.period),
  )
}

const TOP = 5

/** The applications that did most of something in a period, with their names; the most first. */
export interface TopClients {
  kind: Kind
  clients: readonly { application: Application; count: number }[]
}

/** The applications that did most in a period. Undefined: not known yet. Throws StoreUnavailable. */
export async function topClients(
  { store, statistics }: AdminContext,
  period: Period,
): Promise<readonly TopClients[] | undefined> {
  const all = await statistics.readUsage(period)
  if (!all) return undefined
  const tops = (['tokens', 'checks', 'refusals'] as const).map((kind) => ({ kind, most: mostOf(all, kind) }))
  const keys = new Set(tops.flatMap(({ most }) => most.map(({ key }) => key)))
  const known = new Map((await store.listApplicationsOf([...keys])).map((one) => [one.key, one]))
  return tops.map(({ kind, most }) => ({
    kind,
    clients: most.flatMap(({ key, count }) => {
      const application = known.get(key)
      return application ? { application, count } : []
    }),
  }))
}

/** One pass over all, because there may be many. */
function mostOf(all: ReadonlyMap<ApplicationKey, Counts>, kind: Kind) {
  let most: { key: ApplicationKey; count: number }[] = []
  for (const [key, { [kind]: count }] of all) {
    const least = most.length < TOP ? 0 : (most.at(-1)?.count ?? 0)
    if (count > least) most = [...most, { key, count }].sort((one, other) => other.count - one.count).slice(0, TOP)
  }
  return most
}

export function topPanel(tops: readonly TopClients[] | undefined, period: Period): Html {
  const list = ({ kind, clients }: TopClients) => {
    const most = clients[0]?.count ?? 0
    const rows = clients.map(
      ({ application: { clientId, name: called }, count: times }) =>
        html`<li><a href="${address(path`/applications/${clientId}`, { period })}">${name(called)}</a> <span class="number">${count(times)}</span>
<svg class="chart" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><path class="grid" d="M0,4H100"></path><path class="line" d="M0,4H${(times * 100) / most}"></path></svg></li>`,
    )
    return html`<div><h3>${TITLES[kind]}</h3>${rows.length > 0 ? html`<ol class="bars">${rows}</ol>` : html`<p class="quiet-text">None.</p>`}</div>`
  }
  const content = tops
    ? html`<div class="usage">${tops.map(list)}</div>`
    : html`<p class="quiet-text">Not known yet. Reload the page in a moment.</p>`
  return section('top', html`Applications that did most ${WORDS[period].text}`, content)
}
