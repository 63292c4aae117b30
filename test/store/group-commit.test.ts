import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { createGroupCommit } from '../../src/store/group-commit.ts'

/** A store whose lock and disk are waited for until the test lets go. */
function createStore() {
  const lock = Promise.withResolvers<void>()
  const disk = Promise.withResolvers<void>()
  const made: string[][] = []
  const transact = async (writes: () => (() => void)[]) => {
    writes()
    await lock.promise
    made.push([])
    for (const write of writes()) write()
  }
  const commit = createGroupCommit(transact, () => disk.promise)
  const write = (name: string) => commit(() => made.at(-1)?.push(name))
  return { write, lock, disk, made }
}

t.test('Group commit: the writes of a turn are one transaction; those that come while it waits join it', async (t) => {
  const { write, lock, disk, made } = createStore()
  const one = [write('a'), write('b')]
  await nextTurn()
  one.push(write('c'))
  lock.resolve()
  await nextTurn()
  t.strictSame(made, [['a', 'b', 'c']])
  const two = [write('d'), write('e')]
  await nextTurn()
  t.equal(made.length, 1, 'what comes before it is on disk is the next transaction')
  disk.resolve()
  await Promise.all([...one, ...two])
  t.strictSame(made, [
    ['a', 'b', 'c'],
    ['d', 'e'],
  ])
})

t.test('Group commit: nothing is answered before it is on disk', async (t) => {
  const { write, lock, disk, made } = createStore()
  lock.resolve()
  let answered = false
  const one = write('a').then(() => {
    answered = true
  })
  while (made.length === 0) await nextTurn()
  for (let turn = 0; turn < 10; turn++) await nextTurn()
  t.equal(answered, false)
  disk.resolve()
  await one
})

t.test(
  'Group commit: when the lock or the disk fails, everybody who waits for it is told, and nobody else',
  async (t) => {
    const locked = createStore()
    const refused = [locked.write('a')]
    await nextTurn()
    refused.push(locked.write('b'))
    locked.lock.reject(new Error('locked'))
    const failed = (message: string) => ({ status: 'rejected', reason: { message } })
    t.match(await Promise.allSettled(refused), [failed('locked'), failed('locked')])
    t.strictSame(locked.made, [])

    const broken = createStore()
    broken.lock.resolve()
    const lost = [broken.write('a'), broken.write('b')]
    while (broken.made.length === 0) await nextTurn()
    broken.disk.reject(new Error('EIO'))
    t.match(await Promise.allSettled(lost), [failed('EIO'), failed('EIO')])
  },
)
