import fs, {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config.ts'
import type { Application } from '../../src/domain/application.ts'
import { mintToken } from '../../src/domain/token.ts'
import { openStore, restoreStore } from '../../src/store/open.ts'
import { MARK } from '../../src/store/sqlite/files.ts'
import { AUDIT, AUTHOR } from '../support/audit.ts'
import { LATEST } from '../support/migrations.ts'
import { REGISTER } from '../support/register.ts'
import { run, runJson } from '../support/run.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

type Options = ReturnType<typeof temporaryDatabase>

/** A database with the application `old`, its backup, and then the application `new`. */
async function createBackup(t: Test) {
  const options = temporaryDatabase(t)
  const copy = join(options.folder, 'copy.db')
  await runJson([...REGISTER, '--client-id', 'old'], options)
  await runJson(['backup', copy], options)
  await runJson([...REGISTER, '--client-id', 'new'], options)
  return { ...options, copy }
}

const clientIds = async (options: Pick<Options, 'env'>) =>
  (await runJson(['apps', 'list'], options)).map(({ client_id }: { client_id: string }) => client_id)

const openHere = ({ env }: Pick<Options, 'env'>) => openStore(readConfig(env).DATABASE_URL, { lockTimeout: 0 })

/** The names in the folder of a database, but for what SQLite has beside it. */
const namesIn = (folder: string) => readdirSync(folder).filter((name) => !/-(wal|shm)$/.test(name))

t.test('Restore: of a backup that cannot be used it is said which one, and what is wrong with it', async (t) => {
  const options = await createBackup(t)
  const cut = join(options.folder, 'cut.db')
  writeFileSync(cut, readFileSync(options.copy).subarray(0, 8192))
  t.match(
    (await run(['restore', cut], options)).err,
    `Nothing was restored: the backup ${cut} cannot be used: database disk`,
  )
  const nothing = 'Nothing was restored: the backup from standard input cannot be used: it is empty.\n'
  t.equal((await run(['restore', '-'], options)).err, nothing)
})

t.test('Restore: the restored database has an audit event of it; if that fails, nothing is restored', async (t) => {
  const options = await createBackup(t)
  const events = async () => (await runJson(['audit', 'list'], options)) as { action: string; after: object }[]
  const actions = async () => (await events()).map(({ action }) => action)
  const registered = 'application registered'
  t.strictSame(await actions(), [registered, registered])
  const altered = join(options.folder, 'altered.db')
  copyFileSync(options.copy, altered)
  const db = new Database(altered)
  db.exec("CREATE TRIGGER refused BEFORE INSERT ON audit_events BEGIN SELECT RAISE(ABORT, 'no row, no change'); END")
  db.close()
  t.match((await run(['restore', altered], options)).err, /^Nothing was restored: .*no row, no change/)
  t.strictSame(await actions(), [registered, registered])
  t.strictSame(await clientIds(options), ['old', 'new'])

  await runJson(['restore', options.copy], options)
  t.strictSame(await actions(), ['database restored', registered], 'what the restore undoes is in what was replaced')
  const stdin = readFileSync(options.copy)
  await runJson(['restore', '-', '--revoke-all-tokens'], { ...options, stdin })
  const [last] = await events()
  const after = { file: '-', revoke_all_tokens: true }
  t.match(last, { action: 'database restored', subject: { kind: 'database', id: options.file }, before: {}, after })
})

t.test('Restore: what several of one second replace is kept under several names', async (t) => {
  const options = await createBackup(t)
  const location = readConfig(options.env).DATABASE_URL
  const restore = () => restoreStore(location, options.copy, { revokeAllTokens: false, now: () => 0, author: AUTHOR })
  const names = [await restore(), await restore(), await restore()].map(({ replaced }) => replaced)
  const first = `${options.file}.replaced-19700101T000000Z`
  t.strictSame(names, [first, `${first}-2`, `${first}-3`])
  t.ok(names.every((name) => existsSync(name as string)))
})

t.test(
  'Restore: the backup takes the place of the database, which is kept, and it says what that undoes',
  async (t) => {
    const options = await createBackup(t)
    const { status, out, events } = await run(['restore', options.copy], options)
    t.equal(status, 0)
    t.match(out, /^Restored .*store\.db from .*copy\.db: \d+ bytes, applications: 1, newest token issued: none\.\n/)
    t.match(
      out,
      /401 until they ask for new ones[\s\S]*old secrets live again[\s\S]*revoked since then are valid again/,
    )
    t.strictSame(await clientIds(options), ['old'])
    t.equal(statSync(options.file).mode & 0o777, 0o600)

    const [, replaced = ''] = /What was there before is (\S+);/.exec(out) ?? []
    t.match(replaced, /store\.db\.replaced-\d{8}T\d{6}Z$/)
    t.match(out, /have an actor\.\nSo does "audit list" on what was there before\.\n$/)
    t.strictSame(await clientIds({ env: { DATABASE_URL: `sqlite:${replaced}` } }), ['old', 'new'])
    t.match(events, [{ msg: 'database restored', file: options.copy, replaced, revoke_all_tokens: false }])
    t.equal(namesIn(options.folder).length, 3, 'nothing else is left behind')
    t.match(await run(['restore', options.copy], { env: { DATABASE_URL: `sqlite:${replaced}` } }), { status: 0 })
  },
)

t.test('Restore: where there was no database, the backup becomes one', async (t) => {
  const { copy, folder } = await createBackup(t)
  const elsewhere = { env: { DATABASE_URL: `sqlite:${folder}/new/store.db` } }
  const result = await runJson(['restore', copy], elsewhere)
  t.match(result, { applications: 1, replaced: null, was_locked: true })
  t.strictSame(await clientIds(elsewhere), ['old'])
  t.strictSame(namesIn(join(folder, 'new')), ['store.db'])
  t.notMatch((await run(['restore', copy], { env: { DATABASE_URL: `sqlite:${folder}/other.db` } })).out, 'was there')
})

t.test(
  'Restore: a folder that nobody can make ends in a sentence, not in a loop',
  { skip: !existsSync('/proc/self') && 'needs /proc' },
  async (t) => {
    const { copy } = await createBackup(t)
    const { status, err } = await run(['restore', copy], {
      env: { DATABASE_URL: 'sqlite:/proc/token-server/store.db' },
    })
    t.equal(status, 1)
    t.match(err, /^Nothing was restored: ENOENT: .*\.\n$/)
  },
)

t.test('Restore: a symbolic link to the database stays one', async (t) => {
  const { copy, file, folder } = await createBackup(t)
  symlinkSync(file, join(folder, 'link.db'))
  await runJson(['restore', copy], { env: { DATABASE_URL: `sqlite:${folder}/link.db` } })
  t.strictSame(await clientIds({ env: { DATABASE_URL: `sqlite:${file}` } }), ['old'])
})

t.test('Restore: one that fails leaves a link that leads nowhere as it was', async (t) => {
  const { copy, folder } = await createBackup(t)
  symlinkSync(join(folder, 'elsewhere.db'), join(folder, 'link.db'))
  const linked = { env: { DATABASE_URL: `sqlite:${folder}/link.db` } }
  writeFileSync(join(folder, 'empty.db'), '')
  t.match(await run(['restore', join(folder, 'empty.db')], linked), { status: 1, err: /^Nothing was restored: / })
  t.ok(lstatSync(join(folder, 'link.db')).isSymbolicLink())
  t.notOk(existsSync(join(folder, 'elsewhere.db')))
  await runJson(['restore', copy], linked)
  t.strictSame(await clientIds({ env: { DATABASE_URL: `sqlite:${folder}/elsewhere.db` } }), ['old'])
})

t.test('Restore: the database itself, by whatever name, is no backup', async (t) => {
  const { file, folder, ...options } = await createBackup(t)
  linkSync(file, join(folder, 'same.db'))
  for (const name of [file, join(folder, 'same.db')]) {
    t.match(await run(['restore', name], options), {
      status: 1,
      err: `Nothing was restored: ${name} belongs to the database itself.`,
    })
  }
  t.strictSame(await clientIds(options), ['old', 'new'])
})

t.test('Restore: where something fails after the rename it says so, and what was replaced', async (t) => {
  const { file, copy, ...options } = await createBackup(t)
  const { ino } = statSync(file)
  const { fsyncSync } = fs
  Object.assign(fs, {
    fsyncSync(descriptor: number) {
      if (statSync(file).ino === ino) return fsyncSync(descriptor)
      throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO', syscall: 'fsync' })
    },
  })
  syncBuiltinESMExports()
  const { status, err } = await run(['restore', copy], options)
  Object.assign(fs, { fsyncSync })
  syncBuiltinESMExports()
  t.equal(status, 1)
  t.match(
    err,
    /^Restored \(what was there before is .*\.replaced-\w+\), but then something failed: EIO: i\/o error, fsync\.\n$/,
  )
  t.strictSame(await clientIds(options), ['old'])

  const [, replaced] = /before is (\S+)\)/.exec(err) ?? []
  t.strictSame(await clientIds({ env: { DATABASE_URL: `sqlite:${replaced}` } }), ['old', 'new'])
})

