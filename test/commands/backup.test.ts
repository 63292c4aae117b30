import { chmodSync, chownSync, linkSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import type { Application } from '../../src/domain/application.ts'
import { mintToken } from '../../src/domain/token.ts'
import { openStore } from '../../src/store/open.ts'
import { expectAll, fails, shell, startShell } from '../support/shell.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

/** A database with a suite, two applications (a third was removed) and a token, in a folder of its own. */
async function createDatabase(t: Test) {
  const issuedAt = Date.now()
  const database = await startShell(t, async ({ suites, applications }) => {
    await suites.register({ suiteId: 'store', name: 'Store API' })
    for (const clientId of ['a', 'b', 'removed']) await applications.register({ clientId })
    await applications.remove('removed')
  })
  const { file, folder } = database
  const store = await openStore({ kind: 'sqlite', file }, { lockTimeout: 0 })
  await store.addToken(mintToken(((await store.findApplication('a')) as Application).key, issuedAt).stored)
  await store.close()
  return { ...database, issuedAt, copy: join(folder, 'copy.db'), inFolder: (name: string) => join(folder, name) }
}

/** Commands on the database in this file. */
const at = (file: string) => shell({ DATABASE_URL: `sqlite:${file}` })

/** The schema of a database and every row, by table. */
function read(file: string) {
  const db = new Database(file, { readonly: true })
  const schema = db.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name').all()
  const version = db.pragma('user_version', { simple: true })
  const tables = (schema as { type: string; name: string }[]).filter(({ type }) => type === 'table')
  const rows = tables.map(({ name }) => [name, db.prepare(`SELECT * FROM ${name}`).all()])
  db.close()
  return { schema, version, rows: Object.fromEntries(rows) as Record<string, object[]> }
}

t.test('Backup: the copy has every row, is for its owner only, and says what is in it', async (t) => {
  const { copy, file, folder, issuedAt, run, json } = await createDatabase(t)
  const before = read(file)
  const began = Date.now()
  const made = await json(`backup ${copy}`)
  const newest = new Date(issuedAt).toISOString()
  const audit_head = await json('audit head')
  delete audit_head.made_at
  const contents = { applications: 2, newest_token_issued_at: newest, audit_head }
  t.strictSame(made, { file: copy, bytes: statSync(copy).size, ...contents })
  t.equal(statSync(copy).mode & 0o777, 0o600)
  t.strictSame(read(copy), before)
  const { backups = [], ...others } = read(file).rows
  t.strictSame({ ...others, backups: [] }, before.rows, 'the database is as it was, but for the time of the backup')
  const [{ made_at: madeAt }] = backups as [{ made_at: number }]
  t.strictSame([backups.length, madeAt >= began && madeAt <= Date.now()], [1, true])
  t.notMatch(readdirSync(folder).join(), /partial|copy\.db-/, 'nothing else is left behind')
  const { out } = await run(`backup ${relative('', copy)}`)
  t.match(out, `Backed up to ${copy}: `, 'a relative name in full')
  t.match(
    out,
    /: \d+ bytes, applications: 2, newest token issued: 20\S+Z, audit head: event 5 with the hash [\w-]{43}\.\n$/,
  )
})

t.test('Backup: --without-tokens leaves out the tokens and nothing else, used keys included', async (t) => {
  const { copy, file, run, json } = await createDatabase(t)
  const { rows, ...schema } = read(file)
  t.match(await json(`backup ${copy} --without-tokens`), { applications: 2, newest_token_issued_at: null })
  t.equal(rows.tokens?.length, 1)
  t.strictSame(read(copy), { ...schema, rows: { ...rows, tokens: [] } })
  t.match(
    (await run(`backup ${copy} --without-tokens`)).out,
    /newest token issued: none, audit head: event 5 with .*\.\n$/,
  )
})

t.test('Backup: it replaces the backup that was there, whole or not at all', async (t) => {
  const { copy, file, inFolder, json } = await createDatabase(t)
  writeFileSync(copy, 'the last one')
  writeFileSync(inFolder('no-folder'), '')
  writeFileSync(inFolder('damaged.db'), readFileSync(file).fill(0xff, 4096 * 2))
  writeFileSync(inFolder('alone.db-wal'), 'a log')
  const failures = {
    'alone.db': /could not be backed up: .*alone\.db is missing, but its log .*alone\.db-wal is there: put/,
    'missing.db': /^There is no database at .*missing\.db\.\n$/,
    'damaged.db': /^The database .*damaged\.db could not be backed up: .*malformed \(SQLITE_CORRUPT\)\.\n$/,
    'no-folder/store.db':
      /^The database .* could not be backed up: .*no-folder is not a folder\. Name another place\.\n$/,
  }
  for (const [name, err] of Object.entries(failures)) {
    for (const target of [copy, '-']) await expectAll(t, at(inFolder(name)), [[`backup ${target}`, { status: 1, err }]])
  }
  t.equal(readFileSync(copy, 'utf8'), 'the last one')
  t.equal(readFileSync(inFolder('alone.db-wal'), 'utf8'), 'a log', 'nor is anything deleted')
  await json(`backup ${copy}`)
  t.match(readFileSync(copy, 'latin1'), /^SQLite format 3/)
})

t.test('Backup: the database itself, and what is no file, is not replaced', async (t) => {
  const { file, folder, inFolder, run } = await createDatabase(t)
  const before = read(file)
  linkSync(file, inFolder('same.db'))
  const inUse = /belongs to the database itself/
  await expectAll(t, { run }, [
    [`backup ${file}`, fails(inUse)],
    [`backup ${inFolder('same.db')}`, fails(inUse)],
    [`backup ${file}-wal`, fails(inUse)],
    [`backup ${folder}`, fails(/is not a file/)],
    ['backup /dev/null', fails(/^The database .* could not be backed up: \/dev\/null is not a file\.\n$/)],
    [`backup ${inFolder('no/where')}`, fails(/could not be backed up: there is no folder .*\/no\. Create it/)],
  ])
  t.strictSame(read(file), before)
})

t.test('Backup: a place without access is the cause, and no advice is to change its owner', async (t) => {
  const { copy, file, folder, inFolder, run } = await createDatabase(t)
  // Also loads the code, which others may not be able to read.
  for (const command of [`backup ${copy}`, 'restore /dev/null']) await run(command)
  mkdirSync(inFolder('closed'), 0o000)
  mkdirSync(inFolder('fixed'), 0o555)
  const cases = [
    ['backup', 'closed', 'write to', 'output'],
    ['backup', 'fixed', 'write to', 'output'],
    ['restore', 'closed', 'read', 'input'],
  ]
  const isRoot = process.getuid?.() === 0
  if (isRoot) for (const one of [folder, file, copy]) chownSync(one, 65534, 65534)
  try {
    if (isRoot) process.seteuid?.(65534)
    for (const [command, name, use, stream] of cases) {
      const place = inFolder(name as string)
      const err = new RegExp(
        `: token-server runs as uid \\d+, which may not ${use} ${place}\\. .* standard ${stream}\\.\n$`,
      )
      t.match(await run(`${command} ${place}/x.db`), { status: 1, err })
    }
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
})

t.test('Backup: an old database is not migrated, and that of another program is refused', async (t) => {
  const { file, folder } = temporaryDatabase(t)
  const copy = join(folder, 'copy.db')
  const db = new Database(file)
  t.teardown(() => db.close())
  db.exec('CREATE TABLE applications (id)')
  t.match((await at(file).run(`backup ${copy}`)).err, /not be backed up: it is not a database of this program\.\n$/)
  db.pragma('user_version = 1')
  t.match((await at(file).run(`backup ${copy}`)).err, /backed up: no such table: tokens \(SQLITE_ERROR\)\.\n$/)
  t.notOk(readdirSync(folder).includes('copy.db'))
  db.exec('DROP TABLE applications')
  const first = new URL('../../migrations/sqlite/0001_applications_secrets_tokens.sql', import.meta.url)
  db.exec(readFileSync(first, 'utf8'))
  db.close()
  chmodSync(file, 0o400)
  t.match(await at(file).json(`backup ${copy}`), { applications: 0 })
  t.strictSame([read(file).version, read(copy).version], [1, 1])
})

t.test('Backup: - is refused where standard output is a terminal', async (t) => {
  const { env } = await startShell(t)
  const refused = fails('Standard output is a terminal: redirect it to a file or a program.\n')
  await expectAll(t, shell(env), [['backup -', { ...refused, isTTY: true }]])
})
