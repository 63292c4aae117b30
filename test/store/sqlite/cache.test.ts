import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { createMemory } from '../../../src/store/sqlite/cache.ts'
import { openDatabase } from '../../../src/store/sqlite/connection.ts'
import { temporaryFolder } from '../../support/world.ts'

function setting(t: Test, room?: number) {
  const file = join(temporaryFolder(t), 'store.db')
  const { db } = openDatabase(file)
  const other = new Database(file)
  t.teardown(() => {
    other.close()
    db.close()
  })
  const looked: string[] = []
  const look = (key: string) => {
    looked.push(key)
    return key.startsWith('nobody') ? undefined : { key }
  }
  let inPlace = true
  const assertInPlace = () => {
    if (!inPlace) throw new Error('not in place')
  }
  const { hold, forget } = createMemory(db, { assertInPlace, ...(room && { room }) })
  const memory = {
    find: hold('registry', look),
    findToken: hold('tokens', look),
    forget,
    misplace: () => (inPlace = false),
  }
  return { memory, other, looked }
}

t.test(
  'Memory: an application is looked up once, and again when another process has changed the database',
  async (t) => {
    const { memory, other, looked } = setting(t)
    memory.find('a')
    memory.find('a')
    await nextTurn()
    t.match(memory.find('a'), { key: 'a' })
    t.strictSame(looked, ['a'])

    const changes = [
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
    for (const change of changes) {
      other.exec(change)
      await nextTurn()
      looked.length = 0
      memory.find('a')
      t.strictSame(looked, ['a'], change)
    }
  },
)

t.test('Memory: of tokens it forgets those that another process changed or took away before their time', async (t) => {
  const { memory, other, looked } = setting(t)
  const insert = other.prepare(
    `INSERT INTO tokens (id, secret_hash, application_id, issued_at) VALUES (?, x'00', 1, ?)`,
  )
  const afterwards = async () => {
    await nextTurn()
    looked.length = 0
    memory.findToken('a')
    memory.find('b')
    return looked
  }
  await afterwards()
  for (const [n, issuedAt] of [Date.now(), 0].entries()) insert.run(Buffer.from([n]), issuedAt)
  t.strictSame(await afterwards(), [], 'a new token is no change')
  other.exec('DELETE FROM tokens WHERE issued_at = 0')
  t.strictSame(await afterwards(), [], 'nor is an expired one that is deleted')
  other.exec('UPDATE tokens SET revoked_at = 1')
  t.strictSame(await afterwards(), ['a'], 'a revocation is, and the registry is kept')
  other.exec('DELETE FROM tokens')
  t.strictSame(await afterwards(), ['a'], 'and so is a token that is deleted while it lives')

  looked.length = 0
  memory.findToken('nobody')
  memory.findToken('nobody')
  t.strictSame(
    looked,
    ['nobody', 'nobody'],
    'that a token is not there is never remembered: it may be issued any moment',
  )
})

t.test(
  'Memory: what is forgotten is looked up again; that a name is not there is remembered like one that is',
  async (t) => {
    const { memory, looked } = setting(t)
    memory.find('a')
    memory.forget('registry')
    memory.find('a')
    t.equal(memory.find('nobody'), undefined)
    t.equal(memory.find('nobody'), undefined)
    t.strictSame(looked, ['a', 'a', 'nobody'])
    memory.forget('registry')
    memory.find('nobody')
    t.strictSame(looked, ['a', 'a', 'nobody', 'nobody'])
  },
)

t.test('Memory: it is bounded, and forgets what was not asked for lately', async (t) => {
  const { memory, looked } = setting(t, 2)
  for (const key of ['a', 'b', 'c', 'a', 'd', 'a', 'b']) memory.find(key)
  t.strictSame(looked, ['a', 'b', 'c', 'd', 'b'])

  for (let n = 0; n < 2001; n++) memory.find(`nobody ${n}`)
  const before = looked.length
  memory.find('nobody 2000')
  t.equal(looked.length, before)
  memory.find('nobody 0')
  t.equal(looked.length, before + 1, 'and so is the memory of names that are not there')
})

t.test('Memory: nothing is told from it when the database is not in its place any more', async (t) => {
  const { memory } = setting(t)
  memory.find('a')
  memory.misplace()
  await nextTurn()
  t.throws(() => memory.find('a'), { message: 'not in place' })
})