t.test('Restore: where that fails and nothing was there before, the database stays', async (t) => {
  const { copy, folder } = await createBackup(t)
  const { fsyncSync } = fs
  const elsewhere = join(folder, 'elsewhere.db')
  Object.assign(fs, {
    fsyncSync(descriptor: number) {
      if (statSync(elsewhere).size === 0) return fsyncSync(descriptor)
      throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO', syscall: 'fsync' })
    },
  })
  syncBuiltinESMExports()
  const { err } = await run(['restore', copy], { env: { DATABASE_URL: `sqlite:${elsewhere}` } })
  Object.assign(fs, { fsyncSync })
  syncBuiltinESMExports()
  t.match(err, /^Restored, but then something failed: EIO/)
  t.strictSame(await clientIds({ env: { DATABASE_URL: `sqlite:${elsewhere}` } }), ['old'])
})

t.test('Restore: a log whose database is missing is kept', async (t) => {
  const options = await createBackup(t)
  const { copy, folder } = options
  const store = await openHere(options)
  await store.setStatus('new', 'suspended', AUDIT)
  const wal = readFileSync(`${options.file}-wal`)
  await store.close()
  const alone = join(folder, 'alone.db')
  const there = { env: { DATABASE_URL: `sqlite:${alone}` } }
  writeFileSync(`${alone}-wal`, wal)
  writeFileSync(join(folder, 'empty.db'), '')
  t.equal((await run(['restore', join(folder, 'empty.db')], there)).status, 1)
  t.ok(readFileSync(`${alone}-wal`).equals(wal), 'where nothing is restored it stays in its place')
  t.notOk(existsSync(alone))

  const { replaced } = await runJson(['restore', copy], there)
  t.match(replaced, /alone\.db\.replaced-\w+-wal$/)
  t.ok(readFileSync(replaced).equals(wal))
  t.strictSame(await clientIds(there), ['old'])
})

