import { ago } from '../../domain/time.ts'
import { DAY } from '../../domain/usage.ts'
import type { Outage } from '../../views/statistics.ts'
import { type Html, html } from '../../web/html.ts'

/** The coordinates of the plot, which is stretched to the size of its container. */
const WIDTH = 600
const HEIGHT = 100

/** The number of intervals between grid lines (vertically), and between times (horizontally). */
const ROWS = 4
const COLUMNS = 4

/** One or more series over the same times. */
export interface Chart {
  id: string
  title: string
  /** What the figures mean, for screen readers. */
  description: string
  /** Milliseconds since the epoch, at equal intervals. At least two. */
  moments: readonly number[]
  series: readonly Series[]
  format: (figure: number) => string
  /** The smallest interval between two labels of the y axis. */
  step: number
  /** If set, draws bars instead of lines. Each covers this many milliseconds from its moment on; the last one is not complete. */
  span?: number
  outages?: readonly Outage[]
  /** The end of bars; undefined if that is now. */
  until?: number | undefined
}

export interface Series {
  label: string
  /** One for each moment; undefined if unknown. */
  figures: readonly (number | undefined)[]
}

/** Mantissas of round numbers: 10, 15, 20, 25 … */
const ROUND = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]

/** The interval of a y axis's labels: the smallest round multiple of `least` such that `steps` of it cover all figures. */
export function scaleFor(figures: readonly number[], { steps, least }: { steps: number; least: number }): number {
  const needed = Math.max(...figures, 0) / steps / least
  if (needed <= 1) return least
  const power = 10 ** Math.floor(Math.log10(needed))
  const candidates = ROUND.map((mantissa) => mantissa * power)
  return least * (candidates.find((candidate) => candidate >= needed && Number.isInteger(candidate)) as number)
}

export function chart(drawn: Chart): Html {
  const { id, title, description, moments, series, format, step, span, until } = drawn
  const known = series.flatMap(({ figures }) => figures.filter((figure) => figure !== undefined))
  const scale = scaleFor(known, { steps: ROWS, least: step })
  const hasOutage = moments.some((_, n) => isOut(drawn, n))
  return html`<figure class="figure">
<div class="plot" tabindex="0" role="application" aria-labelledby="${id}-title" aria-describedby="${id}-desc">
<div class="plot-y" aria-hidden="true">${times(ROWS + 1, (row) => html`<span>${format(scale * (ROWS - row))}</span>`)}</div>
<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-labelledby="${id}-title" aria-describedby="${id}-desc">
<title id="${id}-title">${title}</title>
<desc id="${id}-desc">${description} ${summaryOf(drawn)}</desc>
<path class="grid" d="${times(ROWS, (row) => `M0,${(row * HEIGHT) / ROWS}H${WIDTH}`)}"></path>
<path class="axis" d="M0,${HEIGHT}H${WIDTH}"></path>
${series.map((one, n) => html`<g class="series-${n + 1}">${span ? bars(one, scale) : lines(one, scale, series.length === 1)}</g>`)}
<g class="zones">${moments.map((_, n) => zone(drawn, n))}</g>
</svg>
<div class="plot-x" aria-hidden="true">${times(COLUMNS, (column) => label(drawn, column))}${until === undefined ? html`<span>now</span>` : clockOf(drawn, until)}</div>
</div>
${(series.length > 1 || hasOutage) && legend(series, hasOutage)}
</figure>`
}

function lines({ figures }: Series, scale: number, hasArea: boolean): Html {
  const at = ({ index, figure }: Point) => [
    round((index * WIDTH) / (figures.length - 1)),
    round(HEIGHT - (figure * HEIGHT) / (scale * ROWS)),
  ]
  const runs = runsOf(figures).map((run) => run.map((point) => at(point).join()))
  const dots = dotsOf(figures).map((point) => `M${at(point)}h.1`)
  return html`${hasArea && html`<path class="area" d="${runs.map(areaBelow)}"></path>`}<path class="line" d="${runs.map((run) => `M${run.join('L')}`)}"></path><path class="dots" d="${dots}"></path>`
}

function bars({ figures }: Series, scale: number): Html {
  const width = WIDTH / figures.length
  const bar = (figure = 0, n: number) =>
    `M${round((n + 0.15) * width)},${HEIGHT}v-${round((figure * HEIGHT) / (scale * ROWS))}h${round(width * 0.7)}V${HEIGHT}Z`
  return html`<path class="blocks" d="${figures.map(bar)}"></path>`
}

