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
  /** Unique on the page. */
  id: string
  title: string
  /** What the figures mean, for screen readers. */
  description: string
  /** Milliseconds since the epoch, at equal intervals. At least two. */
  moments: readonly number[]
  series: readonly Series[]
  /** Formats a figure. */
  write: (figure: number) => string
  /** The smallest interval between two labels of the y axis. */
  step: number
}

export interface Series {
  label: string
  /** One for each moment. Undefined: unknown. */
  figures: readonly (number | undefined)[]
}

/** The values that change while a page is open, by name: text, times (ISO 8601) and path data of SVG. */
export type LiveValues = Record<string, string>

/** The changing values of a chart. */
export function drawChart({ id, description, moments, series, write, step }: Chart): LiveValues {
  const known = series.flatMap(({ figures }) => figures.filter((figure) => figure !== undefined))
  const scale = scaleFor(known, { steps: ROWS, least: step })
  const x = (index: number) => round((index * WIDTH) / (moments.length - 1))
  const y = (figure: number) => round(HEIGHT - (figure * HEIGHT) / (scale * ROWS))
  return Object.fromEntries([
    ...series.flatMap(({ figures }, n) => {
      const runs = runsOf(figures).map((run) => run.map(({ index, figure }) => `${x(index)},${y(figure)}`))
      return [
        [`${id}-line-${n}`, runs.map((run) => `M${run.join('L')}`).join('')],
        [
          `${id}-dots-${n}`,
          dotsOf(figures)
            .map(({ index, figure }) => `M${x(index)},${y(figure)}h.1`)
            .join(''),
        ],
        [`${id}-area-${n}`, series.length === 1 ? runs.map(areaBelow).join('') : ''],
      ]
    }),
    ...times(ROWS + 1, (row) => [`${id}-y-${row}`, write(scale * row)]),
    ...times(COLUMNS, (column) => [`${id}-x-${column}`, momentAt(moments, column)]),
    ...times(ZONES + 1, (zone) => [`${id}-at-${zone}`, readout({ moments, series, write }, zone)]),
    [`${id}-desc`, `${description} ${summaryOf(series, write)}`],
  ])
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

/** A line chart. Its changing parts have `data-live` with their names. */
export function chart({ id, title, series }: Chart, values: LiveValues): Html {
  const path = (name: string, kind: string) =>
    html`<path class="${kind}" data-live="${name}" d="${values[name]}"></path>`
  return html`<figure class="figure">
${series.length > 1 && legend(series)}
<div class="plot">
<div class="plot-y" aria-hidden="true">${times(ROWS + 1, (row) => text(`${id}-y-${ROWS - row}`, values))}</div>
<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-labelledby="${id}-title" aria-describedby="${id}-desc">
<title id="${id}-title">${title}</title>
<desc id="${id}-desc" data-live="${id}-desc">${values[`${id}-desc`]}</desc>
<path class="grid" d="${times(ROWS, (row) => `M0,${(row * HEIGHT) / ROWS}H${WIDTH}`).join('')}"></path>
<path class="axis" d="M0,${HEIGHT}H${WIDTH}"></path>
${series.map(
  (_, n) =>
    html`<g class="series-${n + 1}">${path(`${id}-area-${n}`, 'area')}${path(`${id}-line-${n}`, 'line')}${path(`${id}-dots-${n}`, 'dots')}</g>`,
)}
<g class="zones">${times(ZONES + 1, (zone) => zoneOf(zone, `${id}-at-${zone}`, values))}</g>
</svg>
<div class="plot-x" aria-hidden="true">${times(COLUMNS, (column) => clock(`${id}-x-${column}`, values))}<span>now</span></div>
</div>
</figure>`
}

/** A vertical strip with a tooltip. */
function zoneOf(zone: number, name: string, values: LiveValues): Html {
  const width = WIDTH / ZONES
  return html`<rect x="${(zone - 0.5) * width}" width="${width}" height="${HEIGHT}"><title data-live="${name}">${values[name]}</title></rect>`
}

function legend(series: readonly Series[]): Html {
  return html`<ul class="legend">${series.map(
    ({ label }, n) =>
      html`<li><svg class="chart key series-${n + 1}" viewBox="0 0 24 8" aria-hidden="true"><path class="line" d="M1,4H23"></path></svg>${label}</li>`,
  )}</ul>`
}

/** A text that is updated live. */
export function text(name: string, values: LiveValues): Html {
  return html`<span data-live="${name}">${values[name]}</span>`
}

/** A time of day that is updated live. */
function clock(name: string, values: LiveValues): Html {
  const moment = values[name] as string
  return html`<time data-live="${name}" data-clock="minutes" datetime="${moment}">${moment.slice(11, 16)}</time>`
}

interface Point {
  index: number
  figure: number
}

/** Splits a series at its gaps. */
function runsOf(figures: readonly (number | undefined)[]): Point[][] {
  const runs: Point[][] = []
  let isOpen = false
  for (const [index, figure] of figures.entries()) {
    if (figure === undefined) isOpen = false
    else if (isOpen) runs.at(-1)?.push({ index, figure })
    else {
      runs.push([{ index, figure }])
      isOpen = true
    }
  }
  return runs
}

/** Points drawn as dots: those without a line, and the current one. */
function dotsOf(figures: readonly (number | undefined)[]): Point[] {
  return runsOf(figures).flatMap((run, n, runs) => (run.length === 1 || n === runs.length - 1 ? run.slice(-1) : []))
}

function areaBelow(points: readonly string[]): string {
  const [first = '', last = ''] = [points[0], points.at(-1)].map((point) => point?.split(',')[0])
  return points.length === 1 ? '' : `M${first},${HEIGHT}L${points.join('L')}L${last},${HEIGHT}Z`
}

function momentAt(moments: readonly number[], column: number): string {
  return new Date(moments[Math.round((column * (moments.length - 1)) / COLUMNS)] as number).toISOString()
}

/** The tooltip of a strip: the figures of the nearest time. */
function readout({ moments, series, write }: Pick<Chart, 'moments' | 'series' | 'write'>, zone: number): string {
  const last = moments.length - 1
  const at = Math.round((zone * last) / ZONES)
  const when = at === last ? 'Now' : ago(moments[at] as number, moments[last] as number)
  const figures = series.map(({ label, figures }) => {
    const figure = figures[at]
    return `${label} ${figure === undefined ? 'not known' : write(figure)}`
  })
  return `${when}: ${figures.join(', ')}`
}

function summaryOf(series: readonly Series[], write: Chart['write']): string {
  return series
    .map(({ label, figures }) => {
      const known = figures.filter((figure) => figure !== undefined)
      if (known.length === 0) return `${label}: no data.`
      return `${label}: ${write(known.at(-1) as number)} now, ${write(Math.max(...known))} at most.`
    })
    .join(' ')
}

function round(number: number): number {
  return Math.round(number * 10) / 10
}

/** A list of `count` items. */
export function times<Item>(count: number, make: (n: number) => Item): Item[] {
  return Array.from({ length: count }, (_, n) => make(n))
}