t.test('Restore: it is refused while anybody has the database open, and nothing changes', async (t) => {
  const options = await createBackup(t)
  const store = await openHere(options)
  t.match(await run(['restore', options.copy], options), {
    status: 1,
    err: /^Nothing was restored: .*store\.db is in use: stop the server, and let no command run\.\n$/,
  })
  t.strictSame(namesIn(options.folder), ['copy.db', 'store.db'])
  t.equal((await store.listApplications({ limit: 9 })).length, 2)
  await store.close()
  t.equal((await run(['restore', options.copy], options)).status, 0)
})

t.test('Restore: a database that an fsync failed for is brought to the disk before it is put aside', async (t) => {
  const options = await createBackup(t)
  const store = await openHere(options)
  await store.setStatus('new', 'suspended', AUDIT)
  for (const suffix of ['', '-wal']) copyFileSync(`${options.file}${suffix}`, `${options.folder}/failed.db${suffix}`)
  chmodSync(`${options.folder}/failed.db-wal`, 0o600 | MARK)
  await store.close()
  const failed = { env: { DATABASE_URL: `sqlite:${options.folder}/failed.db` } }

  const other = new Database(`${options.folder}/failed.db`)
  other.prepare('SELECT 1 FROM applications').get()
  t.match((await run(['restore', options.copy], failed)).err, /^Nothing was restored: an fsync has failed/)
  // As a process ends that is killed: without a checkpoint.
  copyFileSync(`${options.folder}/failed.db-wal`, `${options.folder}/kept`)
  other.close()
  copyFileSync(`${options.folder}/kept`, `${options.folder}/failed.db-wal`)
  chmodSync(`${options.folder}/failed.db-wal`, 0o600 | MARK)
  const { replaced } = await runJson(['restore', options.copy], failed)
  t.match(await runJson(['apps', 'show', 'new'], { env: { DATABASE_URL: `sqlite:${replaced}` } }), {
    status: 'suspended',
  })
  t.notOk(existsSync(`${replaced}-wal`))
})

