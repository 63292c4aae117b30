import { chmodSync, copyFileSync, linkSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import Database from 'better-sqlite3'
import t from 'tap'
import { main } from '../../src/commands/program.ts'
import { readConfig } from '../../src/config.ts'
import type { Application } from '../../src/domain/application.ts'
import { mintToken } from '../../src/domain/token.ts'
import { openStore } from '../../src/store/open.ts'
import { AUDIT } from '../support/audit.ts'
import { LATEST } from '../support/migrations.ts'
import { REGISTER } from '../support/register.ts'
import { run, runJson } from '../support/run.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

/** A database with a suite, two applications (a third was removed) and a token, in a folder of its own. */
async function createDatabase(t: Parameters<typeof temporaryDatabase>[0]) {
  const options = temporaryDatabase(t)
  await runJson(['suites', 'register', 'store', '--name', 'Store API', '--create'], options)
  for (const id of ['a', 'b', 'removed']) await runJson([...REGISTER, '--client-id', id], options)
  await runJson(['apps', 'remove', 'removed'], options)
  const store = await openStore(readConfig(options.env).DATABASE_URL, { lockTimeout: 0 })
  const [application] = (await store.listApplications({ limit: 1 })) as [Application]
  const issuedAt = Date.now()
  await store.addToken(mintToken(application.key, issuedAt).stored)
  await store.close()
  return { ...options, issuedAt, copy: join(options.folder, 'copy.db') }
}

/** Every row of a database, by table. */
function rowsOf(file: string): Record<string, unknown[]> {
  const db = new Database(file, { readonly: true })
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[]
  const rows = tables.map((table) => [table, db.prepare(`SELECT * FROM ${table}`).all()])
  db.close()
  return Object.fromEntries(rows)
}

function schemaOf(file: string) {
  const db = new Database(file, { readonly: true })
  const schema = db.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name').all()
  const version = db.pragma('user_version', { simple: true })
  db.close()
  return { schema, version }
}

t.test('Backup: the copy has every row, is for its owner only, and says what is in it', async (t) => {
  const { copy, file, issuedAt, ...options } = await createDatabase(t)
  const rows = rowsOf(file)
  const result = await runJson(['backup', copy], options)
  t.strictSame(result, {
    file: copy,
    bytes: statSync(copy).size,
    applications: 2,
    newest_token_issued_at: new Date(issuedAt).toISOString(),
  })
  t.equal(statSync(copy).mode & 0o777, 0o600)
  t.strictSame(rowsOf(copy), rows)
  t.strictSame(schemaOf(copy), schemaOf(file))
  t.notOk(
    readdirSync(options.folder).some((name) => /partial|copy\.db-/.test(name)),
    'nothing else is left behind',
  )
  t.match(
    (await run(['backup', copy], options)).out,
    /^Backed up to .*copy\.db: \d+ bytes, applications: 2, newest token issued: 20/,
  )
})

t.test(
  'Backup: --without-tokens leaves out the tokens and nothing else, the keys that were used included',
  async (t) => {
    const { copy, file, ...options } = await createDatabase(t)
    const rows = rowsOf(file)
    const result = await runJson(['backup', copy, '--without-tokens'], options)
    t.match(result, { applications: 2, newest_token_issued_at: null })
    t.equal(rows.tokens?.length, 1)
    t.strictSame(rowsOf(copy), { ...rows, tokens: [] })
    t.strictSame(schemaOf(copy), schemaOf(file))
    t.match((await run(['backup', copy, '--without-tokens'], options)).out, /newest token issued: none\.\n$/)
  },
)

t.test('Backup: it replaces the backup that was there, whole or not at all', async (t) => {
  const { copy, ...options } = await createDatabase(t)
  writeFileSync(copy, 'the last one')
  t.match(await run(['backup', copy], { env: { DATABASE_URL: `sqlite:${options.folder}/missing.db` } }), {
    status: 1,
    err: /^There is no database at .*missing\.db\.\n$/,
  })
  const damaged = join(options.folder, 'damaged.db')
  copyFileSync(options.env.DATABASE_URL.slice('sqlite:'.length), damaged)
  const bytes = readFileSync(damaged)
  writeFileSync(damaged, bytes.fill(0xff, 4096 * 2))
  t.match(await run(['backup', copy], { env: { DATABASE_URL: `sqlite:${damaged}` } }), {
    status: 1,
    err: /^The database .*damaged\.db could not be backed up: .*malformed \(SQLITE_CORRUPT\)\.\n$/,
  })
  t.equal(readFileSync(copy, 'utf8'), 'the last one')
  await runJson(['backup', copy], options)
  t.match(readFileSync(copy, 'latin1'), /^SQLite format 3/)
})

t.test('Backup: a log whose database is missing is not deleted', async (t) => {
  const { copy, file, folder } = await createDatabase(t)
  const store = await openStore({ kind: 'sqlite', file }, { lockTimeout: 0 })
  await store.setStatus('a', 'suspended', AUDIT)
  const alone = join(folder, 'alone.db')
  copyFileSync(`${file}-wal`, `${alone}-wal`)
  await store.close()
  for (let time = 0; time < 2; time++) {
    t.match(await run(['backup', copy], { env: { DATABASE_URL: `sqlite:${alone}` } }), {
      status: 1,
      err: /could not be backed up: .*alone\.db is missing, but its log .*alone\.db-wal is there: put it back/,
    })
    t.ok(statSync(`${alone}-wal`).size > 0)
    writeFileSync(alone, '')
  }
})

t.test('Backup: a folder that cannot be seen is not called one without a database', async (t) => {
  const { copy, file, folder } = await createDatabase(t)
  writeFileSync(join(folder, 'no-folder'), '')
  t.match(await run(['backup', copy], { env: { DATABASE_URL: `sqlite:${folder}/no-folder/store.db` } }), {
    status: 1,
    err: /^The database .* could not be backed up: ENOTDIR: .*\.\n$/,
  })
  t.ok(statSync(file).size > 0)
})

t.test('Backup: the database itself, and what is no file, is not replaced', async (t) => {
  const { file, folder, ...options } = await createDatabase(t)
  const before = rowsOf(file)
  linkSync(file, join(folder, 'same.db'))
  for (const target of [file, join(folder, 'same.db'), `${file}-wal`]) {
    t.match((await run(['backup', target], options)).err, /belongs to the database itself/, target)
  }
  t.match((await run(['backup', folder], options)).err, /is not a file/)
  t.match((await run(['backup', '/dev/null'], options)).err, /^\/dev\/null is not a file\.\n$/)
  t.match((await run(['backup', join(folder, 'no/where')], options)).err, /could not be backed up: ENOENT/)
  t.strictSame(rowsOf(file), before)
})

t.test('Backup: it leaves the database as it is, but for the time of the backup', async (t) => {
  const { copy, file, ...options } = await createDatabase(t)
  const rows = rowsOf(file)
  const before = Date.now()
  await runJson(['backup', copy], options)
  const { backups, ...others } = rowsOf(file)
  t.strictSame({ ...others, backups: [] }, rows)
  const [backup, ...none] = backups as { made_at: number }[]
  t.strictSame(none, [])
  t.ok(Number(backup?.made_at) >= before && Number(backup?.made_at) <= Date.now())
})

t.test('Backup: the database is only read: an old one is not migrated', async (t) => {
  const { env, file, folder } = temporaryDatabase(t)
  const db = new Database(file)
  db.exec(
    readFileSync(new URL('../../migrations/sqlite/0001_applications_secrets_tokens.sql', import.meta.url), 'utf8'),
  )
  db.pragma('user_version = 1')
  db.close()
  chmodSync(file, 0o400)
  t.match(await runJson(['backup', join(folder, 'copy.db')], { env }), { applications: 0 })
  t.equal(schemaOf(file).version, 1)
  t.equal(schemaOf(join(folder, 'copy.db')).version, 1)
  t.ok(LATEST > 1)
})

t.test('Backup: a file of another program is refused', async (t) => {
  const { env, file, folder } = temporaryDatabase(t)
  const db = new Database(file)
  db.exec('CREATE TABLE applications (id)')
  t.match(
    (await run(['backup', join(folder, 'copy.db')], { env })).err,
    /could not be backed up: it is not of this program\.\n$/,
  )
  db.pragma('user_version = 1')
  db.close()
  t.match(
    (await run(['backup', join(folder, 'copy.db')], { env })).err,
    /could not be backed up: no such table: tokens \(SQLITE_ERROR\)\.\n$/,
  )
  t.notOk(readdirSync(folder).includes('copy.db'))
})

t.test('Backup: - is refused where standard output is a terminal', async (t) => {
  const { env } = await createDatabase(t)
  let err = ''
  const status = await main(['backup', '-'], {
    env,
    stdin: Readable.from([]),
    stdout: { write: () => t.fail('nothing is written'), isTTY: true },
    stderr: { write: (text: string) => (err += text) },
  })
  t.strictSame([status, err], [1, 'Standard output is a terminal: send it to a file or to a program.\n'])
})
