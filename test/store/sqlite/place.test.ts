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
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openStore } from '../../../src/store/open.ts'
import { backUpSqlite } from '../../../src/store/sqlite/backup.ts'
import { belongsTo } from '../../../src/store/sqlite/files.ts'
import { ifThere, preparePlace, tighten } from '../../../src/store/sqlite/place.ts'
import { restoreSqlite } from '../../../src/store/sqlite/restore.ts'
import { AUDIT, AUTHOR } from '../../support/audit.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const open = (file: string, options = {}) => openStore({ kind: 'sqlite', file }, { lockTimeout: 0, ...options })

async function refusal(file: string, options = {}): Promise<string> {
  return open(file, options).then(
    (store) => store.close().then(() => 'it opened'),
    (error: Error) => error.message,
  )
}

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

t.test('Place: a database that others may read is theirs no more', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const first = await open(file)
  const files = [file, `${file}-wal`, `${file}-shm`]
  for (const one of files) chmodSync(one, 0o664)
  const second = await open(file)
  for (const one of files) t.equal(statSync(one).mode & 0o777, 0o600, one)
  await first.close()
  await second.close()
})

/** Until the test ends, side files vanish: as soon as they were looked at, or just before anything else is done with them. */
function closeAmid(t: Test, operation: 'accessSync' | 'copyFileSync' | 'statSync'): { times: number } {
  const closed = { times: 0 }
  const real = fs[operation] as (path: string, ...rest: unknown[]) => unknown
  function replace(by: unknown): void {
    Object.assign(fs, { [operation]: by })
    syncBuiltinESMExports()
  }
  function close(path: string): void {
    if (!/-(wal|shm)$/.test(path) || !existsSync(path)) return
    rmSync(path)
    closed.times++
  }
  replace((path: string, ...rest: unknown[]) => {
    if (operation !== 'statSync') close(path)
    const answer = real(path, ...rest)
    close(path)
    return answer
  })
  t.teardown(() => replace(real))
  return closed
}

/** A database whose only process has died. */
async function leftOpen(t: Test): Promise<string> {
  const folder = temporaryFolder(t)
  const store = await open(join(folder, 'open.db'))
  for (const end of ['', '-wal', '-shm']) copyFileSync(join(folder, `open.db${end}`), join(folder, `store.db${end}`))
  await store.close()
  return join(folder, 'store.db')
}

t.test('Place: side files that another process deletes amid opening are not missed', async (t) => {
  const file = await leftOpen(t)
  const looked = closeAmid(t, 'accessSync')
  t.equal(preparePlace(file, { create: false }), file)
  t.equal(looked.times, 2)
})

t.test('Place: nor are those whose permissions are to be changed', async (t) => {
  const file = await leftOpen(t)
  for (const one of [file, `${file}-wal`, `${file}-shm`]) chmodSync(one, 0o644)
  const changed = closeAmid(t, 'statSync')
  t.doesNotThrow(() => tighten(file))
  t.equal(changed.times, 2)
  t.doesNotThrow(() => tighten(file))
  t.equal(statSync(file).mode & 0o777, 0o600)
})

t.test('Place: nor is a log that a restore is about to keep', async (t) => {
  const file = await leftOpen(t)
  const backup = join(temporaryFolder(t), 'backup.db')
  await backUpSqlite(file, backup, { withoutTokens: false })
  const kept = closeAmid(t, 'copyFileSync')
  t.match(await restoreSqlite(file, backup, { revokeAllTokens: false, now: Date.now, author: AUTHOR }), {
    bytes: Number,
  })
  t.equal(kept.times, 1)
  t.notOk(belongsTo(file, `${file}-wal`), 'what is not there belongs to nobody')
})

t.test('Place: only a file that is not there is passed over in silence', async (t) => {
  const folder = temporaryFolder(t)
  t.throws(() => ifThere(() => mkdirSync(folder)), { code: 'EEXIST' })
})

t.test('Place: without a database, what only reads says where it looked, and makes nothing', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'deeper', 'store.db')
  t.match(
    await refusal(file, { create: false }),
    `There is no database at ${file}. If there should be a store, DATABASE_URL or`,
  )
  t.strictSame(readdirSync(folder), [])
})

t.test('Place: a log whose database is missing, or empty, is not deleted, and nothing is made beside it', async (t) => {
  const folder = temporaryFolder(t)
  const store = await open(join(folder, 'store.db'))
  await store.setStatus('a', 'active', AUDIT)
  mkdirSync(join(folder, 'alone'))
  const file = join(folder, 'alone', 'store.db')
  copyFileSync(join(folder, 'store.db-wal'), `${file}-wal`)
  await store.close()
  const log = readFileSync(`${file}-wal`)
  symlinkSync(file, join(folder, 'link.db'))
  const missing = `cannot be opened: ${file} is missing, but its log ${file}-wal is there: put it back, or move the log away.`
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

t.test('Place: an empty file is no database yet, and what only reads leaves it empty', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  writeFileSync(file, '')
  await t.rejects(open(file, { create: false }), {
    message: new RegExp(`^There is no database at ${file}\\. If there should`),
  })
  t.equal(statSync(file).size, 0)
})

t.test('Place: several missing folders are made, and one that cannot be is named', async (t) => {
  const folder = temporaryFolder(t)
  await (await open(join(folder, 'a', 'b', 'c', 'store.db'))).close()
  t.equal(statSync(join(folder, 'a', 'b')).mode & 0o777, 0o700)
  writeFileSync(join(folder, 'file'), '')
  t.match(await refusal(join(folder, 'file', 'store.db')), /file\/store\.db cannot be opened: ENOTDIR: .*\.$/)
  symlinkSync(join(folder, 'nowhere', 'deeper'), join(folder, 'dangling'))
  t.match(await refusal(join(folder, 'dangling', 'store.db')), /cannot be opened: ENOENT: .*\.$/)
})

t.test('Place: what is no database of this program keeps its permissions', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'letter.txt')
  writeFileSync(file, 'Dear reader, this is no database, however long it may be. '.repeat(100))
  for (const one of [folder, file]) chmodSync(one, 0o755)
  t.equal(await refusal(folder), `The database ${folder} cannot be opened: it is not a file.`)
  t.match(await refusal(file), `The database ${file} cannot be opened: file is not a database`)
  for (const one of [folder, file]) t.equal(statSync(one).mode & 0o777, 0o755)
})

t.test(
  'Place: a folder that nobody can make ends in a sentence, not in a loop',
  { skip: !existsSync('/proc/self') && 'needs /proc' },
  async (t) => {
    t.match(
      await refusal('/proc/token-server/store.db'),
      /^The database \/proc\/token-server\/store\.db cannot be opened: ENOENT: .* mkdir '\/proc\/token-server'\.$/,
    )
  },
)

t.test(
  'Place: where permissions cannot be changed they stay as they are',
  { skip: !existsSync('/proc/self/stat') && 'needs /proc' },
  async (t) => {
    t.doesNotThrow(() => tighten('/proc/self/stat'))
  },
)