t.test(
  'Restore: what a crash left in the -wal file is kept with the old database, not put into the new one',
  async (t) => {
    const options = await createBackup(t)
    const store = await openHere(options)
    await store.setStatus('new', 'suspended', AUDIT)
    const crashed = join(options.folder, 'crashed.db')
    for (const suffix of ['', '-wal']) copyFileSync(`${options.file}${suffix}`, `${crashed}${suffix}`)
    await store.close()
    t.ok(statSync(`${crashed}-wal`).size > 0)
    const there = { env: { DATABASE_URL: `sqlite:${crashed}` } }
    const { replaced } = await runJson(['restore', options.copy], there)
    t.strictSame(await clientIds(there), ['old'])
    t.match(await runJson(['apps', 'show', 'new'], { env: { DATABASE_URL: `sqlite:${replaced}` } }), {
      status: 'suspended',
    })
  },
)

t.test('Restore: a damaged database is replaced too, and kept with its -wal file', async (t) => {
  for (const isInUse of [true, false]) {
    const options = await createBackup(t)
    const store = await openHere(options)
    await store.setStatus('new', 'suspended', AUDIT)
    const wal = readFileSync(`${options.file}-wal`)
    await store.close()
    // Must be as large as the log's database: SQLite does not apply a log to a much smaller one.
    const damaged = Buffer.alloc(statSync(options.file).size, 1)
    writeFileSync(options.file, damaged)
    if (isInUse) for (const suffix of ['-wal', '-shm']) writeFileSync(`${options.file}${suffix}`, wal)
    const { status, out } = await run(['restore', options.copy], options)
    t.equal(status, 0)
    t.match(out, 'one that runs must be restarted')
    const [replaced = ''] = /\S+replaced-\w+/.exec(out) ?? []
    t.equal(readFileSync(replaced).equals(damaged), !isInUse, 'SQLite puts what is in the -wal file into it')
    t.equal(existsSync(`${replaced}-wal`) && readFileSync(`${replaced}-wal`).equals(wal), isInUse)
    t.strictSame(await clientIds(options), ['old'])
  }
})

t.test('Restore: what is no whole backup of this program is refused, and nothing changes', async (t) => {
  const options = await createBackup(t)
  const { folder } = options
  const good = readFileSync(options.copy)
  const half = Buffer.from(good)
  half.fill(0xff, 4096 * 3, 4096 * 4)
  const files: Record<string, [string | Buffer, RegExp]> = {
    'empty.db': ['', /: it is empty\.\n$/],
    'text.db': ['some text that is long enough to be something', /: file is not a database \(SQLITE_NOTADB\)\.\n$/],
    'cut.db': [good.subarray(0, good.length - 4096), /: .*malformed|: it is damaged: /],
    'damaged.db': [half, /: .*malformed|: it is damaged: /],
  }
  for (const [name, [bytes, message]] of Object.entries(files)) {
    writeFileSync(join(folder, name), bytes)
    const { status, err } = await run(['restore', join(folder, name)], options)
    t.equal(status, 1, name)
    t.match(err, message, name)
  }
  const newer = new Database(options.copy)
  newer.pragma(`user_version = ${LATEST + 1}`)
  newer.exec("UPDATE compatibility SET oldest_program = '99.0.0'")
  newer.close()
  t.match(
    (await run(['restore', options.copy], options)).err,
    /copy\.db cannot be used: The database needs token-server 99\.0\.0 or newer, .* upgrade the program\.\n$/,
  )
  t.match((await run(['restore', join(folder, 'missing.db')], options)).err, /^Nothing was restored: ENOENT/)

  const raw = temporaryDatabase(t)
  const store = await openHere(raw)
  t.match(
    (await run(['restore', raw.file], options)).err,
    /a part of .*store\.db is in .*store\.db-wal: make a backup of it/,
  )
  await store.close()

  t.strictSame(await clientIds(options), ['old', 'new'])
  t.strictSame(
    namesIn(folder).sort(),
    [...Object.keys(files), 'copy.db', 'store.db'].sort(),
    'and nothing is left behind',
  )
  const nowhere = { env: { DATABASE_URL: `sqlite:${folder}/none.db` } }
  t.equal((await run(['restore', join(folder, 'empty.db')], nowhere)).status, 1)
  t.notOk(existsSync(join(folder, 'none.db')))
})

