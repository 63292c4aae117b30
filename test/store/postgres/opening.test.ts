import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { PostgresLocation } from '../../../src/domain/database-location.ts'
import { OperatorError } from '../../../src/domain/operator-error.ts'
import { backUpStore, openStore, restoreStore } from '../../../src/store/open.ts'
import { passwordFor } from '../../../src/store/postgres/password.ts'
import { AUTHOR } from '../../support/audit.ts'
import { locationOf } from '../../support/postgres/location.ts'
import { startDatabases } from '../../support/postgres/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const { createEmptyDatabase, query } = await startDatabases()

/** Where a new database is. */
async function newLocation(change: Partial<PostgresLocation> = {}) {
  return { ...locationOf(await createEmptyDatabase()), ...change }
}

const open = (location: PostgresLocation, options = {}) => openStore(location, { lockTimeout: 1000, ...options })

/** Opens and closes a store. */
async function tryToOpen(location: PostgresLocation): Promise<void> {
  await (await open(location)).close()
}

/** The rest of a test has this PGPASSFILE in its environment. */
function withPassfile(t: Test, file: string): void {
  process.env.PGPASSFILE = file
  t.teardown(() => delete process.env.PGPASSFILE)
}

t.test('PostgreSQL: the password comes from a file, the URL, or PGPASSFILE, and the file is read again', async (t) => {
  const location = await newLocation()
  const password = location.password as string
  const file = join(temporaryFolder(t), 'password')
  writeFileSync(file, `${password}\n`)
  await tryToOpen({ ...location, password: 'wrong', passwordFile: file })
  await tryToOpen(location)

  const passfile = join(temporaryFolder(t), 'pgpass')
  writeFileSync(passfile, `*:*:*:${location.user}:${password}\n`, { mode: 0o600 })
  withPassfile(t, passfile)
  const { password: _, ...withoutPassword } = location
  await tryToOpen({ ...withoutPassword, password: undefined })

  chmodSync(passfile, 0o644)
  await t.rejects(tryToOpen({ ...withoutPassword, password: undefined }), {
    name: 'OperatorError',
    message: /PGPASSFILE is not used: .*group or world access/,
  })
})

t.test('PostgreSQL: a wrong password, role or database is said at once, with no secret in it', async (t) => {
  const location = await newLocation()
  const wrong: [change: Partial<PostgresLocation>, message: RegExp][] = [
    [{ password: 'hunter2' }, /28P01, password authentication failed .* \(look at DATABASE_PASSWORD_FILE/],
    [{ password: undefined }, /asks for a password, and there is none \(look at DATABASE_PASSWORD_FILE/],
    [{ database: 'nowhere' }, /3D000, database "nowhere" does not exist \(create the database\)/],
    [{ passwordFile: '/nowhere/secret' }, /DATABASE_PASSWORD_FILE, \/nowhere\/secret, cannot be read: ENOENT/],
  ]
  for (const [change, message] of wrong) {
    const error = await tryToOpen({ ...location, ...change }).catch((error: Error) => error)
    t.match((error as Error).message, message)
    t.notMatch((error as Error).message, new RegExp(`hunter2|${location.password}`))
  }
})

t.test('PostgreSQL: a server that does not keep what it commits is refused', async (t) => {
  for (const synchronousCommit of ['off', 'local']) {
    const location = await newLocation()
    await query(`ALTER ROLE ${location.user} SET synchronous_commit = ${synchronousCommit}`)
    await t.rejects(tryToOpen(location), {
      name: 'OperatorError',
      message: new RegExp(`synchronous_commit is ${synchronousCommit} for this role or database`),
    })
  }
  const location = await newLocation()
  const database = `${location.database}_latin1`
  await query(`CREATE DATABASE ${database} OWNER ${location.user} ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'`)
  await t.rejects(tryToOpen({ ...location, database }), { name: 'OperatorError', message: /encoding LATIN1/ })
})

t.test("PostgreSQL: another program's database is left alone, and an empty one no store by mistake", async (t) => {
  const location = await newLocation()
  await t.rejects(open(location, { create: false }), {
    name: 'OperatorError',
    message: /^The database postgres:\S+ is empty\. /,
  })
  t.strictSame(await query("SELECT FROM pg_tables WHERE schemaname = 'public'", location.database), [])
  await query('CREATE TABLE theirs (id integer)', location.database)
  for (const create of [true, false]) {
    const refusal = { name: 'OperatorError', message: /tables of another program/ }
    await t.rejects(open(location, { create }), refusal)
  }
  await query('DROP TABLE theirs', location.database)
  const store = await open(location)
  t.match(store, {
    database: `postgres://127.0.0.1:${location.hosts[0]?.port}/${location.database}`,
    migrated: { from: 0 },
  })
  await store.close()
  const again = await open(location, { create: false })
  t.equal(again.migrated.from, again.migrated.to)
  await again.close()
})

t.test('PostgreSQL: backup and restore are left to its own tools', async (t) => {
  const location = await newLocation()
  await t.rejects(backUpStore(location, '-', { withoutTokens: false, now: Date.now }), OperatorError)
  await t.rejects(restoreStore(location, '-', { revokeAllTokens: false, now: Date.now, author: AUTHOR }), OperatorError)
})

t.test('PostgreSQL with TLS: a server without it is refused, and an unreadable certificate', async (t) => {
  const location = await newLocation()
  await t.rejects(tryToOpen({ ...location, tls: { rootCertificateFile: undefined } }), /does not support SSL/)
  await t.rejects(
    tryToOpen({ ...location, tls: { rootCertificateFile: '/nowhere' } }),
    /file of sslrootcert, \/nowhere, cannot be read: ENOENT/,
  )
  const file = join(temporaryFolder(t), 'ca.pem')
  writeFileSync(file, 'nothing')
  await t.rejects(tryToOpen({ ...location, tls: { rootCertificateFile: file } }), /does not support SSL/)
})

t.test('Password: a PGPASSFILE that others may read is refused for every host, also for several at once', async (t) => {
  const file = join(temporaryFolder(t), 'pgpass')
  writeFileSync(file, '*:*:*:token_server:password\n', { mode: 0o644 })
  withPassfile(t, file)
  const location = locationOf('postgres://token_server@a,b,c/d')
  const message = /^PGPASSFILE is not used: WARNING: [^\n]*group or world access[^\n]*$/
  const asked = location.hosts.map((host) => t.rejects(passwordFor(location, host), { name: 'OperatorError', message }))
  await Promise.all(asked)
})
