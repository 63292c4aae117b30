import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { oneAtATime } from '../../src/server/one-at-a-time.ts'

t.test('Restarts: never two at a time; all who ask before or during one get one more', async (t) => {
  const ready = Promise.withResolvers<void>()
  const jobs: PromiseWithResolvers<void>[] = []
  const ask = oneAtATime(ready.promise, () => {
    const job = Promise.withResolvers<void>()
    jobs.push(job)
    return job.promise
  })
  for (let n = 0; n < 5; n++) ask()
  await turn()
  t.equal(jobs.length, 0)
  ready.resolve()
  await turn()
  t.equal(jobs.length, 1)
  for (let n = 0; n < 5; n++) ask()
  await turn()
  t.equal(jobs.length, 1)
  jobs[0]?.resolve()
  await turn()
  t.equal(jobs.length, 2)
  jobs[1]?.resolve()
  await turn()
  t.equal(jobs.length, 2)
  ask()
  await turn()
  t.equal(jobs.length, 3)
})

t.test('Restarts: where the start fails there is none', async (t) => {
  const ask = oneAtATime(Promise.reject(new Error('no')), () => t.fail() as never)
  ask()
  await turn()
  t.pass('and no rejection is left unhandled')
})
