import t from 'tap'
import { AuthenticationRefused, RequestRefused } from '../../src/domain/refusal.ts'
import { failures } from '../support/failures.ts'

/** A limit, and what becomes of attempts: the seconds after which to try again where one is not made. */
function createWorld({ shared = '', isLimited = true } = {}) {
  const clock = { time: 0 }
  const limit = failures({ isLimited, isShared: (address) => address === shared, monotonic: () => clock.time })

  async function attempt(clientId: string, remoteAddress: string, outcome?: Error): Promise<number | 'made'> {
    const authenticate = async () => {
      if (outcome) throw outcome
    }
    const refusal = await limit.attempt({ clientId, remoteAddress }, authenticate).catch((error) => error)
    if (refusal === outcome) return 'made'
    if (refusal instanceof RequestRefused) return refusal.details.retryAfter as number
    throw refusal
  }
  const fail = (clientId: string, remoteAddress = '192.0.2.1') =>
    attempt(clientId, remoteAddress, new AuthenticationRefused('wrong secret', clientId))
  return { clock, attempt, fail, partyOf: limit.partyOf }
}

async function times(count: number, action: (n: number) => Promise<number | 'made'>) {
  const results: (number | 'made')[] = []
  for (let n = 0; n < count; n++) results.push(await action(n))
  return results
}

t.test('Failures: ten with one client id from one address, then one every six seconds', async (t) => {
  const { clock, fail } = createWorld()
  t.strictSame(await times(12, () => fail('a')), [...Array(10).fill('made'), 6, 6])
  t.strictSame([await fail('b'), await fail('a', '192.0.2.2')], ['made', 'made'], 'others have their own')
  clock.time = 5001
  t.equal(await fail('a'), 1)
  clock.time = 6000
  t.strictSame([await fail('a'), await fail('a')], ['made', 6])
  const atOnce = await Promise.all(Array.from({ length: 12 }, () => fail('c')))
  t.strictSame(atOnce, [...Array(10).fill('made'), 6, 6], 'those that are under way at the same time count')
})

t.test('Failures: a hundred from one prefix with whatever client ids, then one a second', async (t) => {
  for (const addresses of [['192.0.2.1'], ['::ffff:192.0.2.1', '192.0.2.1'], ['2001:db8::1', '2001:db8::ffff:1']]) {
    const { clock, fail } = createWorld()
    const outcomes = await times(102, (n) => fail(`client ${n}`, addresses[n % addresses.length]))
    t.strictSame(outcomes, [...Array(100).fill('made'), 1, 1], addresses[0] as string)
    clock.time = 1000
    t.strictSame([await fail('a', addresses[0]), await fail('b', addresses[0])], ['made', 1])
    t.equal(await fail('a', '2001:db8:0:1::1'), 'made')
  }
})

t.test('Failures: a client id that keeps failing does not use up the budget of the prefix', async (t) => {
  const { fail } = createWorld()
  await times(150, () => fail('a'))
  t.strictSame(await times(90, (n) => fail(`client ${n}`)), Array(90).fill('made'))
  t.equal(await fail('b'), 1)
})

t.test('Failures: successes and failures of the server cost nothing', async (t) => {
  const { attempt, fail } = createWorld()
  for (const outcome of [undefined, new RequestRefused('too many imported secrets to check'), new Error('bug')]) {
    t.strictSame(await times(120, () => attempt('a', '192.0.2.1', outcome)), Array(120).fill('made'))
  }
  t.strictSame(await times(11, () => fail('a')), [...Array(10).fill('made'), 6])
})

t.test('Failures: those of an address that many share do not count for all of them', async (t) => {
  const { attempt, fail, partyOf } = createWorld({ shared: '10.0.0.1' })
  t.strictSame(await times(120, (n) => fail(`client ${n}`, '10.0.0.1')), Array(120).fill('made'))
  t.strictSame(await times(11, () => fail('a', '10.0.0.1')), [...Array(10).fill('made'), 6])
  await attempt('b', '10.0.0.1')
  t.strictSame(await times(101, (n) => fail(`client ${n}`, '10.0.0.2')), [...Array(100).fill('made'), 1])

  const party = (remoteAddress: string) => partyOf({ clientId: 'a', remoteAddress })
  t.strictSame(party('10.0.0.1'), { prefix: '10.0.0.1', isShared: true, isRegistered: false })
  t.strictSame(party('2001:db8::2'), { prefix: '2001:db8:0:0::/64', isShared: false, isRegistered: false })
})

t.test('Failures: client ids that are longer than any registered one are one', async (t) => {
  const { fail } = createWorld()
  const outcomes = await times(11, (n) => fail(`${'x'.repeat(201)}${n}`))
  t.strictSame(outcomes, [...Array(10).fill('made'), 6])
  t.equal(await fail('x'.repeat(200)), 'made')
})

t.test('Failures: where they are not limited, none is refused', async (t) => {
  const { attempt, fail } = createWorld({ isLimited: false })
  t.strictSame(await times(120, () => fail('a')), Array(120).fill('made'))
  t.equal(await attempt('a', '192.0.2.1', new Error('bug')), 'made')
})
