import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type PostgresLocation, parseDatabaseUrl } from '../../../src/domain/database-location.ts'
import { OperatorError } from '../../../src/domain/operator-error.ts'
import { backUpStore, openStore, restoreStore } from '../../../src/store/open.ts'
import { AUTHOR } from '../../support/audit.ts'
import { needs } from '../../support/needs.ts'
import { query } from '../../support/postgres/databases.ts'
import { startPostgres } from '../../support/postgres/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const server = await startPostgres(t)

/** Where a new database is. */
async function newLocation(change: Partial<PostgresLocation> = {}) {
  const url = await server.createDatabase()
  return { ...(parseDatabaseUrl(url) as PostgresLocation), ...change }
}

const open = (location: PostgresLocation, options = {}) => openStore(location, { lockTimeout: 1000, ...options })

/** Opens and closes a store. */
async function tryToOpen(location: PostgresLocation): Promise<void> {
  await (await open(location)).close()
}

/** The rest of a test has these variables in its environment. */
function withEnvironment(t: Test, env: Record<string, string>): void {
  const before = { ...process.env }
  Object.assign(process.env, env)
  t.teardown(() => {
    process.env = before
  })
}

t.test('PostgreSQL: the password comes from a file, the URL, or PGPASSFILE, and the file is read again', async (t) => {
  const location = await newLocation()
  const password = location.password as string
  const file = join(temporaryFolder(t), 'password')
  writeFileSync(file, `${password}\n`)
  await tryToOpen({ ...location, password: 'wrong', passwordFile: file })
  await tryToOpen(location)

  const passfile = join(temporaryFolder(t), 'pgpass')
  writeFileSync(passfile, `*:${server.port}:*:${location.user}:${password}\n`, { mode: 0o600 })
  withEnvironment(t, { PGPASSFILE: passfile })
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

t.test('PostgreSQL: where nothing answers the start ends after some seconds, with the reason', async (t) => {
  const location = await newLocation()
  await t.rejects(tryToOpen({ ...location, hosts: [{ host: '127.0.0.1', port: 1 }] }), {
    name: 'StoreUnavailable',
    message: /PostgreSQL at 127\.0\.0\.1:1: .*ECONNREFUSED/,
  })
})

t.test('PostgreSQL: a server that does not keep what it commits is refused', async (t) => {
  for (const synchronousCommit of ['off', 'local']) {
    const location = await newLocation()
    await server.query(`ALTER ROLE ${location.user} SET synchronous_commit = ${synchronousCommit}`)
    await t.rejects(tryToOpen(location), {
      name: 'OperatorError',
      message: new RegExp(`synchronous_commit is ${synchronousCommit} for this role or database`),
    })
  }
  const location = await newLocation()
  await server.query(`CREATE DATABASE latin1 OWNER ${location.user} ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'`)
  await t.rejects(tryToOpen({ ...location, database: 'latin1' }), { name: 'OperatorError', message: /encoding LATIN1/ })
})

t.test(
  'PostgreSQL: a database of another program is left alone, and an empty one is not made a store by mistake',
  async (t) => {
    const location = await newLocation()
    const url = server.url(location.database)
    await t.rejects(open(location, { create: false }), {
      name: 'OperatorError',
      message: /^The database postgres:\S+ is empty\. /,
    })
    t.strictSame(await query(url, "SELECT 1 FROM pg_tables WHERE schemaname = 'public'"), [])
    await query(url, 'CREATE TABLE theirs (id integer)')
    for (const create of [true, false]) {
      const refusal = { name: 'OperatorError', message: /tables of another program/ }
      await t.rejects(open(location, { create }), refusal)
    }
    await query(url, 'DROP TABLE theirs')
    const store = await open(location)
    t.match(store, { database: `postgres://127.0.0.1:${server.port}/${location.database}`, migrated: { from: 0 } })
    await store.close()
    const again = await open(location, { create: false })
    t.equal(again.migrated.from, again.migrated.to)
    await again.close()
  },
)

t.test('PostgreSQL: backup and restore are left to its own tools', async (t) => {
  const location = await newLocation()
  await t.rejects(backUpStore(location, '-', { withoutTokens: false, now: Date.now }), OperatorError)
  await t.rejects(restoreStore(location, '-', { revokeAllTokens: false, now: Date.now, author: AUTHOR }), OperatorError)
})

t.test('PostgreSQL with TLS: the server has to prove who it is', { skip: needs('openssl') }, async (t) => {
  const folder = temporaryFolder(t)
  const certificate = join(folder, 'server.crt')
  makeCertificate(folder, certificate)
  const secure = await startPostgres(t)
  const { uid, gid } = statSync(secure.data)
  for (const name of ['server.crt', 'server.key']) {
    copyFileSync(join(folder, name), join(secure.data, name))
    chmodSync(join(secure.data, name), 0o600)
    chownSync(join(secure.data, name), uid, gid)
  }
  secure.configure({ ssl: 'on' })
  await secure.kill('SIGINT')
  await secure.start()
  const location = parseDatabaseUrl(await secure.createDatabase()) as PostgresLocation

  await tryToOpen({
    ...location,
    hosts: [{ host: 'localhost', port: secure.port }],
    tls: { rootCertificateFile: certificate },
  })
  const byName = { ...location, hosts: [{ host: 'localhost', port: secure.port }] }
  const store = await open({ ...byName, tls: { rootCertificateFile: certificate } })
  const [row] = await secure.query(
    "SELECT bool_and(ssl) AS all FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'token-server'",
  )
  t.equal(row.all, true)
  await store.close()
  await t.rejects(tryToOpen({ ...byName, tls: { rootCertificateFile: undefined } }), /self-signed certificate/)
  await t.rejects(tryToOpen({ ...location, tls: { rootCertificateFile: certificate } }), /IP: 127\.0\.0\.1/)
})

t.test(
  'PostgreSQL with TLS: a server that has none is refused, and so is a certificate that cannot be read',
  async (t) => {
    const location = await newLocation()
    await t.rejects(tryToOpen({ ...location, tls: { rootCertificateFile: undefined } }), /does not support SSL/)
    await t.rejects(
      tryToOpen({ ...location, tls: { rootCertificateFile: '/nowhere' } }),
      /file of sslrootcert, \/nowhere, cannot be read: ENOENT/,
    )
    const file = join(temporaryFolder(t), 'ca.pem')
    writeFileSync(file, 'nothing')
    await t.rejects(tryToOpen({ ...location, tls: { rootCertificateFile: file } }), /does not support SSL/)
  },
)

function makeCertificate(folder: string, certificate: string): void {
  const options = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost']
  const names = ['-addext', 'subjectAltName=DNS:localhost']
  const files = ['-keyout', join(folder, 'server.key'), '-out', certificate]
  execFileSync('openssl', ['req', ...options, ...names, ...files], { stdio: 'ignore' })
}
