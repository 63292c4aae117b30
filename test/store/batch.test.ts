import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { createBatch } from '../../src/store/batch.ts'

/** A database whose lock and disk are waited for until the test lets go. A result is its item in upper case. */
function createDatabase() {
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
  const add = createBatch(roundTrip, { maxTurns: 9 })
  return { add, lock, disk, roundTrips }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn()
}

t.test('Batch: it waits for a turn that brings no more, and what comes before the lock joins it', async (t) => {
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
  await turns(4)
  t.equal(roundTrips.length, 1, 'what comes during a round trip is the next batch')
  disk.resolve()
  t.strictSame(await Promise.all([...first, ...second]), ['A', 'B', 'C', 'D', 'E', 'F'], 'each gets its own result')
  t.strictSame(roundTrips, [
    ['a', 'b', 'c', 'd'],
    ['e', 'f'],
  ])
})

t.test('Batch: it does not wait forever where every turn brings more', async (t) => {
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

t.test('Batch: nothing is answered before its round trip has ended', async (t) => {
  const { add, lock, disk, roundTrips } = createDatabase()
  lock.resolve()
  let isAnswered = false
  const one = add('a').then(() => {
    isAnswered = true
  })
  while (roundTrips.length === 0) await nextTurn()
  await turns(10)
  t.equal(isAnswered, false)
  disk.resolve()
  await one
})

t.test('Batch: when a round trip fails, all that it took are told, and nobody else', async (t) => {
  const { add, lock, disk, roundTrips } = createDatabase()
  lock.resolve()
  const lost = [add('a'), add('b')]
  while (roundTrips.length === 0) await nextTurn()
  const next = add('c')
  disk.reject(new Error('EIO'))
  const failed = { status: 'rejected', reason: { message: 'EIO' } }
  t.match(await Promise.allSettled(lost), [failed, failed])
  await t.rejects(next, { message: 'EIO' }, 'the next batch makes a round trip of its own')
  t.strictSame(roundTrips, [['a', 'b'], ['c']])
})

t.test('Batch: where it waits for one turn only, what is asked on an answer is done in the same turn', async (t) => {
  const roundTrips: string[][] = []
  const roundTrip = async (take: () => string[]) => {
    const items = take()
    roundTrips.push(items)
    return items
  }
  const add = createBatch(roundTrip, { maxTurns: 1 })
  const all = Promise.all(['a', 'b'].map(async (item) => add(`${await add(item)}2`)))
  await nextTurn()
  await nextTurn()
  t.strictSame(roundTrips, [
    ['a', 'b'],
    ['a2', 'b2'],
  ])
  await all
})

t.test('Batch: one that fails before it took anything fails those that it was made for', async (t) => {
  const roundTrip = async () => {
    throw new Error('gone')
  }
  const add = createBatch<string, string>(roundTrip, { maxTurns: 1 })
  const failed = { status: 'rejected', reason: { message: 'gone' } }
  t.match(await Promise.allSettled([add('a'), add('b')]), [failed, failed])
  await t.rejects(add('c'), { message: 'gone' })
})

t.test('Batch: what comes while it waits for a lock shares its end, also where that is a failure', async (t) => {
  const lock = Promise.withResolvers<void>()
  let rounds = 0
  const roundTrip = async (take: () => string[]) => {
    rounds++
    await lock.promise
    take()
    throw new Error('locked')
  }
  const add = createBatch<string, string>(roundTrip, { maxTurns: 1 })
  const first = add('a')
  await turns(3)
  const later = [add('b'), add('c')]
  lock.resolve()
  const failed = { status: 'rejected', reason: { message: 'locked' } }
  t.match(await Promise.allSettled([first, ...later]), [failed, failed, failed])
  t.equal(rounds, 1, 'nobody waits for a lock twice')
})

t.test('Batch: when as many wait as may, the next one is refused at once, and is never done', async (t) => {
  const lock = Promise.withResolvers<void>()
  const taken: string[][] = []
  const roundTrip = async (take: () => string[]) => {
    taken.push([...take()])
    await lock.promise
    return taken.at(-1) as string[]
  }
  const add = createBatch<string, string>(roundTrip, { maxTurns: 1, maxItems: 3 })
  const first = [add('a'), add('b')]
  await turns(3)
  const next = add('c')
  await t.rejects(add('d'), { name: 'StoreUnavailable', message: '3 requests wait already' })
  lock.resolve()
  t.strictSame(await Promise.all([...first, next]), ['a', 'b', 'c'])
  t.equal(await add('e'), 'e', 'there is room again')
  t.strictSame(taken, [['a', 'b'], ['c'], ['e']])
})
