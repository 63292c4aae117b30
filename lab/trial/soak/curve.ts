import { escaped, FOOT, frame, HEAD, WIDTH } from '../../bench/report/plot.ts'
import type { Sample } from './samples.ts'

const HEIGHT = 240
const LEFT = 44
const RIGHT = 130
const MARKS = 5

const COLORS = { 'all processes': '#0969da', '2 workers': '#57a06a', leader: '#8c959f' }

/** Draws resident memory over time, as SVG. */
export function drawCurve(title: string, samples: Sample[], foot: string): string {
  const lines: Record<keyof typeof COLORS, number[]> = {
    'all processes': samples.map(({ leader, workers }) => leader + workers),
    '2 workers': samples.map(({ workers }) => workers),
    leader: samples.map(({ leader }) => leader),
  }
  const end = (samples.at(-1) as Sample).minutes
  const most = Math.max(...lines['all processes']) * 1.05
  const bottom = HEAD + HEIGHT
  const x = (minutes: number) => (LEFT + ((WIDTH - LEFT - RIGHT) * minutes) / end).toFixed(1)
  const y = (mib: number) => (bottom - (HEIGHT * mib) / most).toFixed(1)
  const marks = Array.from({ length: MARKS + 1 }, (_, nth) => nth / MARKS).map((part) =>
    [
      `<text x="${LEFT - 8}" y="${y(most * part)}" text-anchor="end">${Math.round(most * part)}</text>`,
      `<text x="${x(end * part)}" y="${bottom + 20}" text-anchor="middle">${Math.round(end * part)}</text>`,
    ].join(''),
  )
  const curves = Object.entries(lines).map(([name, values]) => {
    const color = COLORS[name as keyof typeof COLORS]
    const points = values.map((mib, at) => `${x((samples[at] as Sample).minutes)},${y(mib)}`).join(' ')
    const last = values.at(-1) as number
    return `<polyline fill="none" stroke="${color}" stroke-width="1.5" points="${points}"/>
<text x="${WIDTH - RIGHT + 8}" y="${y(last)}">${escaped(`${name}: ${Math.round(last)}`)}</text>`
  })
  return frame({ title, foot, height: bottom + 20 + FOOT }, [...marks, ...curves])
}
