import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { createGroupCommit } from '../../src/store/batch.ts'

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

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn()
}

t.test(
  'Group commit: a group waits for a turn that brings no more, and those that come while it waits join it',
  async (t) => {
    const { write, lock, disk, made } = createStore()
    const one = [write('a'), write('b')]
    await turns(1)
    one.push(write('c'))
    await turns(4)
    one.push(write('d'))
    lock.resolve()
    await turns(1)
    t.strictSame(made, [['a', 'b', 'c', 'd']])
    const two = [write('e'), write('f')]
    await turns(4)
    t.equal(made.length, 1, 'what comes before it is on disk is the next transaction')
    disk.resolve()
    await Promise.all([...one, ...two])
    t.strictSame(made, [
      ['a', 'b', 'c', 'd'],
      ['e', 'f'],
    ])
  },
)

t.test('Group commit: a group does not wait for ever where every turn brings more', async (t) => {
  const { write, lock, disk, made } = createStore()
  lock.resolve()
  disk.resolve()
  const all: Promise<void>[] = []
  for (let turn = 0; turn < 40; turn++) {
    all.push(write(String(turn)))
    await turns(1)
  }
  t.ok(made.length > 1)
  t.ok((made[0] as string[]).length > 1)
  await Promise.all(all)
})

t.test('Group commit: nothing is answered before it is on disk', async (t) => {
  const { write, lock, disk, made } = createStore()
  lock.resolve()
  let answered = false
  const one = write('a').then(() => {
    answered = true
  })
  while (made.length === 0) await nextTurn()
  await turns(10)
  t.equal(answered, false)
  disk.resolve()
  await one
})

t.test(
  'Group commit: when the lock or the disk fails, everybody who waits for it is told, and nobody else',
  async (t) => {
    const locked = createStore()
    const refused = [locked.write('a')]
    await turns(4)
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