/** A strip around a moment. Its title has the figures: chart.js shows and announces it. */
function zone(drawn: Chart, n: number): Html {
  const { moments, span } = drawn
  const width = WIDTH / (span ? moments.length : moments.length - 1)
  const outage = isOut(drawn, n) && html` class="outage"`
  return html`<rect${outage} x="${round((span ? n : n - 0.5) * width)}" width="${round(width)}" height="${HEIGHT}"><title>${readout(drawn, n)}</title></rect>`
}

function isOut({ moments, span, outages = [] }: Chart, n: number): boolean {
  const [moment, interval] = [moments[n] as number, (moments[1] as number) - (moments[0] as number)]
  const [from, to] = span ? [moment, moment + span] : [moment - interval, moment]
  return outages.some(({ beganAt, endedAt }) => endedAt >= from && beganAt < to)
}

export function bar(series: string, share: number): Html {
  return html`<svg class="chart ${series}" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><path class="grid" d="M0,4H100"></path><path class="line" d="M0,4H${round(share)}"></path></svg>`
}

function legend(series: readonly Series[], withOutages: boolean): Html {
  const item = (kind: string, key: Html, label: string) =>
    html`<li><svg class="chart key ${kind}" viewBox="0 0 24 8" aria-hidden="true">${key}</svg>${label}</li>`
  const line = html`<path class="line" d="M1,4H23"></path>`
  return html`<ul class="legend">${series.length > 1 && series.map(({ label }, n) => item(`series-${n + 1}`, line, label))}
${withOutages && item('', html`<rect class="outage" width="24" height="8"></rect>`, 'Outage')}</ul>`
}

/** A label of the x axis: a time, or a day if the chart covers several. */
function label(drawn: Chart, column: number): Html {
  const { moments, span } = drawn
  const count = span ? moments.length : moments.length - 1
  return clockOf(drawn, moments[Math.floor((column * count) / COLUMNS)] as number)
}

function clockOf({ moments }: Chart, moment: number): Html {
  const iso = new Date(moment).toISOString()
  const isDay = (moments.at(-1) as number) - (moments[0] as number) > DAY
  return html`<time data-clock="${isDay ? 'day' : 'minutes'}" datetime="${iso}">${isDay ? iso.slice(5, 10) : iso.slice(11, 16)}</time>`
}

interface Point {
  index: number
  figure: number
}

/** Splits a series at its gaps. */
function runsOf(figures: readonly (number | undefined)[]): Point[][] {
  const runs: Point[][] = [[]]
  for (const [index, figure] of figures.entries()) {
    if (figure === undefined) runs.push([])
    else runs.at(-1)?.push({ index, figure })
  }
  return runs.filter((run) => run.length > 0)
}

/** Points drawn as dots: those without a known neighbour, and the latest known one. */
function dotsOf(figures: readonly (number | undefined)[]): Point[] {
  return runsOf(figures).flatMap((run, n, runs) => (run.length === 1 || n === runs.length - 1 ? run.slice(-1) : []))
}

function areaBelow(points: readonly string[]): string {
  const [first = '', last = ''] = [points[0], points.at(-1)].map((point) => point?.split(',')[0])
  return points.length === 1 ? '' : `M${first},${HEIGHT}L${points.join('L')}L${last},${HEIGHT}Z`
}

function readout(drawn: Chart, n: number): string {
  const { moments, series, format, span, until } = drawn
  const [moment, last] = [moments[n] as number, moments.at(-1) as number]
  const iso = new Date(moment).toISOString()
  const begin = `From ${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC${moment === last && !until ? ', so far' : ''}`
  const when = moment === last ? 'Now' : `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC, ${ago(moment, last)}`
  const figures = series.map(({ label, figures: { [n]: figure } }) => {
    return `${label} ${figure === undefined ? 'not known' : format(figure)}`
  })
  return `${span ? begin : when}: ${figures.join(', ')}${isOut(drawn, n) ? ', outage' : ''}`
}

function summaryOf({ series, format, span }: Chart): string {
  return series
    .map(({ label, figures }) => {
      const known = figures.filter((figure) => figure !== undefined)
      if (known.length === 0) return `${label}: no data.`
      const now = `${format(known.at(-1) as number)} now`
      const whole = span ? `${format(known.reduce((sum, figure) => sum + figure, 0))} in all` : now
      return `${label}: ${whole}, ${format(Math.max(...known))} at most.`
    })
    .join(' ')
}

function round(number: number): number {
  return Math.round(number * 10) / 10
}

function times<Item>(count: number, make: (n: number) => Item): Item[] {
  return Array.from({ length: count }, (_, n) => make(n))
}
