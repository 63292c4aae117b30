import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { shareFigure } from '../../src/server/shared-figure.ts'

/** A figure whose questions are answered when a test says so. */
function createFigure(maxAge: number) {
  const clock = { time: 0 }
  const questions: PromiseWithResolvers<number>[] = []
  const ask = shareFigure(
    () => {
      const question = Promise.withResolvers<number>()
      questions.push(question)
      return question.promise
    },
    { maxAge, patience: 10, monotonic: () => clock.time },
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

t.test('Shared figure: a question that hangs is not waited for, and is not asked again meanwhile', async (t) => {
  const { ask, clock, questions } = createFigure(100)
  t.strictSame(await ask(), { figure: undefined, isFresh: false })
  clock.time = 1000
  t.strictSame(await ask(), { figure: undefined, isFresh: false })
  t.equal(questions.length, 1)
  questions[0]?.resolve(7)
  await turn()
  const next = ask()
  questions[1]?.resolve(8)
  t.strictSame(await next, { figure: 8, isFresh: true })
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
})
