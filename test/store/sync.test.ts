import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createSync } from '../../src/store/sync.ts'

/** A disk that ends a flush when it is told to. */
function createDisk() {
  const flushes: PromiseWithResolvers<void>[] = []
  const flush = () => {
    const one = Promise.withResolvers<void>()
    flushes.push(one)
    return one.promise
  }
  return { ...createSync(flush), flushes }
}

t.test('Sync: it resolves when a flush has ended that began after the call, and one flush serves many', async (t) => {
  const { sync, flushes } = createDisk()
  const done: string[] = []
  const call = (name: string) => sync().then(() => done.push(name))
  const first = call('first')
  const others = [call('second'), call('third')]
  t.equal(flushes.length, 1, 'one at a time')

  flushes[0]?.resolve()
  await first
  await sleep(1)
  t.strictSame(done, ['first'], 'what came while a flush was under way waits for another')
  t.equal(flushes.length, 2)
  const fourth = call('fourth')
  flushes[1]?.resolve()
  await Promise.all(others)
  await sleep(1)
  t.strictSame(done, ['first', 'second', 'third'])
  flushes[2]?.resolve()
  await fourth
  const fifth = call('fifth')
  t.equal(flushes.length, 4, 'after a pause the next begins at once')
  flushes[3]?.resolve()
  await fifth
})

t.test('Sync: after a flush that failed nothing is said to be on disk any more', async (t) => {
  const { sync, assertSound, flushes } = createDisk()
  t.doesNotThrow(assertSound)
  const outcomes = Promise.allSettled([sync(), sync(), sync()])
  flushes[0]?.reject(new Error('EIO'))
  const failed = { status: 'rejected', reason: { name: 'StoreUnavailable', cause: { message: 'EIO' } } }
  t.match(await outcomes, [failed, failed, failed])
  t.match(await Promise.allSettled([sync(), sync()]), [failed, failed])
  t.equal(flushes.length, 1)
  t.throws(assertSound, { cause: { message: 'EIO' } })
})
