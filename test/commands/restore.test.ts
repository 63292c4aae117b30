import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import type { Application } from '../../src/domain/application.ts'
import { mintToken } from '../../src/domain/token.ts'
import { openStore, restoreStore } from '../../src/store/open.ts'
import { MARK } from '../../src/store/sqlite/files.ts'
import { LATEST } from '../support/migrations.ts'
import { application } from '../support/newcomers.ts'
import { AUDIT, AUTHOR, on } from '../support/on.ts'
import { REGISTRATION_OPTIONS } from '../support/registration.ts'
import { expectAll, fails, shell } from '../support/shell.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

const openFile = (file: string) => openStore({ kind: 'sqlite', file }, { lockTimeout: 0 })

/** Commands on the database in this file. */
const at = (file: string) => shell({ DATABASE_URL: `sqlite:${file}` })

async function clientIds(file: string): Promise<string[]> {
  return (await at(file).json('apps list')).map(({ client_id }: { client_id: string }) => client_id)
}

/** The names in a folder, but for what SQLite has beside a database. */
const namesIn = (folder: string) => fs.readdirSync(folder).filter((name) => !/-(wal|shm)$/.test(name))

/** A database with the application `old`, its backup, and then the application `new`. */
async function createBackup(t: Test) {
  const { file, folder } = temporaryDatabase(t)
  const copy = join(folder, 'copy.db')
  const { run, json } = at(file)
  const register = `apps register --create ${REGISTRATION_OPTIONS} --client-id`
  await json(`${register} old`)
  await json(`backup ${copy}`)
  await json(`${register} new`)
  return { file, folder, copy, run, json, inFolder: (name: string) => join(folder, name) }
}

/** Suspends `new` and hands over what is in the files then, before a checkpoint: its log has the change. */
async function suspendNew(file: string, use: () => void = () => {}): Promise<Buffer> {
  const store = await openFile(file)
  await on(store).setStatus('new', 'suspended')
  const wal = fs.readFileSync(`${file}-wal`)
  use()
  await store.close()
  return wal
}

t.test('Restore: the backup takes the place of the database, which is kept; it says what that undoes', async (t) => {
  const { file, copy, folder, run } = await createBackup(t)
  const { status, out, events } = await run(`restore ${copy}`)
  t.equal(status, 0)
  t.match(
    out,
    /^Restored .*store\.db from .*copy\.db: \d+ bytes, applications: 1, newest token issued: none, audit head: event 1 with .*\.\n/,
  )
  t.match(out, /401 until they ask for new ones[\s\S]*new ones are unknown[\s\S]*revoked since then are valid again/)
  t.strictSame(await clientIds(file), ['old'])
  t.equal(fs.statSync(file).mode & 0o777, 0o600)

  const [, replaced = ''] = /The previous database is kept as (\S+):/.exec(out) ?? []
  t.match(replaced, /store\.db\.replaced-\d{8}T\d{6}Z$/)
  t.match(out, /have an actor\.\nSo does "audit list" on the previous database\.\n$/)
  t.strictSame(await clientIds(replaced), ['old', 'new'])
  t.match(events, [{ msg: 'database restored', file: copy, replaced, revoke_all_tokens: false }])
  t.equal(namesIn(folder).length, 3, 'nothing else is left behind')
})

t.test('Restore: where there was no database, the backup becomes one', async (t) => {
  const { copy, inFolder } = await createBackup(t)
  const there = inFolder('new/store.db')
  t.match(await at(there).json(`restore ${copy}`), { applications: 1, replaced: null, was_locked: true })
  t.strictSame(await clientIds(there), ['old'])
  t.strictSame(namesIn(inFolder('new')), ['store.db'])
  t.notMatch((await at(inFolder('other.db')).run(`restore ${copy}`)).out, 'was there')
})

t.test('Restore: the restored database has an audit event of it; if that fails, nothing is restored', async (t) => {
  const { file, copy, inFolder, run, json } = await createBackup(t)
  const actions = async () => (await json('audit list')).map(({ action }: { action: string }) => action)
  const registered = 'application registered'
  const altered = inFolder('altered.db')
  fs.copyFileSync(copy, altered)
  const db = new Database(altered)
  db.exec("CREATE TRIGGER refused BEFORE INSERT ON audit_events BEGIN SELECT RAISE(ABORT, 'no row, no change'); END")
  db.close()
  t.match((await run(`restore ${altered}`)).err, /^Nothing was restored: .*no row, no change/)
  t.strictSame(await actions(), [registered, registered])

  await json(`restore ${copy}`)
  t.strictSame(await actions(), ['database restored', registered], 'what the restore undoes is in what was replaced')
  await json('restore - --revoke-all-tokens', { stdin: fs.readFileSync(copy) })
  const after = { file: '-', revoke_all_tokens: true }
  const subject = { kind: 'database', id: file }
  t.match(await json('audit list --limit 1'), [{ action: 'database restored', subject, before: {}, after }])
})

