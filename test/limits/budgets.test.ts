import fc from 'fast-check'
import t from 'tap'
import { createBudgets } from '../../src/limits/budgets.ts'

const TEN = { atOnce: 10, interval: 6000 }

function createWorld(options = { slots: 64 }) {
  const clock = { time: 0 }
  const { spend, giveBack } = createBudgets(() => clock.time, options)
  const burst = () => Array.from({ length: 12 }, () => spend('a', TEN))
  return { clock, spend, giveBack, burst }
}

t.test('Budgets: so many at once, then one per interval, and at last as many at once as before', async (t) => {
  const { clock, spend, burst } = createWorld()
  t.strictSame(burst(), [...Array(10).fill(0), 6000, 6000])
  clock.time = 1500.7
  t.equal(spend('a', TEN), 4500)
  clock.time = 5999
  t.equal(spend('a', TEN), 1)
  clock.time = 6000
  t.strictSame([spend('a', TEN), spend('a', TEN)], [0, 6000])
  clock.time = 66_000
  t.strictSame(burst(), [...Array(10).fill(0), 6000, 6000])
  t.equal(spend('b', TEN), 0, 'and each name has its own')
})

t.test('Budgets: what is given back may be spent again, once', async (t) => {
  const { clock, spend, giveBack, burst } = createWorld()
  for (let n = 0; n < 10; n++) spend('a', TEN)
  giveBack('a', TEN)
  t.strictSame([spend('a', TEN), spend('a', TEN)], [0, 6000])
  clock.time = 100_000
  for (let n = 0; n < 5; n++) giveBack('a', TEN)
  giveBack('nobody', TEN)
  t.strictSame(burst(), [...Array(10).fill(0), 6000, 6000], 'a full budget stays full')
})

t.test('Budgets: in any sequence nobody spends more than the budget and what came since', async () => {
  const budget = fc.record({ atOnce: fc.integer({ min: 1, max: 5 }), interval: fc.integer({ min: 1, max: 1000 }) })
  const steps = fc.array(
    fc.record({ name: fc.constantFrom('a', 'b', 'c'), pause: fc.double({ min: 0, max: 700, noNaN: true }) }),
  )
  fc.assert(
    fc.property(budget, steps, (budget, steps) => {
      const { clock, spend } = createWorld()
      const spent: Record<string, number[]> = { a: [], b: [], c: [] }
      return steps.every(({ name, pause }) => {
        clock.time += pause
        const wait = spend(name, budget)
        const times = spent[name] as number[]
        if (wait === 0) times.push(Math.floor(clock.time))
        const isBounded = times.every((since, at) => {
          const later = times.slice(at)
          return later.length <= budget.atOnce + ((later.at(-1) as number) - since) / budget.interval
        })
        return isBounded && wait >= 0 && wait <= budget.interval
      })
    }),
  )
})

t.test('Budgets: the wait that is told is the shortest that suffices', async () => {
  fc.assert(
    fc.property(fc.array(fc.nat(9000), { minLength: 1 }), (pauses) => {
      const { clock, spend } = createWorld()
      return pauses.every((pause) => {
        clock.time += pause
        const wait = spend('a', TEN)
        if (wait === 0) return true
        clock.time += wait - 1
        const early = spend('a', TEN)
        clock.time += 1
        return early === 1 && spend('a', TEN) === 0
      })
    }),
  )
})

t.test('Budgets: where memory is short, the budget that is full again soonest makes place', async (t) => {
  const { clock, spend } = createWorld({ slots: 8 })
  const names = Array.from({ length: 8 }, (_, n) => `name ${n}`)
  for (const [n, name] of names.entries()) for (let times = 0; times <= n; times++) spend(name, TEN)
  for (const newcomer of ['one', 'another']) t.equal(spend(newcomer, TEN), 0)
  const left = names.map((name) => {
    const attempts = Array.from({ length: 11 }, () => spend(name, TEN))
    return attempts.filter((wait) => wait === 0).length
  })
  t.strictSame(left.slice(2), [7, 6, 5, 4, 3, 2], 'the others are spent as far as they were')
  clock.time = 1e9
  t.equal(spend('later', TEN), 0)
})

t.test('Budgets: however many names there are, each that is new has its budget', async (t) => {
  const { clock, spend } = createWorld({ slots: 512 })
  const waits = Array.from({ length: 10_000 }, (_, n) => {
    clock.time += 0.01
    return spend(`name ${n}`, TEN)
  })
  t.strictSame(new Set(waits), new Set([0]))
})
