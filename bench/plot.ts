import type { Row } from './measure.ts'
import type { Results } from './results.ts'

const WIDTH = 760
const LABELS = 190
const VALUES = 90
const BAR = 18
const GAP = 10
const HEAD = 56
const FOOT = 28

interface Bar {
  label: string
  value: number
  text: string
  /** A style: `own`, `other`, or a shade of `own`. */
  kind: string
}

/** The SVGs that these results give, by file name. */
export function plots({ sections, machine, startedAt }: Results): Record<string, string> {
  const foot = `${machine.cores} cores of ${machine.cpu}, Node.js ${machine.node}, ${startedAt.slice(0, 10)}`
  const rows = (section: string) => sections.find(({ name }) => name === section)?.rows ?? []
  const drawings: [string, string, Bar[]][] = [
    ['issuance.svg', 'Tokens a second, 64 connections, one core', rows('issuance').map(speedBar)],
    [
      'latency.svg',
      'Latency of a token in milliseconds, 64 connections, one core',
      rows('issuance').flatMap(latencyBars),
    ],
    ['checks.svg', 'Checks a second, 64 connections, one core', rows('checks').map(speedBar)],
  ]
  const measured = drawings.filter(([, , bars]) => bars.length > 0)
  return Object.fromEntries(measured.map(([file, title, bars]) => [file, drawing(title, bars, foot)]))
}

function speedBar({ name, requestsPerSecond }: Row): Bar {
  const text = Math.round(requestsPerSecond).toLocaleString('en')
  return { label: name, value: requestsPerSecond, text, kind: isOther(name) ? 'other' : 'own' }
}

function latencyBars({ name, p50, p99, p999 }: Row): Bar[] {
  const kind = isOther(name) ? 'other' : 'own'
  const bar = (percentile: string, value: number, shade: string, label = '') => ({
    label,
    value,
    text: `${value.toFixed(1)}  ${percentile}`,
    kind: `${kind} ${shade}`,
  })
  return [bar('p50', p50, '', name), bar('p99', p99, 'pale'), bar('p99.9', p999, 'paler')]
}

function isOther(name: string): boolean {
  return /constant|bare|oauth2-server|oidc-provider/.test(name)
}

function drawing(title: string, bars: Bar[], foot: string): string {
  const longest = Math.max(...bars.map(({ value }) => value))
  const scale = (WIDTH - LABELS - VALUES) / longest
  let top = HEAD
  const drawn = bars.map(({ label, value, text, kind }, at) => {
    if (at > 0) top += BAR + (label === '' ? 2 : GAP)
    const length = Math.max(1, value * scale)
    const middle = top + BAR - 5
    return [
      label && `<text x="${LABELS - 10}" y="${middle}" text-anchor="end">${escaped(label)}</text>`,
      `<rect class="${kind}" x="${LABELS}" y="${top}" width="${length.toFixed(1)}" height="${BAR}" rx="2"/>`,
      `<text x="${(LABELS + length + 8).toFixed(1)}" y="${middle}">${escaped(text)}</text>`,
    ].join('')
  })
  const height = top + BAR + FOOT
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

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
