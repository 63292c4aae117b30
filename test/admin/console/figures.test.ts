import t from 'tap'
import { count, duration, NONE, percent, short, size } from '../../../src/admin/console/figures.ts'

t.test('Figures: counts are whole numbers, abbreviated if very high', async (t) => {
  t.strictSame([0, 12, 1234, 999_999, 1_234_567, 2 ** 53].map(count), ['0', '12', '1,234', '999,999', '1.23M', '9010T'])
  t.strictSame([0, 999, 1500, 25_000].map(short), ['0', '999', '1.5K', '25K'])
})

t.test('Figures: durations and sizes have a unit and two digits', async (t) => {
  t.strictSame([0, 0.000123, 0.0015, 0.25, 0.999, 1, 9.96].map(duration), [
    '0\u00a0ms',
    '0.12\u00a0ms',
    '1.5\u00a0ms',
    '250\u00a0ms',
    '1,000\u00a0ms',
    '1\u00a0s',
    '10\u00a0s',
  ])
  t.strictSame([0, 512, 1536, 48e6, 3 * 2 ** 30, 5e15].map(size), [
    '0\u00a0B',
    '512\u00a0B',
    '1.5\u00a0KB',
    '46\u00a0MB',
    '3\u00a0GB',
    '4,547\u00a0TB',
  ])
  t.equal(percent(0.1234), '12\u00a0%')
})

t.test('Figures: unknown values are a dash', async (t) => {
  t.strictSame([duration(undefined), size(undefined)], [NONE, NONE])
})