t.test('Restore: tokens of the backup are valid again, and with --revoke-all-tokens none is', async (t) => {
  const options = await createBackup(t)
  const store = await openHere(options)
  const { stored } = mintToken(((await store.findApplication('old')) as Application).key, Date.now())
  await store.addToken(stored)
  await store.close()
  await runJson(['backup', options.copy], options)
  const found = async () => {
    const store = await openHere(options)
    const token = await store.findToken(stored.id)
    await store.close()
    return token !== undefined
  }
  await runJson(['apps', 'remove', 'old'], options)
  await runJson(['restore', options.copy], options)
  t.equal(await found(), true)
  const elsewhere = { ...options, env: { DATABASE_URL: `sqlite:${options.folder}/other.db` } }
  const { out, events } = await run(['restore', options.copy, '--revoke-all-tokens'], elsewhere)
  t.match(out, /newest token issued: none[\s\S]*Every token in the backup is revoked/)
  t.match(events, [{ revoke_all_tokens: true }])
  options.env = elsewhere.env
  t.equal(await found(), false)
})

t.test('Restore: operators and their keys are restored, sessions and login links are not', async (t) => {
  const options = await createBackup(t)
  const store = await openHere(options)
  await store.addOperator({ name: 'anna', role: 'admin', createdAt: Date.now() }, AUDIT)
  const times = { createdAt: Date.now(), endsAt: Date.now() + 600_000 }
  await store.addAdminKey('anna', { digest: 'key', ...times }, AUDIT)
  for (const digest of ['used', 'code']) await store.addLoginCode('anna', { digest, ...times }, AUDIT)
  const session = { digest: 'session', ...times, remoteAddress: '192.0.2.1', userAgent: 'Browser' }
  await store.beginSession('anna', 'used', session, AUDIT)
  await store.close()
  for (const flags of [[], ['--without-tokens']]) {
    await runJson(['backup', options.copy, ...flags], options)
    const before = await openHere(options)
    await before.removeOperator('anna', AUDIT)
    await before.close()
    const { out } = await run(['restore', options.copy], options)
    t.match(out, /Operators and admin keys are as they were: [\s\S]* Logins have ended\./)
    const after = await openHere(options)
    t.match(await after.findAdminKey('key'), { operator: { name: 'anna', keys: [{ revokedAt: null }] } })
    t.equal(await after.findSession('session'), undefined)
    t.equal(await after.findLoginCode('code'), undefined)
    // For the next iteration.
    await after.addLoginCode('anna', { digest: 'used', ...times }, AUDIT)
    await after.addLoginCode('anna', { digest: 'code', ...times }, AUDIT)
    await after.beginSession('anna', 'used', session, AUDIT)
    await after.close()
  }
})

t.test('Restore: an older backup is migrated on the way', async (t) => {
  const { env, folder } = temporaryDatabase(t)
  const old = new Database(join(folder, 'old.db'))
  old.exec(
    readFileSync(new URL('../../migrations/sqlite/0001_applications_secrets_tokens.sql', import.meta.url), 'utf8'),
  )
  old.pragma('user_version = 1')
  old.close()
  await runJson(['restore', join(folder, 'old.db')], { env })
  t.strictSame(await runJson(['migrate'], { env }), { from: LATEST, to: LATEST })
})

t.test('Restore: a backup of a newer schema that allows the program stays as it is', async (t) => {
  const options = await createBackup(t)
  const newer = new Database(options.copy)
  newer.exec('ALTER TABLE applications ADD COLUMN note TEXT')
  newer.pragma(`user_version = ${LATEST + 1}`)
  newer.close()
  await runJson(['restore', options.copy, '--revoke-all-tokens'], options)
  t.strictSame(await clientIds(options), ['old'])
  t.strictSame(await runJson(['migrate'], options), { from: LATEST + 1, to: LATEST + 1 })
  for (const flags of [[], ['--without-tokens']]) {
    const copy = join(options.folder, 'again.db')
    await runJson(['backup', copy, ...flags], options)
    const db = new Database(copy, { readonly: true })
    t.equal(db.pragma('user_version', { simple: true }), LATEST + 1)
    t.match(db.prepare('SELECT * FROM applications').all(), [{ client_id: 'old', note: null }])
    db.close()
  }
})
