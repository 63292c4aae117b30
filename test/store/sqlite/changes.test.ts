import t, { type Test } from 'tap'
import { createChangeDetector } from '../../../src/store/sqlite/changes.ts'
import { connect, newFile, openTables } from './databases.ts'

function createDatabase(t: Test) {
  const file = newFile(t)
  const db = openTables(t, file)
  const looked: string[] = []
  const lookUp = (key: string) => {
    looked.push(key)
    return key.startsWith('nobody') ? undefined : { key }
  }
  const state = { isUsable: true }
  const assertUsable = () => {
    if (!state.isUsable) throw new Error('not usable')
  }
  const { refresh, invalidate, cached } = createChangeDetector(db, { assertUsable })
  const find = cached('registry', lookUp)
  const findToken = cached('tokens', lookUp)
  const count = cached('registry', (_: undefined) => looked.push('count'))
  /** What is looked up again when everything is asked for. */
  const lookedUp = () => {
    looked.length = 0
    find('of the registry')
    count(undefined)
    findToken('token')
    return looked
  }
  return { find, findToken, refresh, invalidate, state, other: connect(t, file), looked, lookedUp }
}

const REGISTRY = ['of the registry', 'count']

t.test('Changes: the registry is looked up again only after another process has changed it', async (t) => {
  const { refresh, invalidate, other, lookedUp } = createDatabase(t)
  t.strictSame(lookedUp(), [...REGISTRY, 'token'])
  t.strictSame(lookedUp(), [])
  refresh()
  t.strictSame(lookedUp(), [])

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
    t.match(lookedUp(), REGISTRY, statement)
  }
  lookedUp()
  invalidate('registry')
  t.strictSame(lookedUp(), REGISTRY, 'what this process invalidates is looked up at once')
  invalidate('tokens')
  t.strictSame(lookedUp(), ['token'])
})

t.test('Changes: tokens that another process revoked, or deleted too early, are looked up again', async (t) => {
  const { findToken, refresh, other, looked, lookedUp } = createDatabase(t)
  const insert = other.prepare(
    `INSERT INTO tokens (id, secret_hash, application_id, issued_at) VALUES (?, x'00', 1, ?)`,
  )
  lookedUp()
  for (const [n, issuedAt] of [Date.now(), 0].entries()) insert.run(Buffer.from([n]), issuedAt)
  refresh()
  t.strictSame(lookedUp(), [], 'a new token is no change')
  const changes: [statement: string, looked: string[], message: string][] = [
    ['DELETE FROM tokens WHERE issued_at = 0', [], 'nor is an expired one that is deleted'],
    ['UPDATE tokens SET revoked_at = 1', ['token'], 'a revocation is, and the registry stays cached'],
    ['DELETE FROM tokens', ['token'], 'and so is a token that is deleted while it is active'],
  ]
  for (const [statement, expected, message] of changes) {
    other.exec(statement)
    refresh()
    t.strictSame(lookedUp(), expected, message)
  }
  looked.length = 0
  for (let time = 0; time < 2; time++) findToken('nobody')
  t.strictSame(looked, ['nobody', 'nobody'], 'a token that is not there is never cached: it may be issued any moment')
})

t.test('Changes: an unusable database cannot be refreshed', async (t) => {
  const { refresh, state } = createDatabase(t)
  t.doesNotThrow(refresh)
  state.isUsable = false
  t.throws(refresh, { message: 'not usable' })
})
