import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { verifyAudit } from '../../src/administration/audit-chain.ts'
import type { Application, NewApplication } from '../../src/domain/application.ts'
import type { Operator } from '../../src/domain/operator.ts'
import type { Store } from '../../src/domain/store.ts'
import { mintToken, TOKEN_LIFETIME } from '../../src/domain/token.ts'
import { HOUR, hourOf } from '../../src/domain/usage.ts'
import { copyStore, openStore, reopenStore } from '../../src/store/open.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { application as newcomer, suite } from '../support/newcomers.ts'
import { notice } from '../support/notice.ts'
import { AUDIT, AUTHOR, on } from '../support/on.ts'
import { holdOpen, query } from '../support/postgres/databases.ts'
import { locationOf } from '../support/postgres/location.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { startProxy } from '../support/postgres/proxy.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { credential } from '../support/workload-issuer.ts'
import { addOperator } from './conformance/harness.ts'

const NOW = Date.now()
const SECRET = { digest: '$sha256$AAAA', createdAt: NOW }
const IMPORTED = { digest: '$scrypt$ln=14,r=8,p=5$AAAA$AAAA', createdAt: NOW, endsAt: NOW + 1 }
const PAGE = { limit: 1000 }
const ISSUER = 'https://issuer.example'
const USE = { secretId: 1, lastUsedAt: NOW, lastUsedFrom: '192.0.2.1' }
const USAGE = ['a', 'store'].map((clientId) => ({ clientId, tokens: 3, checks: 2, refusals: 1 }))

const { createDatabase } = await startDatabases()

function application(clientId: string): NewApplication {
  const name = `Ünï "quoted" {${clientId}}, ✓ \\`
  return newcomer(clientId, { name, createdAt: NOW, secrets: [SECRET], suites: 'all' })
}

/** A store with something in every table, of which the applications and suites with the highest ids were removed. */
async function fillStore(t: Test) {
  const file = join(temporaryFolder(t), 'store.db')
  const store = openSqlite(file, { lockTimeout: 200 })
  t.teardown(() => store.close())
  const applications = ['a', 'b', 'gone'].map(application)
  await store.register({ suites: ['store', 'removed'].map(suite), applications }, AUDIT)
  await on(store).addSecret('a', IMPORTED)
  await on(store).revokeSecret('a', 3, NOW)
  await on(store).addSecret('a', credential(ISSUER))
  await store.beginFetch(ISSUER, NOW)
  await store.endFetch(ISSUER, { at: NOW, keys: [{ kty: 'EC' }], problem: null })
  await on(store).setStatus('b', 'suspended')
  await on(store).revokeTokens('b', NOW)
  const { key } = (await store.findApplication('a')) as Application
  await on(store).updateSuite('store', { url: 'https://a.example' })
  const mint = (age: number, generation: number, audience?: string) =>
    mintToken(key, NOW - age, generation, audience).stored
  const expired = mint(TOKEN_LIFETIME + 60_000, 3)
  const limited = mint(3, 0, 'store')
  const tokens = { valid: mint(0, 0), revoked: mint(1, 1), ofGeneration: mint(2, 2), limited, expired }
  for (const token of Object.values(tokens)) await store.addToken(token)
  await store.revokeToken(tokens.revoked.id, NOW)
  const count = { applicationKey: key, hour: hourOf(NOW), issued: 3, refused: 1 }
  await store.addTokenCounts([{ ...count, lastTokenAt: NOW }])
  await store.addUsage(USAGE, NOW)
  await store.recordSecretUses([USE])
  await addOperator(store, 'anna')
  await on(store).addAdminKey('anna', { digest: 'second', createdAt: NOW, endsAt: NOW + 1 })
  await on(store).revokeAdminKey('anna', 1, NOW)
  await store.recordAdminKeyUse(2, NOW)
  await on(store).removeApplication('gone')
  await on(store).removeSuite('removed')
  await store.updateNotices(() => ({ save: [notice()] }))
  return { file, store, tokens, count }
}

type Filled = Awaited<ReturnType<typeof fillStore>>

function copy(file: string, url: string, onProgress: (table: string, rows: number) => void = () => {}) {
  const options = { lockTimeout: 200, now: () => NOW, author: AUTHOR, onProgress }
  return copyStore({ kind: 'sqlite', file }, locationOf(url), options)
}

async function openTarget(t: Test, url: string): Promise<Store> {
  const store = await openStore(locationOf(url), { lockTimeout: 2000 })
  t.teardown(() => store.close())
  return store
}

