import t from 'tap'
import { createDisk } from '../../../src/store/sqlite/disk.ts'

function createFaultyDisk() {
  const disk = { error: undefined as Error | undefined, isSound: true, calls: 0, marks: 0 }
  const parts = createDisk({
    fsync: async () => {
      disk.calls++
      if (disk.error) throw disk.error
    },
    assertSound() {
      if (!disk.isSound) throw new Error('marked')
    },
    mark: () => disk.marks++,
  })
  return { disk, ...parts }
}

t.test('Disk: it resolves when what was written before is on disk', async (t) => {
  const { disk, toDisk, assertTrusted, assertAnswering } = createFaultyDisk()
  await Promise.all([toDisk(), toDisk()])
  t.equal(disk.calls, 2)
  t.equal(disk.marks, 0)
  t.doesNotThrow(assertTrusted)
  t.doesNotThrow(assertAnswering)
})

t.test(
  'Disk: after an fsync that failed nothing is on disk any more, and the mark is set until it stays',
  async (t) => {
    const { disk, toDisk, assertTrusted } = createFaultyDisk()
    disk.error = new Error('EIO')
    const error = { name: 'StoreUnavailable', cause: { message: 'EIO' } }
    await t.rejects(toDisk(), error)
    t.ok(disk.marks > 0)
    disk.error = undefined
    await t.rejects(toDisk(), error)
    const { marks } = disk
    t.throws(assertTrusted, error)
    t.equal(disk.marks, marks + 1)
  },
)

t.test("Disk: what is not on another process's disk is not on this one's", async (t) => {
  const { disk, toDisk } = createFaultyDisk()
  disk.isSound = false
  await t.rejects(toDisk(), { message: 'marked' })
})