t.test('Restore: the audit of the backup goes on, and does not fit a later head', async (t) => {
  const { copy, inFolder, run, json } = await createBackup(t)
  const [early, late] = [inFolder('early.json'), inFolder('late.json')]
  fs.writeFileSync(early, JSON.stringify(await at(copy).json('audit head')))
  fs.writeFileSync(late, JSON.stringify(await json('audit head')))
  const { audit_head } = await json(`restore ${copy}`)
  t.match(JSON.parse(fs.readFileSync(early, 'utf8')), audit_head)
  t.match(await json('audit verify'), { problem: null, events: 2, chained_later: { events: 0 } })
  t.match(await run(`audit verify --head ${early}`), { status: 0 })
  t.match(await run(`audit verify --head ${late}`), {
    status: 1,
    out: /^Event 2 .* or the database was replaced by an older/,
  })
})

t.test('Restore: what several of one second replace is kept under several names', async (t) => {
  const { file, copy } = await createBackup(t)
  const options = { revokeAllTokens: false, now: () => 0, author: AUTHOR }
  const restore = async () => (await restoreStore({ kind: 'sqlite', file }, copy, options)).replaced
  const first = `${file}.replaced-19700101T000000Z`
  t.strictSame([await restore(), await restore(), await restore()], [first, `${first}-2`, `${first}-3`])
  t.ok([first, `${first}-2`, `${first}-3`].every(fs.existsSync))
})

t.test('Restore: a symbolic link to the database stays one; one that leads nowhere, too, if it fails', async (t) => {
  const { copy, file, inFolder } = await createBackup(t)
  fs.symlinkSync(file, inFolder('link.db'))
  await at(inFolder('link.db')).json(`restore ${copy}`)
  t.strictSame(await clientIds(file), ['old'])

  const [lost, target] = [inFolder('lost.db'), inFolder('elsewhere.db')]
  fs.symlinkSync(target, lost)
  t.match(await at(lost).run('restore /dev/null'), fails(/^Nothing was restored: /))
  t.ok(fs.lstatSync(lost).isSymbolicLink())
  t.notOk(fs.existsSync(target))
  await at(lost).json(`restore ${copy}`)
  t.strictSame(await clientIds(target), ['old'])
})

/** Lets an fsync fail while this holds. */
async function withFailingFsync<Result>(isFailing: () => boolean, action: () => Promise<Result>): Promise<Result> {
  const { fsyncSync } = fs
  const failing = (descriptor: number) => {
    if (!isFailing()) return fsyncSync(descriptor)
    throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO', syscall: 'fsync' })
  }
  try {
    Object.assign(fs, { fsyncSync: failing })
    syncBuiltinESMExports()
    return await action()
  } finally {
    Object.assign(fs, { fsyncSync })
    syncBuiltinESMExports()
  }
}

t.test('Restore: where something fails after the rename it says so, and what was replaced', async (t) => {
  const { file, copy, run, inFolder } = await createBackup(t)
  const { ino } = fs.statSync(file)
  const isReplaced = () => fs.statSync(file).ino !== ino
  const { status, err } = await withFailingFsync(isReplaced, () => run(`restore ${copy}`))
  t.equal(status, 1)
  const [, replaced = ''] = /^Restored \(the previous database is (.*\.replaced-\w+)\), but a later /.exec(err) ?? []
  t.match(err, / a later step failed: EIO: i\/o error, fsync\.\n$/)
  t.strictSame([await clientIds(file), await clientIds(replaced)], [['old'], ['old', 'new']])

  const there = inFolder('elsewhere.db')
  const isThere = () => fs.statSync(there).size > 0
  const { err: other } = await withFailingFsync(isThere, () => at(there).run(`restore ${copy}`))
  t.match(other, /^Restored, but a later step failed: EIO/)
  t.strictSame(await clientIds(there), ['old'], 'the database stays')
})

t.test('Restore: a log whose database is missing is kept', async (t) => {
  const { copy, file, inFolder } = await createBackup(t)
  const alone = inFolder('alone.db')
  const wal = await suspendNew(file)
  fs.writeFileSync(`${alone}-wal`, wal)
  t.equal((await at(alone).run('restore /dev/null')).status, 1)
  t.ok(fs.readFileSync(`${alone}-wal`).equals(wal), 'where nothing is restored it stays in its place')
  t.notOk(fs.existsSync(alone))

  const { replaced } = await at(alone).json(`restore ${copy}`)
  t.match(replaced, /alone\.db\.replaced-\w+-wal$/)
  t.ok(fs.readFileSync(replaced).equals(wal))
  t.strictSame(await clientIds(alone), ['old'])
})