async function assertNothingHappened(t: Test, file: string, url: string) {
  const [row] = await query(url, 'SELECT (SELECT count(*) FROM applications) + (SELECT count(*) FROM tokens) AS rows')
  t.match(row, { rows: '0' })
  const store = openSqlite(file, { lockTimeout: 200 })
  t.equal(store.movedTo, undefined)
  t.equal(await on(store).revokeTokens('a', NOW), true)
  await store.close()
}

t.test('Copy: everything is copied unchanged, except expired tokens', async (t) => {
  const { file, store, tokens, count } = await fillStore(t)
  const head = await store.findAuditHead()
  const url = await createDatabase()
  const progress: string[] = []
  const copied = await copy(file, url, (table, rows) => progress.push(`${table} ${rows}`))
  const counts = { suites: 1, applications: 2, secrets: 5, federated_issuers: 1 }
  const uses = { approvals: 2, secret_uses: 1, application_uses: 1 }
  const others = {
    token_counts: 1,
    usage_counts: 6,
    operators: 1,
    admin_keys: 2,
    audit_events: 20,
    notices: 1,
    tokens: 4,
  }
  t.strictSame(copied, { ...counts, ...uses, ...others })
  const expected = Object.entries(copied).map(([table, rows]) => `${table} ${rows}`)
  t.strictSame(progress, expected)

  const target = await openTarget(t, url)
  t.strictSame(await target.listApplications(PAGE), await store.listApplications(PAGE))
  t.strictSame(await target.listSuites(PAGE), await store.listSuites(PAGE))
  const { expired, ...living } = tokens
  for (const { id } of Object.values(living)) t.strictSame(await target.findToken(id), await store.findToken(id))
  t.equal(await target.findToken(expired.id), undefined)
  t.strictSame(await target.listTokenCounts([count.applicationKey], count.hour), [{ ...count, lastTokenAt: NOW }])
  await target.updateNotices((stored) => {
    t.strictSame(stored, [notice()])
    return { save: [] }
  })
  t.strictSame(await target.listIssuers(NOW), await store.listIssuers(NOW))
  const taken = store.updateNotices(() => ({ save: [] }))
  await t.rejects(
    taken,
    { name: 'OperatorError', message: /^The store moved to / },
    'the server of the copy posts them',
  )
  const usage = ['a', 'store'].map((clientId) => target.listUsage([clientId], HOUR, [hourOf(NOW) * HOUR]))
  t.match((await Promise.all(usage)).flat(), USAGE)
  t.strictSame(await target.listSecretUses([1, 2]), [USE])
  const { sessions, loginLinks, ...anna } = (await store.findOperator('anna')) as Operator
  t.equal(sessions.length + loginLinks.length, 2)
  t.strictSame(await target.findOperator('anna'), { ...anna, sessions: [], loginLinks: [] }, 'a new login')
  t.match(await target.findAdminKey('second'), { id: 2, operator: { keys: [{ revokedAt: NOW }, { lastUsedAt: NOW }] } })
  const events = await store.listAuditEvents(PAGE)
  const earlier = await target.listAuditEvents(PAGE)
  const [gone, arrived] = [events.shift(), earlier.shift()]
  t.equal(earlier.length, 20)
  t.strictSame(earlier, events)
  const copying = { ...AUTHOR, action: 'database copied', at: NOW }
  for (const one of [store, target]) {
    const verdict = await verifyAudit(one, NOW, head)
    t.match(verdict, { events: copied.audit_events + 1, late: 0, problem: undefined }, 'the head from before fits both')
  }
  const place = /^postgres:/
  t.match(gone, { ...copying, subject: { kind: 'database', id: file }, after: { moved_to: place } })
  const after = { copied_from: file, applications: 2, suites: 1, tokens: 4 }
  t.match(arrived, { ...copying, subject: { kind: 'database', id: place }, before: {}, after })
  t.equal(await target.mostImportedSecrets(), await store.mostImportedSecrets())
  t.strictSame(await target.suiteUrls(), await store.suiteUrls())
  t.equal(await on(target).addAdminKey('anna', { digest: 'third', createdAt: NOW, endsAt: NOW }), 3)

  await target.register({ suites: [suite('s')], applications: [application('c')] }, AUDIT)
  const message = 'an id of what was removed is not used again, which would make old tokens valid'
  t.match(await target.findApplication('c'), { key: 4, secrets: [{ id: 9 }] }, message)
  t.match(await target.findSuite('s'), { key: 3, secrets: [{ id: 8 }] }, message)
})

