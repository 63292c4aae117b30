import { readdirSync, realpathSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { createAdministration } from '../../src/administration/administration.ts'
import { createSignIn } from '../../src/administration/sign-in.ts'
import { readConfig } from '../../src/config.ts'
import type { Diagnosis } from '../../src/doctor/finding.ts'
import { checkDisk, checkStoreClock } from '../../src/doctor/machine.ts'
import { checkPrevious, checkStore, softwareFinding } from '../../src/doctor/store.ts'
import { checkWriteLock } from '../../src/doctor/write-lock.ts'
import type { Application } from '../../src/domain/application.ts'
import type { SqliteLocation } from '../../src/domain/database-location.ts'
import { whyNoRole } from '../../src/domain/identity.ts'
import { digestGenerated } from '../../src/domain/secret.ts'
import { mintToken } from '../../src/domain/token.ts'
import type { Inspector } from '../../src/store/inspect.ts'
import { backUpStore, inspectStore, openStore } from '../../src/store/open.ts'
import { inspectSqlite } from '../../src/store/sqlite/inspect.ts'
import { notice } from '../support/notice.ts'
import { AUDIT, on } from '../support/on.ts'
import { query } from '../support/postgres/databases.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { type Filling, filling } from '../support/registration.ts'
import { shell, startShell } from '../support/shell.ts'
import { SQLITE, startPostgresStore } from '../support/stores.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { credential } from '../support/workload-issuer.ts'

const HOUR = 60 * 60_000
const DAY = 24 * HOUR

const isNotOk = ({ level }: Diagnosis) => level !== 'ok'

/** Sends SQL behind the program's back. */
async function exec(url: string, sql: string): Promise<void> {
  if (!url.startsWith('sqlite:')) return void (await query(url, sql))
  const db = new Database(url.slice('sqlite:'.length))
  db.exec(sql)
  db.close()
}

/** The application `a`. */
async function registerA({ applications }: Filling) {
  await applications.register({ clientId: 'a' })
}

const ENGINES = [
  {
    ...SQLITE,
    createEmpty: async (t: Test) => {
      const { env } = temporaryDatabase(t)
      await exec(env.DATABASE_URL, 'VACUUM')
      return env.DATABASE_URL
    },
    schemaAt: (version: number) => `PRAGMA user_version = ${version}`,
  },
  {
    ...(await startPostgresStore()),
    createEmpty: async () => (await startDatabases()).createEmptyDatabase(),
    schemaAt: (version: number) =>
      `DELETE FROM migrations WHERE number >= ${version}; INSERT INTO migrations VALUES (${version}, 'x.sql')`,
  },
]

const warnings: Error[] = []
process.on('warning', (warning) => warnings.push(warning))

for (const { name, latest, createEmpty, createEnv, schemaAt } of ENGINES) {
  /** A store with the application `a`, and what is found in it that is not all right. */
  async function createStore(t: Test) {
    const { DATABASE_URL: url } = await createEnv(t)
    const { DATABASE_URL: location } = readConfig({ DATABASE_URL: url })
    const store = await openStore(location, { lockTimeout: 1000 })
    t.teardown(() => store.close())
    const author = AUDIT.author
    const administration = filling(createAdministration({ store, now: Date.now, observe: () => {}, author }))
    await registerA(administration)
    const all = (now = Date.now()) => checkStore(location, () => now)
    // Only SQLite's stores know when a backup was made, and the PostgreSQL of the tests does without fsync.
    const found = async (now?: number) =>
      (await all(now)).filter(isNotOk).filter(({ subject }) => !['backup', 'durability'].includes(subject))
    return { url, location, store, all, found, ...administration }
  }

  t.test(`Doctor on ${name}: a store that is in use is all right, and says what keeps it`, async (t) => {
    const { all, found, location } = await createStore(t)
    t.match(await all(), [
      { subject: 'store', text: new RegExp(`^The store runs on ${name} \\d+\\.\\d+`) },
      { subject: 'store', text: `The schema has the version of this program, ${latest}.` },
    ])
    t.strictSame(await found(), [])
    const inspector = await inspectStore(location)
    t.equal(await inspector.lastBackupAt(), undefined)
    t.ok(Math.abs(await inspector.clockOffset()) < HOUR)
    t.strictSame(warnings, [], 'the driver warns of two statements at the same time')
    inspector.close()
  })

  t.test(`Doctor on ${name}: operators and their keys are checked if ADMIN_ADDRESS is set`, async (t) => {
    const { location, operators } = await createStore(t)
    async function found(env: NodeJS.ProcessEnv = { ADMIN_ADDRESS: '127.0.0.1:8081' }) {
      const all = await checkStore(location, Date.now, readConfig(env))
      return all.filter(({ subject }) => subject === 'operators').map(({ text }) => text)
    }
    t.match(await found(), ['There is no operator'])
    t.strictSame(await found({}), [])
    for (const operator of ['anna', 'ben']) await operators.add(operator, 'admin')
    await operators.addKey('anna', HOUR)
    t.match(await found(), ['The last admin key of the operator anna expires at '])
    const { id } = await operators.addKey('anna', 30 * DAY)
    t.strictSame(await found(), ['No admin key expires within a week.'])
    await operators.revokeKey('anna', id)
    t.match(await found(), ['The last admin key of the operator anna expires at '])
  })

  t.test(`Doctor on ${name}: for a week it explains the last sign-in that gave no role, without a value`, async (t) => {
    const { location, store } = await createStore(t)
    const from = { remoteAddress: '192.0.2.1', userAgent: '', requestId: 'r' }
    const rule = { claim: 'groups', values: ['secret-group'] }
    async function signIn(claims: object, at: number) {
      const why = whyNoRole(claims, { admin: rule, viewer: undefined })
      const person = { name: 'https://idp.example#7', role: undefined, email: null, authenticatedAt: null }
      await createSignIn({ store, now: () => at, observe: () => {} }).logInAs({ ...person, whyNoRole: why }, from)
    }
    const last = Date.parse('2027-01-15T08:00:00Z')
    async function found(now: number) {
      const all = await checkStore(location, () => now, readConfig({ ADMIN_ADDRESS: '127.0.0.1:8081' }))
      return all.filter(({ text }) => text.includes('identity provider')).map(({ text }) => text)
    }
    t.strictSame(await found(last), [])
    await signIn({ groups: ['a', 'b'], email: 'anna@company.example' }, last - HOUR)
    await signIn({ _claim_names: { groups: 'src1' }, email: 'anna@company.example' }, last)
    const why = 'groups has too many values to be sent (overage): use app roles. Claims: _claim_names, email'
    const text = `The identity provider knows the person who signed in at 2027-01-15T08:00:00Z, but no claim gives a role: ${why}.`
    t.strictSame(await found(last + 7 * DAY), [text])
    t.strictSame(await found(last + 7 * DAY + 1), [])
  })

  t.test(`Doctor on ${name}: with NOTICE_URL_FILE it says whether notices wait, and why`, async (t) => {
    const { location, store } = await createStore(t)
    async function found(env: NodeJS.ProcessEnv = { NOTICE_URL_FILE: '/url' }) {
      const all = await checkStore(location, Date.now, readConfig(env))
      return all.filter(({ subject }) => subject === 'notices').map(({ level, text }) => `${level}: ${text}`)
    }
    t.strictSame(await found(), ['ok: No notice waits to be delivered.'])
    t.strictSame(await found({}), [])
    const waiting = { attempts: 3, problem: 'it answered 404' }
    await store.updateNotices(() => ({ save: [notice({ id: 1, dueAt: null }), notice({ id: 2 }), notice({ id: 3 })] }))
    t.strictSame(await found(), ['note: 2 notices for NOTICE_URL_FILE will be delivered soon.'])
    await store.updateNotices(() => ({ save: [notice({ id: 2, ...waiting })] }))
    const what = '2 notices for NOTICE_URL_FILE cannot be delivered, the oldest of 2027-01-15T08:00:00Z'
    t.strictSame(await found(), [`warning: ${what}, after 3 attempts: it answered 404.`])
  })

  t.test(
    `Doctor on ${name}: an issuer whose keys could not be fetched, and until when the known ones are used`,
    async (t) => {
      const { location, store } = await createStore(t)
      const [issuer, at] = ['https://issuer.example', Date.parse('2027-01-15T08:00:00Z')]
      async function found(now = at) {
        const all = await checkStore(location, () => now)
        return all.filter(({ subject }) => subject === 'issuers').map(({ level, text }) => `${level}: ${text}`)
      }
      await on(store).addSecret('a', credential(issuer))
      t.strictSame(await found(), [], 'nobody needed them yet')
      const problem = 'it answered 503'
      await store.beginFetch(issuer, at)
      await store.endFetch(issuer, { at, keys: null, problem })
      const what = `The keys of the issuer ${issuer} could not be fetched: it answered 503.`
      t.strictSame(await found(), [`error: ${what} None of its JWTs is accepted.`])
      await store.endFetch(issuer, { at, keys: [{ kty: 'RSA' }], problem: null })
      t.strictSame(await found(), [])
      await store.beginFetch(issuer, at + HOUR)
      await store.endFetch(issuer, { at: at + HOUR, keys: null, problem })
      const used = 'Those of 2027-01-15T08:00:00Z are used until 2027-01-16T08:00:00Z.'
      t.strictSame(await found(at + DAY - 1), [`warning: ${what} ${used}`])
      t.strictSame(await found(at + DAY), [`error: ${what} None of its JWTs is accepted.`])
      t.strictSame(await found(at + HOUR + DAY), [], 'nobody has needed them for a day')
    },
  )

  t.test(`Doctor on ${name}: an empty database, and another program's, is an error, and stays as it is`, async (t) => {
    const url = await createEmpty(t)
    const location = readConfig({ DATABASE_URL: url }).DATABASE_URL
    const check = async () => (await checkStore(location, Date.now)).filter(isNotOk)
    const empty = /^The database \S+ is empty\. If there should be one, /
    for (let time = 0; time < 2; time++) t.match(await check(), [{ subject: 'store', level: 'error', text: empty }])
    await exec(url, 'CREATE TABLE theirs (n INTEGER)')
    const text = 'The database has tables of another program.'
    for (let time = 0; time < 2; time++) t.match(await check(), [{ level: 'error', text }])
  })

  t.test(`Doctor on ${name}: an older schema is a note, as is a newer one that allows this program`, async (t) => {
    const { url, found } = await createStore(t)
    await exec(url, schemaAt(latest - 1))
    const older = `The schema has version ${latest - 1}, but this program uses ${latest}.`
    for (let time = 0; time < 2; time++) t.match(await found(), [{ level: 'note', text: older }])
    await exec(url, schemaAt(latest + 1))
    t.match(await found(), [{ level: 'note', text: /of a newer program .* can use it\.$/ }])
    await exec(url, "UPDATE compatibility SET oldest_program = '99.0.0'")
    t.match(await found(), [{ level: 'error', text: /needs token-server 99\.0\.0 or newer/ }])
  })

  t.test(`Doctor on ${name}: who is or soon will be without a secret is named, but for who is suspended`, async (t) => {
    const { url, store, found, applications, suites } = await createStore(t)
    await suites.register({ suiteId: 'shop', name: 'Shop' })
    const more = Array.from({ length: 7 }, (_, n) => `more${n}`)
    for (const clientId of ['ended', 'ending', 'good', 'none', 'off', ...more]) {
      await applications.register({ name: `App ${clientId}`, developerEmail: 'a@b.example', clientId })
    }
    const now = Date.now()
    const end = async (owner: string, at: number) => {
      const secret = { digest: digestGenerated(owner), createdAt: now, endsAt: at }
      await on(store).rotateSecret(owner, secret, Math.min(at, now), 0)
    }
    for (const owner of ['ended', 'shop', 'off']) await end(owner, now - 1000)
    await end('ending', now + 6 * DAY)
    await end('good', now + 8 * DAY)
    await applications.suspend('off')
    await exec(url, "DELETE FROM secrets WHERE application_id = (SELECT id FROM applications WHERE client_id = 'none')")
    const findings = await found(now)
    t.equal(findings.length, 4)
    const ending = /^The last secret of the application App ending \(ending\) expires at \S+Z\.$/
    t.match(findings, [
      { subject: 'secrets', level: 'warning', text: ending },
      { text: /^The application App ended \(ended\) has had no secret since \S+Z, and gets no tokens\.$/ },
      { text: /^The application App none \(none\) has no secret, and gets no tokens\.$/ },
      { text: /^The suite Shop \(shop\) has had no secret since \S+Z, and cannot introspect\.$/ },
    ])
    for (const owner of more) await end(owner, now - 1000)
    const many = await found(now)
    t.equal(many.length, 11)
    t.equal(many.at(-1)?.text, 'The last secret of 1 more has expired or expires within a week.')
    await end('none', now + HOUR)
    t.match((await found(now))[0]?.text, /App none .* expires at/, 'the one that ends first')
  })

  t.test(`Doctor on ${name}: a purge that is behind is a warning, and a token from the future an error`, async (t) => {
    const { store, found } = await createStore(t)
    const { key } = (await store.findApplication('a')) as Application
    const now = Date.now()
    await store.addToken(mintToken(key, now).stored)
    t.strictSame(await found(now + 2 * HOUR), [])
    const behind = { subject: 'purge', level: 'warning', text: /^The oldest token expired at/ }
    t.match(await found(now + 3 * HOUR + 1000), [behind])
    const text = 'The newest token was issued 60 s in the future: a clock was ahead, or has been set back.'
    t.match(await found(now - 60_000), [{ subject: 'clock', level: 'error', text }])
  })
}

t.test('Doctor: a clock far from that of the database is an error, an untried PostgreSQL a warning', async (t) => {
  const inspector = { clockOffset: async () => -1500 } as Partial<Inspector> as Inspector
  t.match(await checkStoreClock(inspector, Date.now), [{ level: 'error', text: /are 1500 ms apart\.$/ }])
  t.match(softwareFinding('PostgreSQL 14.22 (Debian)', 'postgres'), { level: 'warning' })
  t.match(softwareFinding('PostgreSQL 15.1', 'postgres'), { level: 'ok' })
  t.match(softwareFinding('SQLite 3.51.3', 'sqlite'), { level: 'ok' })
  const { DATABASE_URL } = readConfig({ DATABASE_URL: 'postgres://u@127.0.0.1:1/d' })
  const away = { subject: 'store', level: 'error', text: /^PostgreSQL at 127\.0\.0\.1:1: .*ECONNREFUSED/ }
  t.match(await checkStore(DATABASE_URL, Date.now), [away], 'as is a PostgreSQL that is away')
})

t.test('Doctor on SQLite: a store that is not in use is read, and nothing is made beside it', async (t) => {
  const { file, folder } = await startShell(t, registerA)
  const wrong = async (file: string) => (await checkStore({ kind: 'sqlite', file }, Date.now)).filter(isNotOk)
  const [none, lost] = [join(folder, 'none.db'), join(folder, 'lost.db')]
  t.match(await wrong(none), [{ level: 'error', text: `There is no database at ${none}. If there should be one, ` }])
  t.match(await wrong(file), [{ subject: 'backup' }])
  writeFileSync(`${lost}-wal`, 'x')
  t.match(await wrong(lost), [{ level: 'error', text: /lost\.db is missing, but its log / }])
  unlinkSync(`${lost}-wal`)
  writeFileSync(file, 'This is no database, however long it may be. '.repeat(100))
  t.match(await wrong(file), [{ level: 'error', text: /cannot be read: file is not a database\.$/ }])
  const refuse = () => {
    throw Object.assign(new Error('EACCES'), { code: 'EACCES' })
  }
  t.throws(() => inspectSqlite(file, refuse), { message: /may not read it: run this as the server's user\.$/ })
  t.strictSame(readdirSync(folder), ['store.db'])
})

t.test('Doctor on SQLite: a database that another program has locked is an error', async (t) => {
  const { file } = await startShell(t, registerA)
  const other = new Database(file)
  t.teardown(() => other.close())
  other.pragma('locking_mode = EXCLUSIVE')
  other.exec('UPDATE changes SET revocations = revocations')
  // It is in use, as far as one can see.
  writeFileSync(`${file}-shm`, Buffer.alloc(32768), { flag: 'a' })
  const locked = { level: 'error', text: /another program has locked it/ }
  t.match(await checkStore({ kind: 'sqlite', file }, Date.now), [locked])
})

t.test('Doctor on SQLite: the process that has locked the database against writes is named', async (t) => {
  const { file } = await startShell(t, registerA)
  const location: SqliteLocation = { kind: 'sqlite', file }
  const other = new Database(file)
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  const findings = async () => (await checkStore(location, Date.now)).filter(({ subject }) => subject === 'lock')
  const text = new RegExp(`^Process ${process.pid} \\(\\S+\\) has locked the database for a second`)
  t.match(await findings(), [{ level: 'error', text }])
  const link = join(temporaryFolder(t), 'link.db')
  symlinkSync(file, link)
  t.match(await checkWriteLock({ ...location, file: link }), [{ level: 'error', text }])
  t.match(await checkDisk({ ...location, file: link }), [{ text: `on the disk of ${realpathSync(dirname(file))}.` }])
  other.exec('ROLLBACK')
  t.strictSame(await findings(), [])
})

t.test('Doctor on SQLite: no backup, or an old one, is a warning, also where the schema knows of none', async (t) => {
  const { env, file, folder } = await startShell(t, registerA)
  const location: SqliteLocation = { kind: 'sqlite', file }
  const backup = async (now = Date.now()) =>
    (await checkStore(location, () => now)).filter(({ subject }) => subject === 'backup')
  t.match(await backup(), [{ level: 'warning', text: '`token-server backup` has made no backup yet.' }])
  await backUpStore(location, join(folder, 'copy.db'), { withoutTokens: false, now: Date.now })
  t.match(await backup(), [{ level: 'ok', text: /^The last backup was made at \S+Z\.$/ }])
  t.match(await backup(Date.now() + 3 * DAY), [{ level: 'warning' }])
  await exec(env.DATABASE_URL, 'DROP TABLE backups; DROP TABLE moved; DROP TABLE compatibility')
  t.match(await backup(), [{ level: 'warning', text: /no backup yet/ }])
})

t.test('Doctor: a store that has moved, and the previous one of a store, are said', async (t) => {
  const { createDatabase } = await startDatabases()
  const { env, file } = await startShell(t, registerA)
  const location: SqliteLocation = { kind: 'sqlite', file }
  const moved = async () => (await checkStore(location, Date.now)).filter(({ text }) => /copy|moved/.test(text))
  const previous = (now = Date.now()) => checkPrevious(location, () => now)
  t.strictSame(await moved(), [])
  const partly = `PREVIOUS_DATABASE_URL: ${file} was not copied, or only partly.`
  t.match(await previous(), [{ level: 'error', text: partly }])

  await exec(env.DATABASE_URL, "INSERT INTO moved (place, began_at) VALUES ('postgres://h/d', 0)")
  const began = /A copy of the store to postgres:\/\/h\/d began at 1970-.*, or was interrupted/
  t.match(await moved(), [{ level: 'warning', text: began }])
  t.match(await previous(), [{ level: 'error' }])

  const url = new URL(await createDatabase())
  const PGPASSWORD = url.password
  url.password = ''
  await shell({ ...env, PGPASSWORD }).json(`store copy --to ${url.href}`)
  t.match(await moved(), [{ level: 'warning', text: /^The store moved to postgres:/ }])
  t.match(await previous(), [{ level: 'note', text: /^PREVIOUS_DATABASE_URL is no longer needed/ }])

  const store = await openStore(location, { lockTimeout: 0 })
  t.teardown(() => store.close())
  const { key } = (await store.findApplication('a')) as Application
  await store.addToken(mintToken(key, Date.now()).stored)
  t.match(await previous(), [{ level: 'ok' }])
  t.match(await previous(Date.now() + HOUR), [{ level: 'note' }])
  t.equal(await (await inspectStore(location)).clockOffset(), 0)
})
