import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { MOUNTS, mountFileSystem } from '../../support/mount.ts'
import { MAIN } from '../../support/spawn.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { open, refusal } from './databases.ts'

const isRoot = process.getuid?.() === 0
const NOBODY = 65534

/** What the program says when a user without privileges opens a database. */
function refusalOfNobody(file: string): string {
  const env = { ...process.env, DATABASE_URL: `sqlite:${file}` }
  const options = { env, cwd: '/', encoding: 'utf8', ...(isRoot && { uid: NOBODY, gid: NOBODY }) } as const
  // The first line: tap's own hook complains too, of what that user may not do.
  return spawnSync(process.execPath, [MAIN, 'migrate'], options).stderr.split('\n')[0] as string
}

const AS_NOBODY = { uid: NOBODY, cwd: '/' }
const canNobodyRun =
  !isRoot ||
  (spawnSync(process.execPath, ['--version'], AS_NOBODY).status === 0 &&
    spawnSync('test', ['-r', MAIN], AS_NOBODY).status === 0)

const skip = !canNobodyRun && 'needs a place that every user can read'

t.test('Place: a folder of another user is named with both users', { skip }, async (t) => {
  const folder = temporaryFolder(t)
  chmodSync(folder, 0o755)
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o555 })
  const [owner, user] = [process.getuid?.(), isRoot ? NOBODY : process.getuid?.()]
  const mend = isRoot ? `Give it to that user (chown ${NOBODY} ${data})` : `Make it writable (chmod u+rwX ${data})`
  const expected =
    `${data} belongs to uid ${owner} (mode 555), and this process, uid ${user}, may not write there. ` +
    `${mend}, or name another place in DATABASE_URL.`
  const file = join(data, 'store.db')
  t.equal(refusalOfNobody(file), `The database ${file} cannot be opened: ${expected}`)
  t.match(refusalOfNobody(join(data, 'deeper', 'store.db')), expected)

  chmodSync(data, 0o777)
  await (await open(file)).close()
  chmodSync(file, 0o444)
  t.match(refusalOfNobody(file), `${file} belongs to uid ${owner} (mode ${isRoot ? 444 : 400})`)
})

t.test('Place: a full disk, one without inodes and a read-only one are told apart', MOUNTS, async (t) => {
  const full = await mountFileSystem(t, 'size=64k')
  writeFileSync(join(full, 'ballast'), Buffer.alloc(40 * 1024))
  t.match(await refusal(join(full, 'store.db')), `the disk is full. Free some space on the file system of ${full}.`)

  const noInodes = await mountFileSystem(t, 'size=16m,nr_inodes=3')
  writeFileSync(join(noInodes, 'ballast'), '')
  t.match(await refusal(join(noInodes, 'store.db')), `the file system of ${noInodes} has no inode left. Delete some`)

  const readOnly = await mountFileSystem(t, 'ro')
  t.match(await refusal(join(readOnly, 'deeper', 'store.db')), 'its file system is read-only. Mount it writable')
})