t.test('Copy: what older programs have written of the audit is chained before', async (t) => {
  const { file, store } = await fillStore(t)
  const db = new Database(file)
  db.exec('UPDATE audit_events SET chained_at = NULL WHERE id > 5')
  db.close()
  const url = await createDatabase()
  const { audit_events } = await copy(file, url)
  const target = await openTarget(t, url)
  for (const one of [store, target]) {
    t.match(await verifyAudit(one, NOW), { events: audit_events + 1, problem: undefined })
  }
})

t.test('Copy: a store with many pages that is in use, or with none', async (t) => {
  const { file, store, tokens } = await fillStore(t)
  const { applicationKey } = tokens.valid
  const many = Array.from({ length: 10_010 }, () => mintToken(applicationKey, NOW).stored)
  for (let at = 0; at < many.length; at += 1000)
    await Promise.all(many.slice(at, at + 1000).map((token) => store.addToken(token)))
  const url = await createDatabase()
  const between: Promise<boolean>[] = []
  const copied = await copy(file, url, (table) => {
    if (table === 'tokens') between.push(store.addToken(mintToken(applicationKey, NOW).stored))
  })
  await Promise.all(between)
  t.ok(between.length >= 3)
  t.ok(copied.tokens >= 10_013)
  const target = await openTarget(t, url)
  for (const at of [0, 5000, 10_009]) t.match(await target.findToken(many[at]?.id as Buffer), { stored: many[at] })

  const empty = join(temporaryFolder(t), 'store.db')
  await openSqlite(empty, { lockTimeout: 0 }).close()
  t.match(await copy(empty, await createDatabase()), { applications: 0, tokens: 0 })
})

t.test('Copy: it is refused if the target is not empty, and the second time', async (t) => {
  const { file } = await fillStore(t)
  const url = await createDatabase()
  const target = await openTarget(t, url)
  await target.register({ suites: [], applications: [application('there')] }, AUDIT)
  const message = /^postgres:.* has applications, secrets, audit events already/
  await t.rejects(copy(file, url), { name: 'OperatorError', message })
  await on(target).removeApplication('there')
  await t.rejects(copy(file, url), { name: 'OperatorError', message: /^postgres:.* has audit events already/ })
  await query(url, 'DELETE FROM audit_events')
  // Of a server that was tried there: requests of nobody who is registered are counted, too.
  await target.addUsage([{ clientId: '', tokens: 0, checks: 0, refusals: 1 }], NOW)
  await t.rejects(copy(file, url), { name: 'OperatorError', message: /^postgres:.* has usage counts already/ })
  await query(url, 'DELETE FROM usage_counts')
  await copy(file, url)
  for (const to of [url, await createDatabase()]) {
    await t.rejects(copy(file, to), { name: 'OperatorError', message: /^The store moved to/ })
  }
  t.match(await reopenStore({ kind: 'sqlite', file }, AUDIT, { lockTimeout: 200 }), /^postgres:/)
  t.match(await copy(file, await createDatabase()), { applications: 2 })
})

/** A store, and an empty database to copy it to, in which a trigger does something for each suite that arrives. */
async function withTrigger(t: Test, action: string, trigger = 'TRIGGER spoil BEFORE INSERT ON suites') {
  const url = await createDatabase()
  await query(url, `CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${action}; END $$`)
  await query(url, `CREATE ${trigger} FOR EACH ROW EXECUTE FUNCTION spoil()`)
  return { ...(await fillStore(t)), url }
}

/** For each transaction that has added a suite, as it ends. */
const AT_THE_END = 'CONSTRAINT TRIGGER spoil AFTER INSERT ON suites DEFERRABLE INITIALLY DEFERRED'

