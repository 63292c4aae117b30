import type { Row } from '../row.ts'
import type { Plot, Results } from './results.ts'

export const WIDTH = 760
const LABELS = 270
const VALUES = 90
const BAR = 18
const GAP = 10
export const HEAD = 56
export const FOOT = 28

interface Bar {
  label: string
  value: number
  text: string
  /** CSS classes: `own` or `other`, and a shade. */
  style: string
}

/** Draws a plot as SVG. */
export function drawPlot(
  { title, bars }: Plot,
  rows: Row[],
  { machine, startedAt }: Omit<Results, 'sections'>,
): string {
  const foot = `${machine.cores} cores of ${machine.cpu}, Node.js ${machine.node}, ${startedAt.slice(0, 10)}`
  return drawing(title, rows.flatMap(BARS[bars]), foot)
}

const BARS: Record<Plot['bars'], (row: Row) => Bar | Bar[]> = { speed: speedBar, latency: latencyBars, cpu: cpuBar }

function speedBar(row: Row): Bar {
  const text = Math.round(row.requestsPerSecond).toLocaleString('en')
  return { label: row.name, value: row.requestsPerSecond, text, style: styleOf(row) }
}

/** Microseconds of the server and the database, on a logarithmic scale from 10. */
function cpuBar({ name, cpuMicroseconds, databaseMicroseconds, ...row }: Row): Bar {
  const sum = (cpuMicroseconds ?? 0) + (databaseMicroseconds ?? 0)
  return { label: name, value: Math.log10(sum / 10), text: Math.round(sum).toLocaleString('en'), style: styleOf(row) }
}

function latencyBars(row: Row): Bar[] {
  const bar = (percentile: string, value: number, shade: string, label = '') => ({
    label,
    value,
    text: `${value.toFixed(1)}  ${percentile}`,
    style: `${styleOf(row)} ${shade}`,
  })
  return [bar('p50', row.p50, '', row.name), bar('p99', row.p99, 'pale'), bar('p99.9', row.p999, 'paler')]
}

function styleOf({ kind }: Pick<Row, 'kind'>): string {
  return kind === 'product' ? 'own' : 'other'
}

function drawing(title: string, bars: Bar[], foot: string): string {
  const longest = Math.max(...bars.map(({ value }) => value))
  const scale = (WIDTH - LABELS - VALUES) / longest
  let top = HEAD
  const drawn = bars.map(({ label, value, text, style }, at) => {
    if (at > 0) top += BAR + (label === '' ? 2 : GAP)
    const length = Math.max(1, value * scale)
    const middle = top + BAR - 5
    return [
      label && `<text x="${LABELS - 10}" y="${middle}" text-anchor="end">${escaped(label)}</text>`,
      `<rect class="${style}" x="${LABELS}" y="${top}" width="${length.toFixed(1)}" height="${BAR}" rx="2"/>`,
      `<text x="${(LABELS + length + 8).toFixed(1)}" y="${middle}">${escaped(text)}</text>`,
    ].join('')
  })
  return frame({ title, foot, height: top + BAR + FOOT }, drawn)
}

/** A picture with its title and a line at its foot, as SVG. */
export function frame(
  { title, foot, height }: { title: string; foot: string; height: number },
  drawn: string[],
): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(title)}">
<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 }
  .foot { font-size: 11px; opacity: .7 }
  .own { fill: #0969da }
  .other { fill: #8c959f }
  .pale { opacity: .65 }
  .paler { opacity: .4 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .own { fill: #58a6ff }
    .other { fill: #6e7681 }
  }
</style>
<text class="title" x="10" y="30">${escaped(title)}</text>
${drawn.join('\n')}
<text class="foot" x="10" y="${height - 8}">${escaped(foot)}</text>
</svg>
`
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
