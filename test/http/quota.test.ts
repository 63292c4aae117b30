import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { refused } from '../support/refused.ts'
import { createWorldOfSuites } from '../support/suites.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorld } from '../support/world.ts'

const HOUR = 3_600_000

t.test('RFC 6585 §4: over its quota an application gets 429 until the hour of the clock ends', async (t) => {
  const { post, clock } = await createWorld(t, { tokenQuota: 2 })
  t.equal((await post()).statusCode, 200)
  clock.time += 10 * 60_000
  t.equal((await post()).statusCode, 200)
  clock.time += 10 * 60_000 + 1
  const answer = await post()
  refused(t, answer, 429, 'temporarily_unavailable', /too many tokens/i)
  t.equal(answer.headers['retry-after'], String(40 * 60), 'in whole seconds, rounded up')
  clock.time += 40 * 60_000 - 2
  t.equal((await post()).headers['retry-after'], '1')
  clock.time += 1
  t.equal((await post()).statusCode, 200)
})

t.test('Quota: it is of each application, and of nothing but tokens', async (t) => {
  const { post, credentials, administration, verify, introspect } = await createWorldOfSuites(t, { tokenQuota: 1 })
  const token = (await post()).json().access_token
  t.equal((await post()).statusCode, 429)
  t.equal((await verify(token)).statusCode, 200)
  t.equal((await introspect(token)).json().active, true)
  const other = await administration.register({ name: 'Other', developerEmail: 'a@b.example' })
  const theirs = { ...credentials, client_id: other.clientId, client_secret: other.clientSecret as string }
  t.equal((await post(theirs)).statusCode, 200)
  t.equal((await post({ ...credentials, client_secret: 'wrong' })).statusCode, 401, 'only who is authenticated has one')
  t.equal((await post({ ...credentials, token }, {}, '/v1/oauth/revoke')).statusCode, 200)
  t.equal((await verify(token)).statusCode, 401)
})

t.test('Quota: requests of the same moment share it', async (t) => {
  const { post } = await createWorld(t, { tokenQuota: 5 })
  const answers = await Promise.all(Array.from({ length: 20 }, () => post()))
  t.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 5)
  t.equal(answers.filter(({ statusCode }) => statusCode === 429).length, 15)
})

t.test('Quota: a token that could not be stored does not count', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const { post } = await createWorld(t, { tokenQuota: 1, databaseUrl: `sqlite:${file}` })
  const db = new Database(file)
  t.teardown(() => db.close())
  db.exec("CREATE TRIGGER fails BEFORE INSERT ON tokens BEGIN SELECT RAISE(ABORT, 'full'); END")
  t.equal((await post()).statusCode, 503)
  db.exec('DROP TRIGGER fails')
  t.equal((await post()).statusCode, 200)
  t.equal((await post()).statusCode, 429)
})

t.test('Quota: the log says once an hour who exceeded it, and not each refusal', async (t) => {
  const { post, credentials, lines, clock, flushUsage, flushRefusals, administration } = await createWorld(t, {
    tokenQuota: 1,
  })
  for (let n = 0; n < 5; n++) await post()
  t.strictSame(
    lines.map((line) => JSON.parse(line).msg),
    ['token issued'],
  )
  await flushRefusals()
  const [refusal] = await administration.why(credentials.client_id).then(({ refusals }) => refusals)
  t.match(refusal, { reason: 'token quota exceeded', endpoint: '/v1/oauth/accesstoken', count: 4 }, 'why counts them')
  const about = { type: 'token quota exceeded', clientId: credentials.client_id }
  t.strictSame(await flushUsage(), [{ ...about, hour: '2027-01-15T08:00:00.000Z' }])
  await post()
  t.strictSame(await flushUsage(), [])
  clock.time += HOUR
  t.equal((await post()).statusCode, 200)
  t.strictSame(await flushUsage(), [])
  await post()
  t.strictSame(await flushUsage(), [{ ...about, hour: '2027-01-15T09:00:00.000Z' }])
})
