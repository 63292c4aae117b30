import t from 'tap'
import { onDemand } from '../../src/server/on-demand.ts'

/** Loads a number, but fails the first `failing` times. */
function counting(failing: number) {
  let times = 0
  return async () => {
    if (++times <= failing) throw new Error(`failed ${times}`)
    return times
  }
}

t.test('On demand: a part is loaded once, for all that ask meanwhile, and again after a failure', async (t) => {
  const part = await onDemand({ WORKERS: 1 }, counting(1))
  const both = await Promise.allSettled([part(), part()])
  t.match(both, [{ reason: { message: 'failed 1' } }, { reason: { message: 'failed 1' } }])
  t.strictSame(await Promise.all([part(), part(), part()]), [2, 2, 2])
  t.equal(await part(), 2)
})

t.test('On demand: a leader loads it at the start, which fails if that fails', async (t) => {
  await t.rejects(onDemand({ WORKERS: 2 }, counting(1)), { message: 'failed 1' })
  const load = counting(0)
  const part = await onDemand({ WORKERS: 2 }, load)
  t.equal(await load(), 2, 'it has been loaded')
  t.equal(await part(), 1)
})
