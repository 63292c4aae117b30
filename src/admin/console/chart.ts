import { ago } from '../../administration/age.ts'
import { type Html, html } from './html.ts'

/** The coordinates of the plot, which is stretched to the size of its container. */
const WIDTH = 600
const HEIGHT = 100

/** The number of intervals between grid lines (vertically), and between times (horizontally). */
const ROWS = 4
const COLUMNS = 4

/** The number of vertical strips with a tooltip. */
const ZONES = 60

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
}

export interface Series {
  label: string
  /** One for each moment. Undefined: unknown. */
  figures: readonly (number | undefined)[]
}

/** Mantissas of round numbers: 10, 15, 20, 25 … */
const ROUND = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]

/**
 * The interval between the labels of a y axis: the smallest round number for which `steps` intervals cover all figures. It is a
 * multiple of `least`.
 */
export function scaleFor(figures: readonly number[], { steps, least }: { steps: number; least: number }): number {
  const needed = Math.max(...figures, 0) / steps / least
  if (needed <= 1) return least
  const power = 10 ** Math.floor(Math.log10(needed))
  const candidates = ROUND.map((mantissa) => mantissa * power)
  return least * (candidates.find((candidate) => candidate >= needed && Number.isInteger(candidate)) as number)
}

export function chart({ id, title, description, moments, series, format, step }: Chart): Html {
  const known = series.flatMap(({ figures }) => figures.filter((figure) => figure !== undefined))
  const last = moments.length - 1
  const scale = scaleFor(known, { steps: ROWS, least: step })
  const at = ({ index, figure }: Point) => [
    round((index * WIDTH) / last),
    round(HEIGHT - (figure * HEIGHT) / (scale * ROWS)),
  ]
  const drawn = ({ figures }: Series, n: number) => {
    const runs = runsOf(figures).map((run) => run.map((point) => at(point).join()))
    const dots = dotsOf(figures).map((point) => `M${at(point)}h.1`)
    return html`<g class="series-${n + 1}">${series.length === 1 && html`<path class="area" d="${runs.map(areaBelow)}"></path>`}<path class="line" d="${runs.map((run) => `M${run.join('L')}`)}"></path><path class="dots" d="${dots}"></path></g>`
  }
  return html`<figure class="figure">
${series.length > 1 && legend(series)}
<div class="plot">
<div class="plot-y" aria-hidden="true">${times(ROWS + 1, (row) => html`<span>${format(scale * (ROWS - row))}</span>`)}</div>
<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-labelledby="${id}-title" aria-describedby="${id}-desc">
<title id="${id}-title">${title}</title>
<desc id="${id}-desc">${description} ${summaryOf(series, format)}</desc>
<path class="grid" d="${times(ROWS, (row) => `M0,${(row * HEIGHT) / ROWS}H${WIDTH}`)}"></path>
<path class="axis" d="M0,${HEIGHT}H${WIDTH}"></path>
${series.map(drawn)}
<g class="zones">${times(ZONES + 1, (zone) => zoneOf(zone, readout({ moments, series, format }, zone)))}</g>
</svg>
<div class="plot-x" aria-hidden="true">${times(COLUMNS, (column) => clock(moments[Math.round((column * last) / COLUMNS)] as number))}<span>now</span></div>
</div>
</figure>`
}

function zoneOf(zone: number, tooltip: string): Html {
  const width = WIDTH / ZONES
  return html`<rect x="${(zone - 0.5) * width}" width="${width}" height="${HEIGHT}"><title>${tooltip}</title></rect>`
}

function legend(series: readonly Series[]): Html {
  return html`<ul class="legend">${series.map(
    ({ label }, n) =>
      html`<li><svg class="chart key series-${n + 1}" viewBox="0 0 24 8" aria-hidden="true"><path class="line" d="M1,4H23"></path></svg>${label}</li>`,
  )}</ul>`
}

function clock(moment: number): Html {
  const iso = new Date(moment).toISOString()
  return html`<time data-clock="minutes" datetime="${iso}">${iso.slice(11, 16)}</time>`
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

/** The tooltip of a strip: the figures of the nearest time. */
function readout({ moments, series, format }: Pick<Chart, 'moments' | 'series' | 'format'>, zone: number): string {
  const last = moments.length - 1
  const at = Math.round((zone * last) / ZONES)
  const when = at === last ? 'Now' : ago(moments[at] as number, moments[last] as number)
  const figures = series.map(({ label, figures }) => {
    const figure = figures[at]
    return `${label} ${figure === undefined ? 'not known' : format(figure)}`
  })
  return `${when}: ${figures.join(', ')}`
}

function summaryOf(series: readonly Series[], format: Chart['format']): string {
  return series
    .map(({ label, figures }) => {
      const known = figures.filter((figure) => figure !== undefined)
      if (known.length === 0) return `${label}: no data.`
      return `${label}: ${format(known.at(-1) as number)} now, ${format(Math.max(...known))} at most.`
    })
    .join(' ')
}

function round(number: number): number {
  return Math.round(number * 10) / 10
}

function times<Item>(count: number, make: (n: number) => Item): Item[] {
  return Array.from({ length: count }, (_, n) => make(n))
}