t.test('Restore: it is refused while anybody has the database open, and nothing changes', async (t) => {
  const { file, copy, folder, run } = await createBackup(t)
  const store = await openFile(file)
  const err = /^Nothing was restored: .*store\.db is in use: stop the server, and let no command run\.\n$/
  await expectAll(t, { run }, [[`restore ${copy}`, { status: 1, err }]])
  t.strictSame(namesIn(folder), ['copy.db', 'store.db'])
  t.equal((await store.listApplications({ limit: 9 })).length, 2)
  await store.close()
  await expectAll(t, { run }, [[`restore ${copy}`, {}]])
})

t.test('Restore: what a crash, or a failed fsync, left in the log is put aside with the old database', async (t) => {
  const { file, copy, inFolder } = await createBackup(t)
  const [crashed, failed] = [inFolder('crashed.db'), inFolder('failed.db')]
  await suspendNew(file, () => {
    // As they are after kill -9.
    for (const to of [crashed, failed]) {
      for (const suffix of ['', '-wal']) fs.copyFileSync(`${file}${suffix}`, `${to}${suffix}`)
    }
  })
  fs.chmodSync(`${failed}-wal`, 0o600 | MARK)
  const other = new Database(failed)
  other.prepare('SELECT 1 FROM applications').get()
  t.match((await at(failed).run(`restore ${copy}`)).err, /^Nothing was restored: an fsync has failed/)
  // As a process ends that is killed: without a checkpoint.
  const wal = fs.readFileSync(`${failed}-wal`)
  other.close()
  fs.writeFileSync(`${failed}-wal`, wal)
  fs.chmodSync(`${failed}-wal`, 0o600 | MARK)
  for (const there of [crashed, failed]) {
    const { replaced } = await at(there).json(`restore ${copy}`)
    t.strictSame(await clientIds(there), ['old'])
    t.match(await at(replaced).json('apps show new'), { status: 'suspended' })
    t.notOk(fs.existsSync(`${replaced}-wal`))
  }
})

t.test('Restore: a damaged database is replaced too, and kept with its log', async (t) => {
  for (const isInUse of [true, false]) {
    const { file, copy, run } = await createBackup(t)
    const wal = await suspendNew(file)
    // Must be as large as the log's database: SQLite does not apply a log to a much smaller one.
    const damaged = Buffer.alloc(fs.statSync(file).size, 1)
    fs.writeFileSync(file, damaged)
    if (isInUse) for (const suffix of ['-wal', '-shm']) fs.writeFileSync(`${file}${suffix}`, wal)
    const { status, out } = await run(`restore ${copy}`)
    t.equal(status, 0)
    t.match(out, 'if a server is running, restart it')
    const [replaced = ''] = /\S+replaced-\w+/.exec(out) ?? []
    t.equal(fs.readFileSync(replaced).equals(damaged), !isInUse, 'SQLite puts what is in the log into it')
    t.equal(fs.existsSync(`${replaced}-wal`) && fs.readFileSync(`${replaced}-wal`).equals(wal), isInUse)
    t.strictSame(await clientIds(file), ['old'])
  }
})

t.test('Restore: what is no whole backup of this program is refused, and nothing changes', async (t) => {
  const { file, copy, folder, inFolder, run } = await createBackup(t)
  const good = fs.readFileSync(copy)
  const half = Buffer.from(good).fill(0xff, 4096 * 3, 4096 * 4)
  fs.linkSync(file, inFolder('same.db'))
  const newer = new Database(copy)
  newer.pragma(`user_version = ${LATEST + 1}`)
  newer.exec("UPDATE compatibility SET oldest_program = '99.0.0'")
  newer.close()
  const damaged = /cannot be used: .*(malformed|it is damaged: )/
  const refused: [name: string, message: RegExp, content?: string | Buffer][] = [
    ['empty.db', /empty\.db cannot be used: it is empty\.\n$/, ''],
    ['text.db', /: file is not a database \(SQLITE_NOTADB\)\.\n$/, 'some text that is long enough to be something'],
    ['cut.db', damaged, good.subarray(0, good.length - 4096)],
    ['half.db', damaged, half],
    ['copy.db', /cannot be used: The database needs token-server 99\.0\.0 or newer, .* upgrade the program\.\n$/],
    ['missing.db', /^Nothing was restored: ENOENT/],
    ['store.db', /^Nothing was restored: \S+store\.db belongs to the database itself\.\n$/],
    ['same.db', /^Nothing was restored: \S+same\.db belongs to the database itself\.\n$/],
  ]
  for (const [name, err, content] of refused) {
    if (content !== undefined) fs.writeFileSync(inFolder(name), content)
    await expectAll(t, { run }, [[`restore ${inFolder(name)}`, { status: 1, err }]])
  }
  const nothing = 'Nothing was restored: the backup from standard input cannot be used: it is empty.\n'
  t.equal((await run('restore -')).err, nothing)

  const raw = temporaryDatabase(t)
  const store = await openFile(raw.file)
  t.match((await run(`restore ${raw.file}`)).err, /a part of .*store\.db is in .*store\.db-wal: make a backup of it/)
  await store.close()

  t.strictSame(await clientIds(file), ['old', 'new'])
  const names = refused.map(([name]) => name).filter((name) => name !== 'missing.db')
  t.strictSame(namesIn(folder).sort(), names.sort(), 'and nothing is left behind')
  t.equal((await at(inFolder('none.db')).run(`restore ${inFolder('empty.db')}`)).status, 1)
  t.notOk(fs.existsSync(inFolder('none.db')))
})

