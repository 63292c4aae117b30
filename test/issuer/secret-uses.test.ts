import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { createWorldOfSuites } from '../support/suites.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { START } from '../support/world.ts'

t.test('Secrets: when each was last used is known, of applications and of suites', async (t) => {
  const { administration, credentials, post, token, introspect, clock, flushUsage } = await createWorldOfSuites(t)
  const id = credentials.client_id
  const { clientSecret } = await administration.rotateSecret(id, 1000)
  const uses = async (owner: string) => (await administration.listSecrets(owner)).map(({ lastUsedAt }) => lastUsedAt)

  await token()
  await flushUsage()
  t.strictSame(await uses(id), [START, undefined])
  clock.time += 500
  const fresh = { ...credentials, client_secret: clientSecret }
  await post({ ...fresh, token: 'x' }, {}, '/v1/oauth/revoke')
  clock.time += 500
  t.equal((await post({ ...credentials })).statusCode, 401, 'a use is what is accepted')
  await introspect('x')
  t.strictSame(await uses(id), [START, undefined], 'it is told once a minute')
  await flushUsage()
  t.strictSame(await uses(id), [START, START + 500])
  t.strictSame(await uses('store'), [START + 1000])
  t.strictSame(await uses('product-information'), [undefined])
  t.equal((await administration.showSuite('store')).secrets[0]?.lastUsedAt, START + 1000)
  t.match(await administration.show(id), { lastTokenAt: START, secrets: [{ lastUsedAt: START }, {}] })
})

t.test('Secrets: a last use that could not be stored is stored later', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const world = await createWorldOfSuites(t, { databaseUrl: `sqlite:${file}` })
  const { administration, credentials, token, introspect, clock, flushUsage } = world
  const db = new Database(file)
  t.teardown(() => db.close())
  await token()
  await introspect('x')
  db.exec("CREATE TRIGGER fails BEFORE INSERT ON secret_uses BEGIN SELECT RAISE(ABORT, 'full'); END")
  const flushed = t.rejects(flushUsage(), { name: 'StoreUnavailable' })
  clock.time += 1000
  await token()
  await flushed
  db.exec('DROP TRIGGER fails')
  await flushUsage()
  const [secret] = await administration.listSecrets(credentials.client_id)
  t.equal(secret?.lastUsedAt, START + 1000, 'the later one')
  t.equal((await administration.listSecrets('store'))[0]?.lastUsedAt, START)
})
