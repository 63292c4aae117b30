import t from 'tap'
import { watchClock } from '../../src/server/clock-watch.ts'
import { START } from '../support/world.ts'

t.test('Clock: a jump is what it moves more or less than the monotonic clock between two looks', async (t) => {
  let wall = START
  let steady = 1000.5
  const jump = watchClock({ now: () => wall, monotonic: () => steady })
  const jumpAfter = (wallTime: number, steadyTime: number) => {
    wall += wallTime
    steady += steadyTime
    return Math.round(jump())
  }
  t.equal(jumpAfter(10_000, 10_000), 0)
  t.equal(jumpAfter(3_600_000, 3_600_000), 0, 'a long time is no jump')
  t.equal(jumpAfter(70_000, 10_000), 0, 'a minute is tolerated')
  t.equal(jumpAfter(70_001, 10_000), 60_001)
  t.equal(jumpAfter(10_000, 10_000), 0, 'each jump is told once')
  t.equal(jumpAfter(-7_190_000, 10_000), -7_200_000)
})
