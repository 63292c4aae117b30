import { many } from '../../domain/text.ts'
import { ago, lasting } from '../../domain/time.ts'
import { DAY } from '../../domain/usage.ts'
import type { Outage } from '../../views/statistics.ts'
import { type Html, html } from '../../web/html.ts'
import type { Tone } from './components.ts'

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
  /** Draws each series on top of the ones before it. They have the same gaps. */
  isStacked?: boolean
  outages?: readonly Outage[]
  /** The end of bars; undefined if that is now. */
  until?: number | undefined
}

export interface Series {
  label: string
  tone?: Tone | undefined
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
  const { id, title, description, moments, series, isStacked, format, step, span, until } = drawn
  const shown = isStacked ? stacked(series) : series
  const known = shown.flatMap(({ figures }) => figures.filter((figure) => figure !== undefined))
  const scale = scaleFor(known, { steps: ROWS, least: step })
  const outages = outagesIn(drawn)
  const [from, to] = timesOf(drawn)
  const below = (n: number) => (isStacked ? (shown[n - 1]?.figures ?? []) : series.length === 1 ? [] : undefined)
  // Stacked, a figure of 0 must not hide the one below.
  const layers = shown.map(
    (one, n) => html`<g class="${classOf(one, n)}">${span ? bars(one, scale) : lines(one, scale, below(n))}</g>`,
  )
  return html`<figure class="figure">
<div class="plot" tabindex="0" role="application" aria-labelledby="${id}-title" aria-describedby="${id}-desc" data-from="${from}" data-to="${to}">
<div class="plot-y" aria-hidden="true">${times(ROWS + 1, (row) => html`<span>${format(scale * (ROWS - row))}</span>`)}</div>
<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-labelledby="${id}-title" aria-describedby="${id}-desc">
<title id="${id}-title">${title}</title>
<desc id="${id}-desc">${description} ${summaryOf(drawn)}</desc>
<path class="grid" d="${times(ROWS, (row) => `M0,${(row * HEIGHT) / ROWS}H${WIDTH}`)}"></path>
<path class="axis" d="M0,${HEIGHT}H${WIDTH}"></path>
${isStacked ? layers.toReversed() : layers}
${outages.map((outage) => band(drawn, outage))}
<g class="zones">${moments.map((_, n) => zone(drawn, n))}</g>
</svg>
<div class="plot-x" aria-hidden="true">${times(COLUMNS, (column) => label(drawn, column))}${until === undefined ? html`<span>now</span>` : clockOf(drawn, until)}</div>
</div>
${(series.length > 1 || outages.length > 0) && legend(series, outages)}
</figure>`
}

function classOf({ tone }: Series, n: number): string {
  return tone ? `series-${n + 1} ${tone}` : `series-${n + 1}`
}

/** The course of a figure, without a scale: a decoration. */
export function sparkline(figures: readonly number[], tone?: Tone): Html {
  const scale = Math.max(...figures, 1) / ROWS
  return html`<svg class="chart spark${tone && ` ${tone}`}" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">${lines({ label: '', figures }, scale, [])}</svg>`
}

function stacked(series: readonly Series[]): Series[] {
  const sums: number[] = []
  return series.map(({ figures, ...one }) => ({
    ...one,
    figures: figures.map((figure, n) => {
      if (figure === undefined) return undefined
      sums[n] = (sums[n] ?? 0) + figure
      return sums[n]
    }),
  }))
}

/** `below`: the figures down to which the area is filled, 0 where there are none; undefined for no area. */
function lines({ figures }: Series, scale: number, below?: Series['figures']): Html {
  const at = ({ index, figure }: Point) =>
    [round((index * WIDTH) / (figures.length - 1)), round(HEIGHT - (figure * HEIGHT) / (scale * ROWS))].join()
  const runs = runsOf(figures)
  const areas = runs.map((run) => {
    const back = run.toReversed().map(({ index }) => at({ index, figure: below?.[index] ?? 0 }))
    return run.length === 1 ? '' : `M${[...run.map(at), ...back].join('L')}Z`
  })
  const dots = dotsOf(figures).map((point) => `M${at(point)}h.1`)
  return html`${below && html`<path class="area" d="${areas}"></path>`}<path class="line" d="${runs.map((run) => `M${run.map(at).join('L')}`)}"></path><path class="dots" d="${dots}"></path>`
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
  return html`<rect x="${round((span ? n : n - 0.5) * width)}" width="${round(width)}" height="${HEIGHT}"><title>${readout(drawn, n)}</title></rect>`
}

