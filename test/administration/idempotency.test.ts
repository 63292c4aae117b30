import { createDecipheriv, hkdfSync } from 'node:crypto'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { createAdministration } from '../../src/administration/administration.ts'
import type { RepeatableCall } from '../../src/administration/idempotency.ts'
import type { Event } from '../../src/domain/events.ts'
import { generateAdminKey } from '../../src/domain/operator.ts'
import { AUTHOR } from '../support/on.ts'
import { aRegistration } from '../support/registration.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorld } from '../support/world.ts'

const HOUR = 3_600_000
const NEW = aRegistration({ name: 'Störe' })
const CREDENTIAL = generateAdminKey()

const call = (more: Partial<RepeatableCall> = {}) => ({
  idempotency: { key: 'key-1', credential: CREDENTIAL, request: 'POST /admin/v1/applications {}', ...more },
})

/** A world, and its administration as an operator makes changes. */
async function startAdministration(t: Test, databaseUrl?: string) {
  const { store, clock } = await createWorld(t, { databaseUrl })
  const events: Event[] = []
  const observe = (event: Event) => events.push(event)
  const as = (actor: string) =>
    createAdministration({ store, now: () => clock.time, observe, author: { ...AUTHOR, actor } })
  return { ...as('anna'), as, store, clock, events }
}

t.test('Idempotency: a repeated call changes nothing and gets the same answer', async (t) => {
  const { applications, suites, secrets, events } = await startAdministration(t)
  const registerSuite = () => suites.register({ suiteId: 'store', name: 'Store' }, call({ key: 'suite' }))
  t.strictSame(await registerSuite(), await registerSuite())
  const registered = await applications.register(NEW, call())
  t.match(registered.clientSecret, /^\w{40}$/)
  t.strictSame(await applications.register(NEW, call()), registered)
  const rotate = () => secrets.rotate(registered.clientId, HOUR, call({ key: 'rotate' }))
  t.strictSame(await rotate(), await rotate())
  t.equal((await secrets.list(registered.clientId)).length, 2)
  const types = events.map(({ type }) => type)
  t.strictSame(types, ['suite registered', 'application registered', 'secret rotated'])
  await applications.remove(registered.clientId)
  t.match(await applications.register(NEW, call()), { ...registered, suites: [] }, 'also after it was removed')
})

t.test('Idempotency: identical concurrent calls make one change', async (t) => {
  const { applications, store } = await startAdministration(t)
  for (const registration of [NEW, { ...NEW, clientId: 'chosen' }]) {
    const register = () => applications.register(registration, call({ key: JSON.stringify(registration) }))
    const [first, ...others] = await Promise.all([register(), register(), register(), register()])
    for (const other of others) t.strictSame(other, first)
  }
  t.equal(await store.countApplications(), 3)
})

t.test('Idempotency: a key is refused for another request, and for another login or admin key', async (t) => {
  const { applications, as, store } = await startAdministration(t)
  await applications.register(NEW, call())
  for (const other of [{ request: 'POST /admin/v1/applications {"a":1}' }, { credential: generateAdminKey() }]) {
    await t.rejects(applications.register(NEW, call(other)), {
      name: 'OperatorError',
      kind: 'idempotency key reused',
      message: /use a new one\.$/,
    })
  }
  t.equal(await store.countApplications(), 2)

  await as('bert').applications.register(NEW, call({ credential: generateAdminKey() }))
  await applications.register(NEW, call({ key: 'key-2' }))
  for (let n = 0; n < 2; n++) await applications.register(NEW)
  t.equal(await store.countApplications(), 6, 'another operator, another key, or none')
})

t.test('Idempotency: a key can be used again after a day, and after a call that was refused', async (t) => {
  const { secrets, applications, clock } = await startAdministration(t)
  const { clientId } = await applications.register({ ...NEW, clientId: 'taken' })
  const first = await secrets.rotate(clientId, HOUR, call())
  clock.time += 24 * HOUR - 1
  t.strictSame(await secrets.rotate(clientId, HOUR, call()), first)
  clock.time += 1
  t.notSame(await secrets.rotate(clientId, HOUR, call()), first)

  const register = () => applications.register({ ...NEW, clientId }, call({ key: 'key-2' }))
  await t.rejects(register(), { name: 'OperatorError', kind: 'taken id' })
  await applications.remove(clientId)
  t.match(await register(), { clientId })
})

t.test('Idempotency: the database alone cannot decrypt an answer', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const { applications, operators, suites } = await startAdministration(t, `sqlite:${file}`)
  await operators.add('anna', 'admin')
  const { adminKey } = await operators.addKey('anna', HOUR)
  await suites.register({ suiteId: 'store', name: 'Store' })
  const { clientSecret } = await applications.register(NEW, call({ credential: adminKey }))

  const db = new Database(file, { readonly: true })
  t.teardown(() => db.close())
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[]
  const values = tables.flatMap((table) => db.prepare(`SELECT * FROM ${table}`).raw().all().flat())
  const everything = values.map(String)
  for (const secret of [clientSecret as string, adminKey]) {
    t.notOk(everything.some((value) => value.includes(secret)))
    t.notOk(everything.some((value) => Buffer.from(value, 'base64url').includes(secret)))
  }

  const { digest, sealed } = db.prepare('SELECT digest, sealed FROM idempotency_keys').get() as Record<string, string>
  const bytes = Buffer.from(sealed as string, 'base64url')
  /** Decrypts it as the server does. Throws if the credential is wrong. */
  function openWith(credential: string): string {
    const key = Buffer.from(hkdfSync('sha256', credential, 'key-1', 'oauth-token-server idempotency', 32))
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
    decipher.setAAD(Buffer.from(JSON.stringify([digest, call().idempotency.request])))
    decipher.setAuthTag(bytes.subarray(12, 28))
    return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString()
  }
  t.match(JSON.parse(openWith(adminKey)), { clientSecret })
  t.ok(everything.length > 50)
  // Even if the attacker knows the idempotency key and the request.
  for (const value of everything) t.throws(() => openWith(value))
})
