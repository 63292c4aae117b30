import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { createBatch } from '../../src/store/batch.ts'

/** A database whose lock and disk the test holds. A result is its item in upper case. */
function createDatabase(options: { maxTurns: number; maxItems?: number } = { maxTurns: 9 }) {
  const lock = Promise.withResolvers<void>()
  const disk = Promise.withResolvers<void>()
  const roundTrips: string[][] = []
  const roundTrip = async (take: () => string[]) => {
    take()
    await lock.promise
    const items = take()
    roundTrips.push(items)
    await disk.promise
    return items.map((item) => item.toUpperCase())
  }
  const { add } = createBatch(roundTrip, options)
  return { add, lock, disk, roundTrips }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn()
}

t.test('Batch: it waits for a turn without new items, and items that arrive before the lock join it', async (t) => {
  const { add, lock, disk, roundTrips } = createDatabase()
  const first = [add('a'), add('b')]
  await turns(1)
  first.push(add('c'))
  await turns(4)
  first.push(add('d'))
  lock.resolve()
  await turns(1)
  t.strictSame(roundTrips, [['a', 'b', 'c', 'd']])
  const second = [add('e'), add('f')]
  let isAnswered = false
  void first[0]?.then(() => (isAnswered = true))
  await turns(10)
  t.equal(isAnswered, false, 'nothing is answered before its round trip has ended')
  t.equal(roundTrips.length, 1, 'what comes during a round trip is the next batch')
  disk.resolve()
  t.strictSame(await Promise.all([...first, ...second]), ['A', 'B', 'C', 'D', 'E', 'F'], 'each gets its own result')
  t.strictSame(roundTrips.slice(1), [['e', 'f']])
})

t.test('Batch: it does not wait forever if every turn brings more items', async (t) => {
  const { add, lock, disk, roundTrips } = createDatabase()
  lock.resolve()
  disk.resolve()
  const all: Promise<string>[] = []
  for (let turn = 0; turn < 40; turn++) {
    all.push(add(String(turn)))
    await turns(1)
  }
  t.ok(roundTrips.length > 1)
  t.ok((roundTrips[0] as string[]).length > 1)
  await Promise.all(all)
})

t.test('Batch: when a round trip fails, all its items are rejected', async (t) => {
  const { add, lock, disk, roundTrips } = createDatabase()
  const lost = [add('a')]
  await turns(4)
  lost.push(add('b'), add('c'))
  lock.resolve()
  await turns(1)
  const next = add('d')
  disk.reject(new Error('EIO'))
  const failed = { status: 'rejected', reason: { message: 'EIO' } }
  t.match(await Promise.allSettled(lost), [failed, failed, failed])
  await t.rejects(next, { message: 'EIO' })
  t.strictSame(roundTrips, [['a', 'b', 'c'], ['d']], 'no item waits twice, and the next one gets its own batch')
})

t.test('Batch: a round trip that fails before it takes items rejects those that it was started for', async (t) => {
  const roundTrip = () => Promise.reject(new Error('gone'))
  const { add } = createBatch<string, string>(roundTrip, { maxTurns: 1 })
  const failed = { status: 'rejected', reason: { message: 'gone' } }
  t.match(await Promise.allSettled([add('a'), add('b')]), [failed, failed])
  await t.rejects(add('c'), { message: 'gone' })
})

t.test('Batch: if it waits for one turn only, what is asked after an answer is done in the same turn', async (t) => {
  const { add, lock, disk, roundTrips } = createDatabase({ maxTurns: 1 })
  lock.resolve()
  disk.resolve()
  const all = Promise.all(['a', 'b'].map(async (item) => add(`${await add(item)}2`)))
  await turns(2)
  t.strictSame(roundTrips.join(' '), 'a,b A2,B2')
  await all
})

t.test(
  'Batch: when the maximum is waiting, the next item is refused and never done, except an urgent one',
  async (t) => {
    const { add, lock, disk, roundTrips } = createDatabase({ maxTurns: 1, maxItems: 3 })
    lock.resolve()
    const first = [add('a'), add('b')]
    await turns(3)
    const next = add('c')
    await t.rejects(add('d'), { name: 'StoreUnavailable', message: '3 requests are already waiting' })
    const urgent = add('now', { isUrgent: true })
    disk.resolve()
    t.strictSame(await Promise.all([...first, next, urgent]), ['A', 'B', 'C', 'NOW'])
    t.equal(await add('e'), 'E', 'there is room again')
    t.strictSame(roundTrips, [['a', 'b'], ['c', 'now'], ['e']])
  },
)
