import t from 'tap'
import { bar, type Chart, chart, scaleFor, sparkline } from '../../../src/admin/console/chart.ts'
import { count, duration, NONE, percent, short, size } from '../../../src/admin/console/figures.ts'

const MINUTE = 60_000
const START = 1_800_000_000_000
const STEPS = 4

type Figures = (number | undefined)[]

function chartOf(...all: Figures[]): Chart {
  return {
    id: 'c',
    title: 'Title',
    description: 'What it is.',
    moments: (all[0] ?? []).map((_, n) => START + n * MINUTE),
    series: all.map((figures, n) => ({ label: `Series ${n}`, figures })),
    format: String,
    step: 1,
  }
}

/** What a chart shows, by the kind and number of its parts. */
function draw(...all: Figures[]): Record<string, string | undefined> {
  const [, text = ''] = String(chart(chartOf(...all))).split('class="plot"')
  const found = (kind: string, pattern: RegExp) =>
    [...text.matchAll(pattern)].map(([, value], n) => [`${kind}-${n}`, value])
  const paths = ['line', 'dots', 'area'].flatMap((kind) => found(kind, new RegExp(`class="${kind}" d="([^"]*)"`, 'g')))
  return Object.fromEntries([
    ...paths,
    ...found('y', /<span>([^<]*)<\/span>/g),
    ...found('x', /datetime="([^"]*)"/g),
    ...found('at', /<rect[^>]*><title>([^<]*)/g),
    ...found('desc', /<desc[^>]*>([^<]*)/g),
  ])
}

const CASES: [rule: string, all: Record<string, string | undefined>, drawn: Record<string, string | undefined>][] = [
  [
    'a line goes from left to right, with zero at the bottom',
    draw([0, 2, 4, 1, 0]),
    {
      'line-0': 'M0,100L150,50L300,0L450,75L600,100',
      'dots-0': 'M600,100h.1',
      'area-0': 'M0,100L150,50L300,0L450,75L600,100L600,100L450,100L300,100L150,100L0,100Z',
      ...{ 'y-0': '4', 'y-1': '3', 'y-2': '2', 'y-3': '1', 'y-4': '0' },
      ...{ 'x-0': '2027-01-15T08:00:00.000Z', 'x-2': '2027-01-15T08:02:00.000Z' },
      'x-3': '2027-01-15T08:03:00.000Z',
      'desc-0': 'What it is. Series 0: 0 now, 4 at most.',
    },
  ],
  [
    'unknown values are gaps, and a single point is a dot',
    draw([1, 1, undefined, undefined, 2, undefined, 4]),
    { 'line-0': 'M0,75L100,75M400,50M600,0', 'dots-0': 'M400,50h.1M600,0h.1', 'area-0': 'M0,75L100,75L100,100L0,100Z' },
  ],
  [
    'without values there is no line, and the axis has the smallest step',
    draw([undefined, undefined]),
    { 'line-0': '', 'dots-0': '', 'area-0': '', 'y-0': '4', 'desc-0': 'What it is. Series 0: no data.' },
  ],
  ['constant values are a horizontal line', draw([7, 7, 7]), { 'line-0': 'M0,12.5L300,12.5L600,12.5' }],
  ['zeros are a line at the bottom', draw([0, 0]), { 'line-0': 'M0,100L600,100' }],
  ['very high values stay inside', draw([0, 2 ** 53, 1e300]), { 'line-0': 'M0,100L300,100L600,0' }],
  [
    'several lines share a scale, and have no areas',
    draw([1, 2], [3, 8]),
    { 'line-0': 'M0,87.5L600,75', 'line-1': 'M0,62.5L600,0', 'area-0': undefined },
  ],
  [
    'hovering shows the figures of the nearest moment',
    draw([0, 2, 4, undefined, 8], [1, 1, 1, 1, 1]),
    {
      'at-0': '2027-01-15 08:00 UTC, 4 min ago: Series 0 0, Series 1 1',
      'at-1': '2027-01-15 08:01 UTC, 3 min ago: Series 0 2, Series 1 1',
      'at-3': '2027-01-15 08:03 UTC, 60 s ago: Series 0 not known, Series 1 1',
      'at-4': 'Now: Series 0 8, Series 1 1',
      'at-5': undefined,
    },
  ],
]

