import t from 'tap'
import { type Chart, chart, drawChart } from '../../../src/admin/console/chart.ts'

const MINUTE = 60_000
const START = 1_800_000_000_000

type Figures = (number | undefined)[]

function chartOf(...all: Figures[]): Chart {
  return {
    id: 'c',
    title: 'Title',
    description: 'What it is.',
    moments: (all[0] ?? []).map((_, n) => START + n * MINUTE),
    series: all.map((figures, n) => ({ label: `Series ${n}`, figures })),
    write: String,
    step: 1,
  }
}

const draw = (...all: Figures[]) => drawChart(chartOf(...all))

t.test('Chart: a line goes from left to right, with zero at the bottom', async (t) => {
  const drawn = draw([0, 2, 4, 1, 0])
  t.equal(drawn['c-line-0'], 'M0,100L150,50L300,0L450,75L600,100')
  t.equal(drawn['c-dots-0'], 'M600,100h.1', 'the last point is seen')
  t.equal(drawn['c-area-0'], 'M0,100L0,100L150,50L300,0L450,75L600,100L600,100Z')
  t.strictSame(
    [0, 1, 2, 3, 4].map((row) => drawn[`c-y-${row}`]),
    ['0', '1', '2', '3', '4'],
  )
  t.strictSame(
    [0, 2, 3].map((column) => drawn[`c-x-${column}`]),
    ['2027-01-15T08:00:00.000Z', '2027-01-15T08:02:00.000Z', '2027-01-15T08:03:00.000Z'],
  )
  t.equal(drawn['c-desc'], 'What it is. Series 0: 0 now, 4 at most.')
})

t.test('Chart: hovering shows the figures of the nearest moment', async (t) => {
  const drawn = draw([0, 2, 4, undefined, 8], [1, 1, 1, 1, 1])
  t.strictSame(
    [0, 7, 8, 45, 60].map((zone) => drawn[`c-at-${zone}`]),
    [
      '4 min ago: Series 0 0, Series 1 1',
      '4 min ago: Series 0 0, Series 1 1',
      '3 min ago: Series 0 2, Series 1 1',
      '60 s ago: Series 0 not known, Series 1 1',
      'Now: Series 0 8, Series 1 1',
    ],
  )
  t.notOk('c-at-61' in drawn)
  const one = chartOf([1, 2])
  t.match(
    String(chart(one, draw([1, 2]))),
    '<rect x="595" width="10" height="100"><title data-live="c-at-60">Now: Series 0 2</title></rect>',
  )
})

t.test('Chart: unknown values are gaps, and a single point is a dot', async (t) => {
  const drawn = draw([1, 1, undefined, undefined, 2, undefined, 4])
  t.equal(drawn['c-line-0'], 'M0,75L100,75M400,50M600,0')
  t.equal(drawn['c-dots-0'], 'M400,50h.1M600,0h.1')
  t.equal(drawn['c-area-0'], 'M0,100L0,75L100,75L100,100Z')
})

t.test('Chart: without values there is no line, and the axis has the smallest step', async (t) => {
  const drawn = draw([undefined, undefined])
  t.strictSame([drawn['c-line-0'], drawn['c-dots-0'], drawn['c-area-0'], drawn['c-y-4']], ['', '', '', '4'])
  t.equal(drawn['c-desc'], 'What it is. Series 0: no data.')
})

t.test('Chart: constant values are a horizontal line, zeros one at the bottom', async (t) => {
  t.equal(draw([7, 7, 7])['c-line-0'], 'M0,12.5L300,12.5L600,12.5')
  t.equal(draw([0, 0])['c-line-0'], 'M0,100L600,100')
})

t.test('Chart: very high values stay inside', async (t) => {
  const drawn = draw([0, 2 ** 53, 1e300])
  t.match(drawn['c-line-0'], /^M0,100L300,100L600,\d+(\.\d)?$/)
})

t.test('Chart: several lines share a scale and have a legend, but no areas', async (t) => {
  const two = chartOf([1, 2], [3, 8])
  const drawn = drawChart(two)
  t.strictSame([drawn['c-line-0'], drawn['c-line-1'], drawn['c-area-1']], ['M0,87.5L600,75', 'M0,62.5L600,0', ''])
  t.match(String(chart(two, drawn)), /class="legend".*Series 0.*Series 1/s)
  t.notMatch(String(chart(chartOf([1, 2]), draw([1, 2]))), 'legend')
})

t.test('Chart: it is an image with a title and a description, and its live parts are marked', async (t) => {
  const one = chartOf([1, 2])
  const drawn = drawChart(one)
  const text = String(chart(one, drawn))
  t.match(
    text,
    '<svg class="chart" viewBox="0 0 600 100" preserveAspectRatio="none" role="img" aria-labelledby="c-title" aria-describedby="c-desc">',
  )
  t.match(text, '<title id="c-title">Title</title>')
  const named = [...text.matchAll(/data-live="([^"]+)"/g)].map(([, name]) => name)
  t.strictSame(named.toSorted(), Object.keys(drawn).toSorted())
  t.notMatch(text, 'undefined')
})
