import t, { type Test } from 'tap'
import type { Application } from '../../../src/domain/application.ts'
import { type Store, StoreUnavailable } from '../../../src/domain/store.ts'
import { mintToken } from '../../../src/domain/token.ts'
import { HOUR } from '../../../src/domain/usage.ts'
import { TABLES, type Table } from '../../../src/store/copy.ts'
import { openSqlite } from '../../../src/store/sqlite/store.ts'
import { application, suite } from '../../support/newcomers.ts'
import { AUDIT, on } from '../../support/on.ts'
import { START } from '../../support/world.ts'
import { callsOf } from '../conformance/failure.ts'
import { addOperator, session } from '../conformance/harness.ts'
import { connect, newFile } from './databases.ts'

const PLACE = 'postgres://db.example:5432/tokens'
/** A store with an application that is approved for a suite, in a file. */
async function openMovable(t: Test) {
  const file = newFile(t)
  const open = () => {
    const store = openSqlite(file, { lockTimeout: 200 })
    t.teardown(() => store.close())
    return store
  }
  const store = open()
  await store.register({ suites: [suite('s')], applications: [application('a', { suites: 'all' })] }, AUDIT)
  const found = (await store.findApplication('a')) as Application
  await addOperator(store, 'anna')
  return { file, open, store, application: found }
}

/** Every change of a table that is copied: the registry, operators and their keys. */
const CHANGES = [
  ...['register', 'setStatus', 'updateApplication', 'removeApplication', 'updateSuite', 'removeSuite'],
  ...['approve', 'withdraw', 'revokeTokens', 'addSecret', 'rotateSecret', 'revokeSecret'],
  ...['addOperator', 'removeOperator', 'addAdminKey', 'revokeAdminKey'],
] as (keyof ReturnType<typeof callsOf>)[]

t.test('Moved store: every change of its registry is refused in every process, with the new location', async (t) => {
  const { store, open, application } = await openMovable(t)
  const other = open()
  t.equal(other.movedTo, undefined)
  await store.move.begin(PLACE, START)
  const refused = async (message: string, ...stores: Store[]) => {
    for (const name of CHANGES)
      for (const one of stores) await t.rejects(callsOf(one)[name](), { name: 'OperatorError', message }, name)
  }
  await refused(`A copy of the store to ${PLACE} began at `, store, other)
  await store.move.complete(PLACE, START, { ...AUDIT, at: START + 1000 })
  const since = new Date(START + 1000).toISOString()
  await refused(`The store moved to ${PLACE} at ${since}: name that in DATABASE_URL.`, other)
  t.strictSame(await other.findApplication('a'), application)
  t.equal((await other.listSuites({ limit: 9 })).length, 1)
  t.equal(open().movedTo, PLACE)
})

t.test('Moved store: a change by hand, or by a program of an older version, is refused', async (t) => {
  const { store, file } = await openMovable(t)
  const db = connect(t, file)
  const inserts: Record<string, string> = {
    applications: "(client_id, name, developer_email, created_at) VALUES ('b', 'B', 'b@b.example', 0)",
    suites: "(suite_id, name, created_at) VALUES ('t', 'T', 0)",
    secrets: "(application_id, digest, created_at) VALUES (1, 'x', 0)",
    approvals: '(application_id, suite_id) VALUES (1, 1) ON CONFLICT DO NOTHING',
    operators: "(name, role, created_at) VALUES ('bert', 'admin', 0)",
    admin_keys: "(operator_id, digest, created_at, ends_at) VALUES (1, 'x', 0, 0)",
  }
  const updates = [
    "applications SET name = 'B'",
    "suites SET name = 'T'",
    'secrets SET ends_at = 1',
    'approvals SET suite_id = 1',
    "operators SET role = 'viewer'",
    'admin_keys SET revoked_at = 1',
    'admin_keys SET ends_at = 1',
  ]
  const changes = [
    ...Object.entries(inserts).map(([table, row]) => `INSERT INTO ${table} ${row}`),
    ...updates.map((update) => `UPDATE ${update}`),
    ...Object.keys(inserts).map((table) => `DELETE FROM ${table}`),
  ]
  await store.move.begin(PLACE, START)
  for (const change of changes) t.throws(() => db.exec(change), { message: /^the store has moved to another/ }, change)
  await store.move.reopen(AUDIT)
  for (const change of changes)
    t.doesNotThrow(() => db.exec(`SAVEPOINT a; ${change}; ROLLBACK TO a; RELEASE a`), change)
})

