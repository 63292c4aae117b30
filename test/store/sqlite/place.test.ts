import fs, {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { backUpSqlite } from '../../../src/store/sqlite/backup.ts'
import { belongsTo, ignoreMissing, prepareFile, restrictToOwner } from '../../../src/store/sqlite/files.ts'
import { restoreSqlite } from '../../../src/store/sqlite/restore.ts'
import { AUTHOR } from '../../support/on.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { leftOf, newFile, open, openFile, refusal, replacing } from './databases.ts'

t.test('Place: a database behind a link has its side files beside the real file', async (t) => {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'real'))
  symlinkSync(join(folder, 'real', 'store.db'), join(folder, 'link.db'))
  for (let time = 0; time < 2; time++) {
    const store = await open(join(folder, 'link.db'))
    await t.resolves(store.ping())
    t.strictSame(readdirSync(join(folder, 'real')).sort(), ['store.db', 'store.db-shm', 'store.db-wal'])
    t.equal(store.database, join(folder, 'real', 'store.db'))
    await store.close()
  }
  t.strictSame(readdirSync(folder).sort(), ['link.db', 'real'])
})

t.test('Place: opening removes the permissions of others', async (t) => {
  const file = newFile(t)
  await openFile(t, file)
  const files = [file, `${file}-wal`, `${file}-shm`]
  for (const one of files) chmodSync(one, 0o664)
  await openFile(t, file)
  for (const one of files) t.equal(statSync(one).mode & 0o777, 0o600, one)
})

/** How many side files vanish amid an action: as soon as they were looked at, or just before anything else is done with them. */
async function closedAmid(operation: 'accessSync' | 'copyFileSync' | 'statSync', action: () => unknown) {
  let closed = 0
  const real = fs[operation] as (path: string, ...rest: unknown[]) => unknown
  function close(path: string): void {
    if (!/-(wal|shm)$/.test(path) || !existsSync(path)) return
    rmSync(path)
    closed++
  }
  function closing(path: string, ...rest: unknown[]) {
    if (operation !== 'statSync') close(path)
    const answer = real(path, ...rest)
    close(path)
    return answer
  }
  await replacing(operation, closing, action)
  return closed
}

/** A database whose only process has died. */
async function leftOpen(t: Test): Promise<string> {
  const file = newFile(t)
  await openFile(t, file)
  return leftOf(t, file)
}

t.test('Place: another process may delete side files during opening, restricting or a restore', async (t) => {
  const opened = await leftOpen(t)
  t.equal(await closedAmid('accessSync', () => t.equal(prepareFile(opened, { create: false }), opened)), 2)

  const file = await leftOpen(t)
  for (const one of [file, `${file}-wal`, `${file}-shm`]) chmodSync(one, 0o644)
  t.equal(await closedAmid('statSync', () => restrictToOwner(file)), 2)
  t.doesNotThrow(() => restrictToOwner(file))
  t.equal(statSync(file).mode & 0o777, 0o600)

  const restored = await leftOpen(t)
  const backup = newFile(t)
  await backUpSqlite(restored, backup, { withoutTokens: false })
  const options = { revokeAllTokens: false, now: Date.now, author: AUTHOR }
  t.equal(await closedAmid('copyFileSync', () => restoreSqlite(restored, backup, options)), 1)
  t.notOk(belongsTo(restored, `${restored}-wal`), 'what is not there belongs to nobody')
  t.throws(() => ignoreMissing(() => mkdirSync('/')), { code: 'EEXIST' }, 'all else is an error')
})

t.test('Place: a file or a folder that this process may not change is refused', async (t) => {
  const file = await leftOpen(t)
  for (const path of [file, `${file}-wal`, dirname(file)]) {
    const deny = (one: string) => {
      if (one === path) throw Object.assign(new Error(`denied: ${path}`), { code: 'EACCES' })
    }
    await replacing('accessSync', deny, () =>
      t.throws(() => prepareFile(file, { create: true }), { message: `denied: ${path}` }),
    )
  }
})

t.test('Place: without a database, a reader reports the path and creates nothing', async (t) => {
  const folder = temporaryFolder(t)
  const missing = (file: string) => `There is no database at ${file}. If there should be one, DATABASE_URL or`
  const file = join(folder, 'deeper', 'store.db')
  t.match(await refusal(file, { create: false }), missing(file))
  t.strictSame(readdirSync(folder), [])
  const empty = join(folder, 'store.db')
  writeFileSync(empty, '')
  t.match(await refusal(empty, { create: false }), missing(empty))
  t.equal(statSync(empty).size, 0)
})

t.test('Place: a log whose database is missing or empty is kept, and nothing is created beside it', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'alone', 'store.db')
  mkdirSync(join(folder, 'alone'))
  copyFileSync(`${await leftOpen(t)}-wal`, `${file}-wal`)
  const log = readFileSync(`${file}-wal`)
  symlinkSync(file, join(folder, 'link.db'))
  const missing = `cannot be opened: ${file} is missing, but its log ${file}-wal is there: put the file back, or move the log away.`
  for (const options of [{}, { create: false }, { recover: true }]) {
    t.match(await refusal(file, options), missing)
    t.match(await refusal(join(folder, 'link.db'), options), missing)
    t.strictSame(readdirSync(join(folder, 'alone')), ['store.db-wal'])
  }
  writeFileSync(file, '')
  t.match(await refusal(file), missing)
  t.ok(readFileSync(`${file}-wal`).equals(log))
  writeFileSync(`${file}-wal`, '')
  t.equal(await refusal(file), 'it opened', 'an empty log is nothing')
})

t.test('Place: missing folders are created for the owner only, and one that cannot be created is named', async (t) => {
  const folder = temporaryFolder(t)
  await openFile(t, join(folder, 'a', 'b', 'c', 'store.db'))
  for (const made of ['a/b', 'a/b/c']) t.equal(statSync(join(folder, made)).mode & 0o777, 0o700)
  for (const made of ['store.db', 'store.db-wal']) t.equal(statSync(join(folder, 'a/b/c', made)).mode & 0o777, 0o600)
  writeFileSync(join(folder, 'file'), '')
  const odd = /file\/store\.db cannot be opened: .* is not a folder\. Name another place\.$/
  t.match(await refusal(join(folder, 'file', 'store.db')), odd)
  symlinkSync(join(folder, 'nowhere', 'deeper'), join(folder, 'dangling'))
  const dangling = /opened: there is no folder .*\/dangling\. Create it, or name another place\.$/
  t.match(await refusal(join(folder, 'dangling', 'store.db')), dangling)
})

t.test('Place: a file of another program keeps its permissions', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'letter.txt')
  writeFileSync(file, 'Dear reader, this is no database, however long it may be. '.repeat(100))
  for (const one of [folder, file]) chmodSync(one, 0o755)
  t.equal(await refusal(folder), `The database ${folder} cannot be opened: it is not a file.`)
  t.match(await refusal(file), `The database ${file} cannot be opened: file is not a database`)
  for (const one of [folder, file]) t.equal(statSync(one).mode & 0o777, 0o755)
})

const skip = !existsSync('/proc/self/stat') && 'needs /proc'

t.test('Place: a path under /proc is refused in one sentence, or stays as it is', { skip }, async (t) => {
  const message =
    /^The database \/proc\/token-server\/store\.db cannot be opened: ENOENT: .* mkdir '\/proc\/token-server'\.$/
  t.match(await refusal('/proc/token-server/store.db'), message)
  t.doesNotThrow(() => restrictToOwner('/proc/self/stat'))
})