for (const [rule, all, drawn] of CASES) {
  t.test(`Chart: ${rule}`, async (t) => {
    t.strictSame(Object.fromEntries(Object.keys(drawn).map((name) => [name, all[name]])), drawn)
  })
}

t.test('Chart: it is an image with a title and a description, and several series have a legend', async (t) => {
  const text = String(chart(chartOf([1, 2])))
  t.match(
    text,
    '<svg class="chart" viewBox="0 0 600 100" preserveAspectRatio="none" role="img" aria-labelledby="c-title" aria-describedby="c-desc">',
  )
  t.match(text, '<title id="c-title">Title</title>')
  t.match(text, '<rect x="300" width="600" height="100"><title>Now: Series 0 2</title></rect>')
  t.notMatch(text, /undefined|legend/)
  t.match(String(chart(chartOf([1, 2], [3, 8]))), /class="legend".*Series 0.*Series 1/s)
})

t.test('Chart: a series has its tone, in the legend too, and may not have one', async (t) => {
  const drawn = chartOf([1, 2], [3, 8])
  const series = drawn.series.map((one, n) => (n === 1 ? { ...one, tone: 'warn' as const } : one))
  for (const isStacked of [true, false]) {
    const text = String(chart({ ...drawn, series, isStacked }))
    t.match(text, '<g class="series-1"><path')
    t.match(text, '<g class="series-2 warn"><path')
    t.match(text, /<svg class="chart key series-1" .*<svg class="chart key series-2 warn" /s)
  }
  t.match(String(bar(50, 'bad')), '<svg class="chart bad" ')
  t.match(String(bar(50)), '<svg class="chart" ')
  t.match(String(sparkline([1], 'warn')), '<svg class="chart spark warn" ')
  t.match(String(sparkline([1])), '<svg class="chart spark" ')
})

t.test('Chart: bars are counts of spans, and outages are marked and named', async (t) => {
  const outage = (from: number, to: number) => ({ beganAt: START + from, endedAt: START + to, failures: 1 })
  const hours = [0, 1, 2, 3].map((n) => START + n * 60 * MINUTE)
  const drawn = chart({
    ...chartOf([4, 0, undefined, 2]),
    moments: hours,
    span: 60 * MINUTE,
    outages: [outage(-10, -5), outage(90 * MINUTE, 92 * MINUTE), outage(500 * MINUTE, 600 * MINUTE)],
  })
  const text = String(drawn)
  t.match(text, 'd="M22.5,100v-100h105V100ZM172.5,100v-0h105V100ZM322.5,100v-0h105V100ZM472.5,100v-50h105V100Z"')
  const marked = [...text.matchAll(/<rect class="outage" x="(.*?)" width="(.*?)"/g)].map(([, x, width]) => [x, width])
  t.strictSame(marked, [['225', '5']])
  t.match(text, '1 outage: 2 min</li>')
  t.match(text, 'Series 0: 6 in all, 4 at most.')
  const titles = [...text.matchAll(/<rect[^>]*><title>([^<]*)/g)].map(([, title]) => title)
  t.strictSame(titles, [
    'From 2027-01-15 08:00 UTC: Series 0 4',
    'From 2027-01-15 09:00 UTC: Series 0 0, outage of 2 min',
    'From 2027-01-15 10:00 UTC: Series 0 not known',
    'From 2027-01-15 11:00 UTC, so far: Series 0 2',
  ])
  const lines = String(chart({ ...chartOf([1, 2, 3]), outages: [outage(MINUTE + 1, MINUTE + 2)] }))
  t.match(lines, /Now: Series 0 3, outage of 1 s/)
  t.match(lines, /60 s ago: Series 0 2</)
  const cut = String(chart({ ...chartOf([1, 2, 3]), outages: [outage(-9, 1), outage(2 * MINUTE - 1, 3 * MINUTE)] }))
  const bands = [...cut.matchAll(/<rect class="outage" x="(.*?)" width="(.*?)"/g)].map(([, x, width]) => [x, width])
  t.strictSame(
    bands,
    [
      ['0', '2'],
      ['598', '2'],
    ],
    'they stay inside the axis, and short ones are seen',
  )
  t.match(cut, '2 outages: 1 s, 60 s</li>')
  t.notMatch(String(chart(chartOf([1, 2, 3]))), 'outage')
  const week = { ...chartOf([1, 2]), moments: [START, START + 7 * 24 * 60 * MINUTE], span: 60 * MINUTE }
  t.match(String(chart(week)), '<time data-clock="day" datetime="2027-01-15T08:00:00.000Z">01-15</time>')
  const days = String(chart({ ...week, span: 24 * 60 * MINUTE }))
  t.match(days, '<span>01-15</span>', 'a day of UTC, in every zone')
  t.notMatch(days, 'data-clock')
})

