import t from 'tap'
import { countLiveTokens } from '../../src/server/store-figures.ts'
import { createWorld, START } from '../support/world.ts'

const HOUR = 60 * 60 * 1000

t.test('Live tokens: a token lives for an hour, or until it is revoked', async (t) => {
  const { store, token, clock, post, credentials } = await createWorld(t)
  const live = () => countLiveTokens(store, clock.time)
  t.strictSame(await live(), { count: 0, isExact: true })
  await token()
  clock.time += 1000
  const revoked = await token()
  t.strictSame(await live(), { count: 2, isExact: true })
  await post({ ...credentials, token: revoked }, {}, '/v1/oauth/revoke')
  t.strictSame(await live(), { count: 1, isExact: true })
  clock.time = START + HOUR - 1
  t.strictSame(await live(), { count: 1, isExact: true })
  clock.time = START + HOUR
  t.strictSame(await live(), { count: 0, isExact: true })
})

t.test('Live tokens: a very large number is estimated, and marked as an estimate', async (t) => {
  const asked: number[] = []
  const issued = new Map([
    [START / HOUR - 1, 1_000_000],
    [START / HOUR, 200_000],
  ])
  const many = {
    countLiveTokens: async () => undefined,
    countIssued: async (hour: number) => {
      asked.push(hour)
      return issued.get(hour) ?? 0
    },
  }
  t.strictSame(await countLiveTokens(many, START), { count: 1_200_000, isExact: false })
  t.strictSame(await countLiveTokens(many, START + 0.75 * HOUR), { count: 450_000, isExact: false })
  issued.clear()
  t.strictSame(await countLiveTokens(many, START), { count: 100_000, isExact: false }, 'the counts come later')
  t.strictSame([...new Set(asked)], [START / HOUR - 1, START / HOUR])
})