t.test('Moved store: tokens still work, operators can still log in and out, and usage is recorded', async (t) => {
  const { store, application } = await openMovable(t)
  await store.move.begin(PLACE, START)
  const { stored } = mintToken(application.key, START)
  await store.addToken(stored)
  await store.revokeToken(stored.id, START)
  t.match(await store.findToken(stored.id), { stored: { revokedAt: START }, application })
  t.equal(await store.newestTokenAt(), START)
  const count = { applicationKey: application.key, hour: 1, issued: 1, refused: 0 }
  t.strictSame(await store.addTokenCounts([{ ...count, lastTokenAt: START }]), [count])
  await store.recordSecretUses([{ secretId: 1, lastUsedAt: START }])
  t.equal(await store.purge('token counts', 2 * HOUR, 10), 1)
  t.equal(await store.purge('tokens', START + 1, 10), 1)
  t.equal(await store.newestTokenAt(), undefined)
  await store.ping()

  await store.recordAdminKeyUse(1, START)
  t.match(await store.findAdminKey('key anna'), { operator: { keys: [{ lastUsedAt: START }] } })
  t.equal(await on(store).addLoginCode('anna', { digest: 'code', createdAt: START, endsAt: START + 10 }), true)
  const id = await on(store).beginSession('anna', 'code', session('session'))
  t.match(await store.findSession('session'), { operator: { name: 'anna' } })
  t.equal(await on(store).endSession('anna', id as number), true)
})

t.test('Moved store: an unfinished copy does not prevent the next one; a finished one does', async (t) => {
  const { store } = await openMovable(t)
  await store.move.begin('elsewhere', START)
  await store.move.begin(PLACE, START + 1)
  const second = { name: 'OperatorError', message: /opened again in the meantime, or is being copied a second time/ }
  await t.rejects(store.move.assertBegun('elsewhere', START), second)
  await store.move.assertBegun(PLACE, START + 1)
  await store.move.abandon('elsewhere', START)
  t.equal(store.move.movedTo(), PLACE, 'each copy takes only its own mark away')
  await t.rejects(store.move.complete('elsewhere', START, { ...AUDIT, at: START + 2 }), second)
  t.equal(store.move.isCopied(), false)
  await store.move.complete(PLACE, START + 1, { ...AUDIT, at: START + 2 })
  t.equal(store.move.isCopied(), true)
  await t.rejects(store.move.begin(PLACE, START + 3), { name: 'OperatorError', message: /store moved to/ })
  t.strictSame([await store.move.reopen(AUDIT), await store.move.reopen(AUDIT)], [PLACE, undefined])
  t.equal(store.move.isCopied(), false)
  await t.rejects(store.move.assertBegun(PLACE, START + 1), { name: 'OperatorError', message: /opened again/ })
  t.equal(await on(store).setStatus('a', 'suspended'), true)
  await store.move.begin(PLACE, START + 4)
  await store.move.abandon(PLACE, START + 4)
  t.equal(store.move.movedTo(), undefined)
})

t.test('Moved store: every column of every table is copied, except tables about this store itself', async (t) => {
  const { store, file } = await openMovable(t)
  const db = connect(t, file)
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'").pluck()
  const own =
    'backups changes compatibility hand_over_links idempotency_keys login_codes moved refusals refused_requests refused_sign_in sessions'
  for (const table of (tables.all() as string[]).filter((name) => !own.split(' ').includes(name))) {
    const columns = db.prepare('SELECT name FROM pragma_table_info(?)').pluck().all(table) as string[]
    t.strictSame(Object.keys(TABLES[table as Table]?.columns ?? {}).sort(), columns.sort(), table)
    t.strictSame(await store.readPage(table as Table, [0, 0, 0].slice(0, TABLES[table as Table].keyLength), 0), [])
  }
  t.equal((await store.lastKeys()).length, 7)
})

t.test('Moved store: copying and reopening are audit events in the same transaction', async (t) => {
  const { store, file } = await openMovable(t)
  const events = async () => (await store.listAuditEvents({ subject: file, limit: 9 })).map(({ action }) => action)
  await store.move.reopen(AUDIT)
  await store.move.begin(PLACE, START)
  t.strictSame(await events(), [])
  const db = connect(t, file)
  db.exec("CREATE TRIGGER refused BEFORE INSERT ON audit_events BEGIN SELECT RAISE(ABORT, 'refused'); END")
  await t.rejects(store.move.complete(PLACE, START, AUDIT), StoreUnavailable)
  await t.rejects(store.move.reopen(AUDIT), StoreUnavailable)
  t.strictSame([store.move.movedTo(), store.move.isCopied()], [PLACE, false])
  db.exec('DROP TRIGGER refused')
  await store.move.complete(PLACE, START, AUDIT)
  t.strictSame(await events(), ['database copied'])
  await store.move.reopen(AUDIT)
  await store.move.reopen(AUDIT)
  t.strictSame(await events(), ['database reopened', 'database copied'])
  const [last] = await store.listAuditEvents({ limit: 1 })
  t.match(last, { ...AUDIT.author, before: { moved_to: PLACE }, after: { moved_to: null } })
})
