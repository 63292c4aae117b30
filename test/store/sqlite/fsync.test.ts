import t from 'tap'
import { createFsync } from '../../../src/store/sqlite/fsync.ts'

t.test('Fsync: it resolves when what was written before is on disk', async (t) => {
  let calls = 0
  const { toDisk, assertDiskTrusted } = createFsync(async () => calls++)
  await Promise.all([toDisk(), toDisk()])
  t.equal(calls, 2)
  t.doesNotThrow(assertDiskTrusted)
})

t.test('Fsync: after one that failed nothing is said to be on disk any more', async (t) => {
  let isBroken = true
  const { toDisk, assertDiskTrusted } = createFsync(async () => {
    if (isBroken) throw new Error('EIO')
  })
  const error = { name: 'StoreUnavailable', cause: { message: 'EIO' } }
  await t.rejects(toDisk(), error)
  isBroken = false
  await t.rejects(toDisk(), error)
  t.throws(assertDiskTrusted, error)
})
