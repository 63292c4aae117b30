import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { shareFigure } from '../../src/server/store-figures.ts'

/** A figure whose questions are answered when a test says so. */
function createFigure(maxAge: number, patience = 10) {
  const clock = { time: 0 }
  const questions: PromiseWithResolvers<number>[] = []
  const ask = shareFigure(
    () => {
      const question = Promise.withResolvers<number>()
      questions.push(question)
      return question.promise
    },
    { maxAge, patience, monotonic: () => clock.time },
  )
  return { ask, clock, questions }
}

t.test('Shared figure: all who ask share a question, and its answer for as long as it is good', async (t) => {
  const { ask, clock, questions } = createFigure(100)
  const both = Promise.all([ask(), ask()])
  questions[0]?.resolve(7)
  t.strictSame(await both, [
    { figure: 7, isFresh: true },
    { figure: 7, isFresh: true },
  ])
  clock.time = 99
  t.strictSame(await ask(), { figure: 7, isFresh: true })
  t.equal(questions.length, 1)
  clock.time = 100
  const next = ask()
  questions[1]?.resolve(8)
  t.strictSame(await next, { figure: 8, isFresh: true })
})

t.test('Shared figure: an answer is good from when it came', async (t) => {
  const { ask, clock, questions } = createFigure(100, 60_000)
  const first = ask()
  clock.time = 50
  questions[0]?.resolve(7)
  await first
  clock.time = 149
  t.strictSame(await ask(), { figure: 7, isFresh: true })
  t.equal(questions.length, 1)
})

t.test('Shared figure: who has an answer waits for nothing more', async (t) => {
  const { ask, questions } = createFigure(100, 60_000)
  const timers = () => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length
  const before = timers()
  const first = ask()
  t.equal(timers(), before + 1)
  questions[0]?.resolve(7)
  await first
  t.equal(timers(), before)
})

t.test('Shared figure: a question that hangs is not waited for, and is not asked again meanwhile', async (t) => {
  const { ask, clock, questions } = createFigure(100)
  t.strictSame(await ask(), { figure: undefined, isFresh: false })
  clock.time = 1000
  t.strictSame(await ask(), { figure: undefined, isFresh: false })
  t.equal(questions.length, 1)
  questions[0]?.resolve(7)
  await turn()
  t.strictSame(await ask(), { figure: 7, isFresh: true })
  t.equal(questions.length, 1)
})

t.test('Shared figure: one that cannot be had is what it was, and not fresh', async (t) => {
  const { ask, clock, questions } = createFigure(100)
  const first = ask()
  questions[0]?.resolve(7)
  await first
  clock.time = 100
  const second = ask()
  questions[1]?.reject(new Error('gone'))
  t.strictSame(await second, { figure: 7, isFresh: false })
  const third = ask()
  questions[2]?.resolve(8)
  t.strictSame(await third, { figure: 8, isFresh: true }, 'it is asked for again at once')
})