t.test('Chart: stacked series lie on top of each other, and the readout has the figures of each', async (t) => {
  const text = String(chart({ ...chartOf([1, undefined, 2, 2], [3, undefined, 0, 1]), isStacked: true }))
  const drawn = text.split('class="legend"')[0] ?? ''
  const paths = (kind: string) => [...drawn.matchAll(new RegExp(`class="${kind}" d="([^"]*)"`, 'g'))].map(([, d]) => d)
  t.strictSame(paths('line'), ['M0,0M400,50L600,25', 'M0,75M400,50L600,50'])
  t.strictSame(paths('area'), ['M400,50L600,25L600,50L400,50Z', 'M400,50L600,50L600,100L400,100Z'])
  t.match(text, '<span>4</span>', 'the axis has the sum')
  t.match(text, 'Now: Series 0 2, Series 1 1')
})

t.test('Chart: a sparkline uses its whole height, and is a decoration', async (t) => {
  t.match(String(sparkline([0, 4, 2])), /aria-hidden="true".*class="line" d="M0,100L300,0L600,50"/)
  t.match(String(sparkline([0, 0])), 'class="line" d="M0,100L600,100"')
})

t.test('Scale: the steps are round, and the highest value uses most of the scale', async (t) => {
  const highest = [1, 4, 5, 17, 40, 41, 81, 399, 401, 1_234_567, 2 ** 53, 1e21]
  const steps = highest.map((figure) => scaleFor([0, figure, 1], { steps: STEPS, least: 1 }))
  t.strictSame(steps, [1, 1, 2, 5, 10, 15, 25, 100, 150, 400_000, 2.5e15, 2.5e20])
  for (const figures of [[], [0, 0], [0.00001]]) t.equal(scaleFor(figures, { steps: STEPS, least: 0.0001 }), 0.0001)
})

t.test('Scale: every value is within the scale, and counts have whole steps', async (t) => {
  for (let figure = 1; figure < 1e15; figure = Math.ceil(figure * 1.07)) {
    const step = scaleFor([figure], { steps: STEPS, least: 1 })
    if (step * STEPS >= figure && Number.isInteger(step) && (step === 1 || step * STEPS <= figure * 1.7)) continue
    t.fail(`${figure}: ${step}`)
  }
})

t.test('Figures: counts are abbreviated if very high; durations and sizes have a unit and two digits', async (t) => {
  t.strictSame([0, 12, 1234, 999_999, 1_234_567, 2 ** 53].map(count), ['0', '12', '1,234', '999,999', '1.23M', '9010T'])
  t.strictSame([0, 999, 1500, 25_000].map(short), ['0', '999', '1.5K', '25K'])
  /** With underscores for the spaces that keep a unit beside its number. */
  const shown = (texts: string[]) => texts.join(', ').replaceAll('\u00a0', '_')
  const durations = [0, 0.000123, 0.0015, 0.25, 0.999, 1, 9.96].map(duration)
  t.equal(shown(durations), '0_ms, 0.12_ms, 1.5_ms, 250_ms, 1,000_ms, 1_s, 10_s')
  t.equal(shown([0, 512, 1536, 48e6, 3 * 2 ** 30, 5e15].map(size)), '0_B, 512_B, 1.5_KB, 46_MB, 3_GB, 4,547_TB')
  t.equal(percent(0.1234), '12\u00a0%')
  t.strictSame([duration(undefined), size(undefined)], [NONE, NONE], 'and unknown values are a dash')
})
