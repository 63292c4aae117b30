import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { createFairQueue } from '../../src/limits/fair-queue.ts'

/** A queue whose tasks end when the test ends them. */
function createWorld(limits = { concurrency: 2, perParty: 4, total: 6 }) {
  const { run, load } = createFairQueue(limits)
  const underWay: { name: string; end: (failure?: Error) => void }[] = []
  const began: string[] = []
  let most = 0

  function add(party: string, name = party): boolean {
    const outcome = run(party, () => {
      began.push(name)
      return new Promise<void>((resolve, reject) => {
        underWay.push({ name, end: (failure) => (failure ? reject(failure) : resolve()) })
        most = Math.max(most, underWay.length)
      })
    })
    outcome?.catch(() => {})
    return outcome !== undefined
  }

  async function endFirst(failure?: Error): Promise<void> {
    underWay.shift()?.end(failure)
    await turn()
  }

  return { add, began, endFirst, load, most: () => most, isIdle: () => underWay.length === 0 }
}

t.test('Fair queue: parties take turns, and each is served in its own order', async (t) => {
  const { add, began, endFirst, most, isIdle } = createWorld()
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'c1']) t.ok(add(name[0] as string, name))
  while (!isIdle()) await endFirst()
  t.strictSame(began, ['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'a5'])
  t.equal(most(), 2)
})

t.test('Fair queue: the number that waits is limited, for each party and in all', async (t) => {
  const { add, endFirst, load } = createWorld()
  const outcomes = (party: string, count: number) => Array.from({ length: count }, () => add(party))
  t.strictSame(outcomes('a', 8), [...Array(6).fill(true), false, false])
  t.strictSame(outcomes('b', 3), [true, true, false])
  t.equal(add('c'), false)
  t.strictSame(load(), { running: 2, waiting: 6 })
  await endFirst()
  t.strictSame([add('c'), add('c')], [true, false], 'and then there is place for one')
})

t.test('Fair queue: in any sequence nobody waits for more than one task of each other party', async () => {
  const step = fc.oneof(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom('end', 'fail'))
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { add, began, endFirst, most, isIdle } = createWorld({ concurrency: 2, perParty: 3, total: 8 })
      const added: { name: string; at: number }[] = []
      for (const [n, party] of steps.entries()) {
        const at = began.length
        if (party === 'end') await endFirst()
        else if (party === 'fail') await endFirst(new Error('failed'))
        else if (add(party, `${party}${n}`)) added.push({ name: `${party}${n}`, at })
      }
      while (!isIdle()) await endFirst()
      const isFair = added.every(({ name, at }) => {
        const own = began.indexOf(name)
        const previous = began.findLastIndex((other, index) => index < own && other[0] === name[0])
        const others = began.slice(Math.max(at, previous + 1), own).map(([party]) => party)
        return new Set(others).size === others.length
      })
      return most() <= 2 && began.length === added.length && isFair
    }),
  )
})
