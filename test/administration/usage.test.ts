import t from 'tap'
import { createWorld } from '../support/world.ts'

const HOUR = 3_600_000

t.test('Usage: applications are listed with their tokens of this hour and of the last one', async (t) => {
  const { administration, token, clock, flushUsage } = await createWorld(t)
  await administration.register({ name: 'Other', developerEmail: 'a@b.example' })
  const counts = async () =>
    (await administration.list()).map(({ tokensThisHour, tokensLastHour }) => [tokensThisHour, tokensLastHour])
  const issue = async (count: number) => {
    for (let n = 0; n < count; n++) await token()
    await flushUsage()
  }
  const none = [0, 0]
  t.strictSame(await counts(), [none, none])
  await issue(2)
  t.strictSame(await counts(), [[2, 0], none])
  clock.time += HOUR
  t.strictSame(await counts(), [[0, 2], none])
  await issue(3)
  t.strictSame(await counts(), [[3, 2], none])
  clock.time -= HOUR
  t.strictSame(await counts(), [[2, 0], none], 'an hour that a clock was ahead is not counted')
  clock.time += 2 * HOUR
  t.strictSame(await counts(), [[0, 3], none])
})