/** The times at the left and the right end of the plot. */
function timesOf({ moments, span = 0 }: Chart): [from: number, to: number] {
  return [moments[0] as number, (moments.at(-1) as number) + span]
}

function outagesIn(drawn: Chart, [from, to] = timesOf(drawn)): Outage[] {
  return (drawn.outages ?? []).filter(({ beganAt, endedAt }) => endedAt >= from && beganAt < to)
}

/** Marks an outage. A short one is still seen. */
function band(drawn: Chart, { beganAt, endedAt }: Outage): Html {
  const [from, to] = timesOf(drawn)
  const [x, end] = [Math.max(beganAt, from), Math.min(endedAt, to)].map(
    (time) => ((time - from) * WIDTH) / (to - from),
  ) as [number, number]
  const width = Math.max(end - x, 2)
  return html`<rect class="outage" x="${round(Math.min(x, WIDTH - width))}" width="${round(width)}" height="${HEIGHT}"></rect>`
}

export function bar(share: number, tone?: Tone): Html {
  return html`<svg class="chart${tone && ` ${tone}`}" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><path class="grid" d="M0,4H100"></path><path class="line" d="M0,4H${round(share)}"></path></svg>`
}

function legend(series: readonly Series[], outages: readonly Outage[]): Html {
  const item = (kind: string, key: Html, label: string) =>
    html`<li><svg class="chart key ${kind}" viewBox="0 0 24 8" aria-hidden="true">${key}</svg>${label}</li>`
  const line = html`<path class="line" d="M1,4H23"></path>`
  return html`<ul class="legend">${series.length > 1 && series.map((one, n) => item(classOf(one, n), line, one.label))}
${outages.length > 0 && item('', html`<rect class="outage" width="24" height="8"></rect>`, `${many(outages.length, 'outage')}: ${outages.map(lengthOf).join(', ')}`)}</ul>`
}

/** A label of the x axis: a time, or a day if the chart covers several. */
function label(drawn: Chart, column: number): Html {
  const { moments, span } = drawn
  const count = span ? moments.length : moments.length - 1
  return clockOf(drawn, moments[Math.floor((column * count) / COLUMNS)] as number)
}

function clockOf({ moments, span }: Chart, moment: number): Html {
  const iso = new Date(moment).toISOString()
  // The bar of a day is one of UTC, whatever the zone of the reader: west of it, midnight is the day before.
  if (span === DAY) return html`<span>${iso.slice(5, 10)}</span>`
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

function readout(drawn: Chart, n: number): string {
  const { moments, series, format, span, until } = drawn
  const [moment, last] = [moments[n] as number, moments.at(-1) as number]
  const iso = new Date(moment).toISOString()
  const begin = `From ${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC${moment === last && !until ? ', so far' : ''}`
  const when = moment === last ? 'Now' : `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC, ${ago(moment, last)}`
  const figures = series.map(({ label, figures: { [n]: figure } }) => {
    return `${label} ${figure === undefined ? 'not known' : format(figure)}`
  })
  const covered: [number, number] = span
    ? [moment, moment + span]
    : [moment - (moments[1] as number) + (moments[0] as number), moment]
  const outages = outagesIn(drawn, covered).map((outage) => `outage of ${lengthOf(outage)}`)
  return `${span ? begin : when}: ${[...figures, ...outages].join(', ')}`
}

function lengthOf({ beganAt, endedAt }: Outage): string {
  return lasting(Math.max(endedAt - beganAt, 1000))
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
