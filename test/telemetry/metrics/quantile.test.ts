import t from 'tap'
import { quantile } from '../../../src/telemetry/metrics/history.ts'

const BOUNDS = [1, 2, 4]

t.test('Quantile: values are interpolated linearly within a bucket', async (t) => {
  t.equal(quantile(0.5, [10, 0, 0, 0], BOUNDS), 0.5)
  t.equal(quantile(0.5, [0, 10, 0, 0], BOUNDS), 1.5)
  t.equal(quantile(0.99, [0, 0, 100, 0], BOUNDS), 3.98)
  t.equal(quantile(0.5, [5, 0, 5, 0], BOUNDS), 1)
  t.equal(quantile(0.75, [5, 0, 5, 0], BOUNDS), 3)
})

t.test('Quantile: it is undefined without values and beyond the last bound', async (t) => {
  t.equal(quantile(0.5, [0, 0, 0, 0], BOUNDS), undefined)
  t.equal(quantile(0.99, [1, 0, 0, 1], BOUNDS), 4)
})