t.test('Copy: however it fails, nothing is copied and the source is as before', async (t) => {
  const url = await createDatabase()
  const proxy = await startProxy(t, Number(new URL(url).port))
  const at = (change: object) => Object.assign(new URL(url), { password: 'wr0ng', ...change }).href
  const amid = (action: () => unknown) => (table: string) => void (table === 'approvals' && action())
  const bug = new TypeError('a bug')
  const fail = () => {
    throw bug
  }
  async function whileHeld({ file }: Filled) {
    const end = await holdOpen(t, url, 'SELECT registry FROM changes FOR UPDATE')
    return copy(file, url).finally(end)
  }
  async function withNul({ file, store }: Filled) {
    await on(store).updateApplication('a', { name: 'A\0B' })
    return copy(file, url)
  }
  async function reopening({ file, store }: Filled) {
    let reopened: Promise<unknown> | undefined
    const reopen = amid(() => (reopened = store.move.reopen(AUDIT)))
    return copy(file, url, reopen).finally(() => reopened)
  }
  const failures: [when: string, error: RegExp | Error, fail: (filled: Filled) => Promise<unknown>][] = [
    ['a password is wrong', /28P01.* Nothing was copied\.$/, ({ file }) => copy(file, at({}))],
    ['no server is there', /127\.0\.0\.1:1: /, ({ file }) => copy(file, at({ port: '1' }))],
    ['somebody else changes the registry there', /55P03/, whileHeld],
    ['the database goes away in the middle', /./, ({ file }) => copy(file, proxy.through(url), amid(proxy.cut))],
    ['a text is one that PostgreSQL cannot hold', /22021/, withNul],
    ['there is a bug', bug, ({ file }) => copy(file, url, fail)],
    ['the store is opened again in the meantime, for it may have changed', /again in the meantime/, reopening],
  ]
  for (const [when, expected, fail] of failures) {
    const filled = await fillStore(t)
    const error = (await fail(filled).catch((error) => error)) as Error
    t.match(error, expected === bug ? bug : { name: 'OperatorError', message: expected }, when)
    t.notMatch(error.message, 'wr0ng')
    await assertNothingHappened(t, filled.file, url)
  }
  t.match(await copy((await fillStore(t)).file, url), { applications: 2 })
})

const SETTINGS = ['lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout']
const VALUES = SETTINGS.map((name) => `current_setting('${name}')`).join(", ' ', ")

t.test('Copy: if the rows that arrive differ, or are refused, nothing is copied', async (t) => {
  const differ = / table suites in \S+ differ from those that were sent\. Nothing was copied\.$/
  const limits = 'it is not limited in time, but where its machine dies its locks do not stay for long'
  const changes: [change: string, message: RegExp, rule: string][] = [
    ["NEW.name := 'other'; RETURN NEW", differ, 'a name differs'],
    ['RETURN NULL', /has 0 of 1 rows of the table suites\. Nothing was copied\.$/, 'a row is missing'],
    [`RAISE EXCEPTION '%', concat(${VALUES})`, /P0001, 0 0 1min/, limits],
  ]
  for (const [change, message, rule] of changes) {
    const { file, url } = await withTrigger(t, change)
    for (const name of SETTINGS) await query(url, `ALTER ROLE CURRENT_USER SET ${name} = '50s'`)
    await t.rejects(copy(file, url), { name: 'OperatorError', message }, rule)
    await assertNothingHappened(t, file, url)
  }
})

/** Who waits for an advisory lock in this database: other tests share the server. */
const WAITING = `
  SELECT FROM pg_locks
   WHERE locktype = 'advisory' AND NOT granted
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

t.test('Copy: a source that is reopened at the last moment is reported, because it may have changed', async (t) => {
  const wait = 'PERFORM pg_advisory_xact_lock(1); RETURN NULL'
  const { file, store, url } = await withTrigger(t, wait, AT_THE_END)
  const end = await holdOpen(t, url, 'SELECT pg_advisory_xact_lock(1)')
  const message =
    /^Everything was copied to postgres:.*, but that cannot be recorded .* The store was opened again .* empty/
  const refused = t.rejects(copy(file, url), { name: 'OperatorError', message })
  await until(async () => (await query(url, WAITING)).length > 0)
  await store.move.reopen(AUDIT)
  await end()
  await refused
  t.equal(await on(store).revokeTokens('a', NOW), true)
  t.equal((await query(url, 'SELECT FROM applications')).length, 2)
})

t.test('Copy: if the commit is uncertain, the source keeps its mark and can be copied again', async (t) => {
  const die = 'PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL'
  const { file, store, url } = await withTrigger(t, die, AT_THE_END)
  const message = /^It is not known whether the copy .* was made: .*\. Copy again; if that database has applications/
  await t.rejects(copy(file, url), { name: 'OperatorError', message })
  await t.rejects(on(store).setStatus('a', 'active'), { name: 'OperatorError', message: /or was interrupted/ })
  await query(url, 'DROP TRIGGER spoil ON suites')
  t.match(await copy(file, url), { applications: 2 })
  await t.rejects(on(store).setStatus('a', 'active'), { name: 'OperatorError', message: /store moved to/ })
})
