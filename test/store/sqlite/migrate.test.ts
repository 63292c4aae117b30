import Database from 'better-sqlite3'
import t from 'tap'
import { mintToken } from '../../../src/domain/token.ts'
import { createIssuer } from '../../../src/issuer/issuer.ts'
import { migrate } from '../../../src/store/sqlite/migrate.ts'
import { failures } from '../../support/failures.ts'
import { folderBefore, folderOf, LATEST } from '../../support/migrations.ts'
import { keyOf, START } from '../../support/world.ts'
import { FIRST, migrationConformance } from '../conformance/migrations.ts'
import { connect, newFile, openFile, openTables } from './databases.ts'

const ORDERED_AGGREGATE = /ORDER BY [^()]*\)\s+FROM/

t.test('in SQLite', async (t) =>
  migrationConformance(t, 'sqlite', (t) => {
    const db = connect(t, ':memory:')
    async function query(text: string): Promise<unknown[]> {
      const statement = db.prepare(text)
      if (statement.reader) return statement.pluck().all()
      statement.run()
      return []
    }
    return {
      migrate: async (options) => migrate(db, options),
      query,
      schema: () => query('SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name'),
    }
  }),
)

t.test("Migrations: the next release's are accepted; a newer one without a record is refused", async (t) => {
  const db = connect(t, ':memory:')
  migrate(db)
  t.equal(db.prepare('SELECT oldest_program FROM compatibility').pluck().all().length, 1)
  db.pragma(`user_version = ${LATEST + 1}`)
  t.strictSame(migrate(db), { from: LATEST + 1, to: LATEST + 1 })

  const other = connect(t, ':memory:')
  other.pragma('user_version = 2')
  const message = /at version 2, .* up to 1: upgrade the program/
  t.throws(() => migrate(other, { folder: folderOf(t, FIRST) }), { message })
})

t.test('Migrations: an empty database stays empty if nothing may be created', async (t) => {
  const db = connect(t, ':memory:')
  t.throws(() => migrate(db, { create: false }), { name: 'OperatorError', message: /^The database .* is empty\. / })
  t.equal(db.pragma('user_version', { simple: true }), 0)
  migrate(db)
  t.strictSame(migrate(db, { create: false }), { from: LATEST, to: LATEST })
})

t.test('Migrations: SQLite before 3.44 can open the database: no aggregate has an ORDER BY inside', async (t) => {
  const views = openTables(t).prepare("SELECT sql FROM sqlite_schema WHERE type = 'view'").pluck().all() as string[]
  t.equal(views.length, 4)
  for (const sql of views) t.notMatch(sql, ORDERED_AGGREGATE)
  t.match('SELECT json_group_array(s.suite_id ORDER BY s.id)\n FROM suites s', ORDERED_AGGREGATE)
})

t.test('Migrations: what was revoked by the time of a revoke-all stays revoked, and nothing else is', async (t) => {
  const file = newFile(t)
  const db = new Database(file)
  migrate(db, { folder: folderBefore(t, 'sqlite', '_generations_usage.sql') })

  const addApplication = db.prepare(
    `INSERT INTO applications (client_id, name, developer_email, tokens_valid_from, created_at) VALUES (?, 'A', 'a@b.example', ?, 0)`,
  )
  const validFrom = { never: 0, revoked: START, 'revoked ahead of the clock': START + 100_000 }
  for (const [clientId, time] of Object.entries(validFrom)) addApplication.run(clientId, time)
  const addToken = db.prepare(
    'INSERT INTO tokens (id, secret_hash, application_id, issued_at, revoked_at) VALUES (?, ?, ?, ?, ?)',
  )
  const tokens: [application: number, issuedAt: number, revokedAt: number | null, verdict: string][] = [
    [1, START - 1, null, 'active'],
    [1, START, START + 1, 'revoked token'],
    [2, START - 1, null, 'revoked token'],
    [2, START - 1, START - 1, 'revoked token'],
    [2, START, null, 'active'],
    [3, START + 1, null, 'revoked token'],
    [3, START + 100_000, null, 'active'],
    [4, START - 1, null, 'removed application'],
  ]
  const minted = tokens.map(([application, issuedAt, revokedAt, verdict]) => {
    const { accessToken, stored } = mintToken(keyOf(application), issuedAt)
    addToken.run(stored.id, stored.secretHash, application, issuedAt, revokedAt)
    return { accessToken, id: stored.id, revokedAt, verdict }
  })
  db.close()

  const store = await openFile(t, file)
  const issuer = createIssuer({
    store,
    failures: failures(),
    observe: () => {},
    publicUrl: '',
    now: () => START + 100_000,
  })
  for (const { accessToken, id, revokedAt, verdict } of minted) {
    const checked = await issuer.check(accessToken, {})
    t.equal(checked.kind === 'active' ? 'active' : checked.reason, verdict)
    if (revokedAt !== null)
      t.equal((await store.findToken(id))?.stored.revokedAt, revokedAt, 'the first revocation stays')
  }
})
