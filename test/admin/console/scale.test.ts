import t from 'tap'
import { scaleFor } from '../../../src/admin/console/chart.ts'

const STEPS = 4

t.test('Scale: the steps are round, and the highest value uses most of the scale', async (t) => {
  for (const [highest, step] of [
    [1, 1],
    [4, 1],
    [5, 2],
    [17, 5],
    [40, 10],
    [41, 15],
    [81, 25],
    [399, 100],
    [401, 150],
    [1_234_567, 400_000],
    [2 ** 53, 2.5e15],
    [1e21, 2.5e20],
  ] as const) {
    t.equal(scaleFor([0, highest, 1], { steps: STEPS, least: 1 }), step, String(highest))
  }
})

t.test('Scale: without values, or with very low ones, it is the smallest step', async (t) => {
  for (const figures of [[], [0, 0], [0.00001]]) t.equal(scaleFor(figures, { steps: STEPS, least: 0.0001 }), 0.0001)
})

t.test('Scale: every value is within the scale, and counts have whole steps', async (t) => {
  for (let figure = 1; figure < 1e15; figure = Math.ceil(figure * 1.07)) {
    const step = scaleFor([figure], { steps: STEPS, least: 1 })
    if (step * STEPS >= figure && Number.isInteger(step) && (step === 1 || step * STEPS <= figure * 1.7)) continue
    t.fail(`${figure}: ${step}`)
  }
})