t.test('Restore: tokens of the backup are valid again, and with --revoke-all-tokens none is', async (t) => {
  const { file, copy, inFolder, json } = await createBackup(t)
  const store = await openFile(file)
  const { stored } = mintToken(((await store.findApplication('old')) as Application).key, Date.now())
  await store.addToken(stored)
  await store.close()
  await json(`backup ${copy}`)
  async function isFound(file: string) {
    const store = await openFile(file)
    t.teardown(() => store.close())
    return (await store.findToken(stored.id)) !== undefined
  }
  await json('apps remove old')
  await json(`restore ${copy}`)
  t.equal(await isFound(file), true)
  const elsewhere = inFolder('other.db')
  const { out, events } = await at(elsewhere).run(`restore ${copy} --revoke-all-tokens`)
  t.match(out, /newest token issued: none[\s\S]*Every token in the backup is revoked/)
  t.match(events, [{ revoke_all_tokens: true }])
  t.equal(await isFound(elsewhere), false)
})

t.test('Restore: operators and keys are restored; sessions, login links and hand-over links are not', async (t) => {
  const { file, copy, run, json } = await createBackup(t)
  const times = { createdAt: Date.now(), endsAt: Date.now() + 600_000 }
  const from = { authenticatedAt: null, remoteAddress: '192.0.2.1', userAgent: 'Browser' }
  const store = await openFile(file)
  await on(store).addOperator({ name: 'anna', role: 'admin', createdAt: Date.now() })
  await on(store).addAdminKey('anna', { digest: 'key', ...times })
  await store.register({ suites: [], applications: [application('shop')] }, AUDIT)
  await store.close()
  for (const flags of ['', ' --without-tokens']) {
    const before = await openFile(file)
    for (const digest of ['used', 'code']) await on(before).addLoginCode('anna', { digest, ...times })
    await on(before).beginSession('anna', 'used', { digest: 'session', ...times, ...from })
    await on(before).makeHandOver('shop', { digest: `link${flags}`, ...times })
    await before.close()
    await json(`backup ${copy}${flags}`)
    await json('operators remove anna')
    const { out } = await run(`restore ${copy}`)
    t.match(out, /Operators and admin keys are as they were: [\s\S]* Logins have ended\./)
    const after = await openFile(file)
    t.match(await after.findAdminKey('key'), { operator: { name: 'anna', keys: [{ revokedAt: null }] } })
    t.equal(await after.findSession('session'), undefined)
    t.equal(await after.findLoginCode('code'), undefined)
    t.strictSame(await after.listHandOverLinks('shop'), [])
    await after.close()
  }
})

t.test('Restore: an older backup is migrated on the way, and a newer one that allows it stays as it is', async (t) => {
  const { file, copy, inFolder, json } = await createBackup(t)
  const old = new Database(inFolder('old.db'))
  const first = new URL('../../migrations/sqlite/0001_applications_secrets_tokens.sql', import.meta.url)
  old.exec(fs.readFileSync(first, 'utf8'))
  old.pragma('user_version = 1')
  old.close()
  await json(`restore ${inFolder('old.db')}`)
  t.strictSame(await json('migrate'), { from: LATEST, to: LATEST })

  const newer = new Database(copy)
  newer.exec('ALTER TABLE applications ADD COLUMN colour TEXT')
  newer.pragma(`user_version = ${LATEST + 1}`)
  newer.close()
  await json(`restore ${copy} --revoke-all-tokens`)
  t.strictSame(await clientIds(file), ['old'])
  t.strictSame(await json('migrate'), { from: LATEST + 1, to: LATEST + 1 })
  for (const flags of ['', ' --without-tokens']) {
    await json(`backup ${inFolder('again.db')}${flags}`)
    const db = new Database(inFolder('again.db'), { readonly: true })
    t.equal(db.pragma('user_version', { simple: true }), LATEST + 1)
    t.match(db.prepare('SELECT * FROM applications').all(), [{ client_id: 'old', colour: null }])
    db.close()
  }
})
