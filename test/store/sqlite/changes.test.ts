import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { createChangeDetector } from '../../../src/store/sqlite/changes.ts'
import { openDatabase } from '../../../src/store/sqlite/connection.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

function createDatabase(t: Test, options = {}) {
  const file = join(temporaryFolder(t), 'store.db')
  const db = openDatabase(file, (db) => db)
  const other = new Database(file)
  t.teardown(() => {
    other.close()
    db.close()
  })
  const looked: string[] = []
  const lookUp = (key: string) => {
    looked.push(key)
    return key.startsWith('nobody') ? undefined : { key }
  }
  let isUsable = true
  const assertUsable = () => {
    if (!isUsable) throw new Error('not usable')
  }
  const changes = createChangeDetector(db, { assertUsable })
  return {
    find: changes.cached('registry', lookUp, options),
    findToken: changes.cached('tokens', lookUp),
    count: changes.cachedValue('registry', () => looked.push('count')),
    refresh: changes.refresh,
    invalidate: changes.invalidate,
    breakDown: () => {
      isUsable = false
    },
    other,
    looked,
  }
}

t.test('Changes: what another process changed in the registry is looked up again, and only then', async (t) => {
  const { find, count, refresh, other, looked } = createDatabase(t)
  find('a')
  count()
  find('a')
  count()
  refresh()
  t.match(find('a'), { key: 'a' })
  t.strictSame(looked, ['a', 'count'])

  const statements = [
    `INSERT INTO applications (client_id, name, developer_email, created_at) VALUES ('b', '', '', 0)`,
    `UPDATE applications SET name = 'B'`,
    `INSERT INTO suites (suite_id, name, created_at) VALUES ('store', '', 0)`,
    `UPDATE suites SET name = 'Store'`,
    `INSERT INTO approvals (application_id, suite_id) SELECT a.id, s.id FROM applications a, suites s`,
    `UPDATE approvals SET suite_id = suite_id`,
    `DELETE FROM approvals`,
    `INSERT INTO secrets (application_id, digest, created_at) SELECT id, '', 0 FROM applications`,
    `UPDATE secrets SET ends_at = 1`,
    `DELETE FROM secrets`,
    `DELETE FROM suites`,
    `DELETE FROM applications`,
  ]
  for (const statement of statements) {
    other.exec(statement)
    refresh()
    looked.length = 0
    find('a')
    count()
    t.strictSame(looked, ['a', 'count'], statement)
  }
})

t.test('Changes: tokens that another process revoked, or deleted too early, are looked up again', async (t) => {
  const { find, findToken, refresh, other, looked } = createDatabase(t)
  const insert = other.prepare(
    `INSERT INTO tokens (id, secret_hash, application_id, issued_at) VALUES (?, x'00', 1, ?)`,
  )
  const lookedUp = () => {
    refresh()
    looked.length = 0
    findToken('a')
    find('b')
    return looked
  }
  lookedUp()
  for (const [n, issuedAt] of [Date.now(), 0].entries()) insert.run(Buffer.from([n]), issuedAt)
  t.strictSame(lookedUp(), [], 'a new token is no change')
  other.exec('DELETE FROM tokens WHERE issued_at = 0')
  t.strictSame(lookedUp(), [], 'nor is an expired one that is deleted')
  other.exec('UPDATE tokens SET revoked_at = 1')
  t.strictSame(lookedUp(), ['a'], 'a revocation is, and the registry stays cached')
  other.exec('DELETE FROM tokens')
  t.strictSame(lookedUp(), ['a'], 'and so is a token that is deleted while it is active')

  looked.length = 0
  findToken('nobody')
  findToken('nobody')
  t.strictSame(looked, ['nobody', 'nobody'], 'a token that is not there is never cached: it may be issued any moment')
})

t.test('Changes: what this process invalidates is looked up again at once', async (t) => {
  const { find, findToken, count, invalidate, looked } = createDatabase(t)
  find('a')
  findToken('a')
  count()
  looked.length = 0
  invalidate('registry')
  find('a')
  findToken('a')
  count()
  t.strictSame(looked, ['a', 'count'])
  looked.length = 0
  invalidate('tokens')
  find('a')
  findToken('a')
  t.strictSame(looked, ['a'])
})

t.test('Changes: the capacity of a cache can be set', async (t) => {
  const { find, looked } = createDatabase(t, { capacity: 1 })
  for (const key of ['a', 'b', 'c', 'a']) find(key)
  t.strictSame(looked, ['a', 'b', 'c', 'a'])
})

t.test('Changes: a database that cannot be used cannot be refreshed', async (t) => {
  const { refresh, breakDown } = createDatabase(t)
  t.doesNotThrow(refresh)
  breakDown()
  t.throws(refresh, { message: 'not usable' })
})
