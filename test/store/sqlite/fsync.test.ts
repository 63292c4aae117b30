import t from 'tap'
import { createSync } from '../../../src/store/sqlite/fsync.ts'

t.test('Sync: it resolves when what was written before is on disk', async (t) => {
  let flushed = 0
  const { sync, assertSound } = createSync(async () => flushed++)
  await Promise.all([sync(), sync()])
  t.equal(flushed, 2)
  t.doesNotThrow(assertSound)
})

t.test('Sync: after a flush that failed nothing is said to be on disk any more', async (t) => {
  let broken = true
  const { sync, assertSound } = createSync(async () => {
    if (broken) throw new Error('EIO')
  })
  const error = { name: 'StoreUnavailable', cause: { message: 'EIO' } }
  await t.rejects(sync(), error)
  broken = false
  await t.rejects(sync(), error)
  t.throws(assertSound, error)
})
