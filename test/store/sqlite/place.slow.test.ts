import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { leftOf, openFile, refusal } from './databases.ts'

/** Only root may mount a file system. */
function canMount(): boolean {
  const isRoot = process.getuid?.() === 0
  return isRoot && spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0
}

/** It ends when its input does, so with the test, however that ends; and the mount with it. */
const GUARD = 'mount -t tmpfs -o "$1" none "$2" && echo mounted && cat; umount -l "$2"'

/** A folder with a file system in memory, with options as `mount` has them. */
async function mountFileSystem(t: Test, options: string, folder = temporaryFolder(t)): Promise<string> {
  // Detached: what ends the group of the test does not end it.
  const guard = spawn('sh', ['-c', GUARD, 'sh', options, folder], { detached: true })
  t.teardown(async () => {
    guard.stdin.end()
    await once(guard, 'exit')
  })
  await once(guard.stdout, 'data')
  return folder
}

const skip = !canMount() && 'needs to mount file systems'

t.test('Place: errors of a full disk, one without inodes and a read-only one differ', { skip }, async (t) => {
  const full = await mountFileSystem(t, 'size=64k')
  writeFileSync(join(full, 'ballast'), Buffer.alloc(40 * 1024))
  t.match(await refusal(join(full, 'store.db')), `the disk is full. Free some space on the file system of ${full}.`)

  const noInodes = await mountFileSystem(t, 'size=16m,nr_inodes=3')
  writeFileSync(join(noInodes, 'ballast'), '')
  t.match(await refusal(join(noInodes, 'store.db')), `the file system of ${noInodes} has no inode left. Delete some`)

  const readOnly = await mountFileSystem(t, 'ro')
  t.match(await refusal(join(readOnly, 'deeper', 'store.db')), 'its file system is read-only. Remount it read-write')
})

t.test('Place: a file system mounted over a database is noticed, even if inodes are equal', { skip }, async (t) => {
  const file = join(await mountFileSystem(t, 'size=16m'), 'store.db')
  const store = await openFile(t, file)
  await t.resolves(store.ping())
  const inodeOf = (path: string) => statSync(path).ino
  const files = [file, `${file}-wal`, `${file}-shm`].map((path) => ({ path, inode: inodeOf(path) }))
  const restored = leftOf(t, file)

  await mountFileSystem(t, 'size=16m', dirname(file))
  // A file system in memory numbers its files in the order in which they are created.
  for (const { path, inode } of files.sort((a, b) => a.inode - b.inode)) {
    do {
      rmSync(path, { force: true })
      copyFileSync(path.replace(file, restored), path)
    } while (inodeOf(path) < inode)
    t.equal(inodeOf(path), inode)
  }
  await t.rejects(store.ping(), { message: `the file ${file} was removed or replaced` })
})
