import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t from 'tap'
import { firstTokenIdAt, mintToken } from '../../src/domain/token.ts'
import { createIssuer } from '../../src/issuer/issuer.ts'
import { purge } from '../../src/issuer/purge.ts'
import { startPurgeLoop } from '../../src/server/purge-loop.ts'
import { failures } from '../support/failures.ts'
import { keyOf } from '../support/keys.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorld, START } from '../support/world.ts'

const HOUR = 3_600_000

t.test('RFC 7009 §2.2: for a token that cannot be one nothing happens, and the log names none', async (t) => {
  const { post, token, credentials, lines, app } = await createWorld(t)
  const accessToken = await token()
  for (const text of ['x', accessToken.slice(1), `${accessToken}A`, `${accessToken}\n`]) {
    const answer = await post({ ...credentials, token: text }, {}, '/v1/oauth/revoke')
    t.strictSame([answer.statusCode, answer.body], [200, ''])
    const line = JSON.parse(lines.at(-1) as string)
    t.equal(line.client_id, credentials.client_id)
    t.notOk('token_id' in line)
  }
  const verified = await app.inject({ url: '/v1/oauth/verify', headers: { authorization: `Bearer ${accessToken}` } })
  t.equal(verified.statusCode, 200)
})

t.test('Purge: of the first millisecond that is not expired, not even the smallest id is taken', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const { store, clock } = await createWorld(t, { databaseUrl: `sqlite:${file}` })
  const db = new Database(file)
  t.teardown(() => db.close())
  const idsLeft = () => db.prepare('SELECT id FROM tokens ORDER BY id').pluck().all()

  const smallest = { ...mintToken(keyOf(1), START).stored, id: firstTokenIdAt(START) }
  const older = mintToken(keyOf(1), START - 1).stored
  await store.addToken(smallest)
  await store.addToken(older)
  clock.time = START + HOUR - 1
  await purge({ store, now: () => clock.time, observe() {} })
  t.strictSame(idsLeft(), [smallest.id])
})

t.test('Purge: it is stopped when the step that was under way is done', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const { store, clock } = await createWorld(t, { databaseUrl: `sqlite:${file}` })
  await store.addToken(mintToken(keyOf(1), START).stored)
  clock.time = START + HOUR
  const db = new Database(file)
  t.teardown(() => db.close())

  db.exec('BEGIN IMMEDIATE')
  const loop = startPurgeLoop({
    store,
    now: () => clock.time,
    monotonic: () => 0,
    observe: ({ type }) => t.equal(type, 'tokens purged'),
  })
  const stopped = loop.stop()
  await sleep(50)
  db.exec('COMMIT')
  await stopped
  t.equal(db.prepare('SELECT count(*) FROM tokens').pluck().get(), 0)
})

t.test('RFC 6749 §5.1: expires_in is what is left when the token is on disk, never more than it has', async (t) => {
  const { store, credentials } = await createWorld(t)
  const application = await store.findApplication(credentials.client_id)
  if (!application) throw new Error('There is no application')
  let time = START
  const slow = createIssuer({ store, failures: failures(), now: () => (time += 10_000) })
  t.match(await slow.issue(application), { issuedAt: START + 10_000, expiresIn: 3589 })
  const faster = createIssuer({ store, failures: failures(), now: () => (time += 9_999) })
  t.match(await faster.issue(application), { expiresIn: 3590 })
  const never = createIssuer({ store, failures: failures(), now: () => (time += 2 * HOUR) })
  t.match(await never.issue(application), { expiresIn: 0 })
})
