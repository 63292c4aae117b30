import t, { type Test } from 'tap'
import { createAdministration } from '../../src/administration/administration.ts'
import { readConfig } from '../../src/config.ts'
import { openStore } from '../../src/store/open.ts'
import { register } from '../support/register.ts'
import { startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { until } from '../support/until.ts'

const DAY = 24 * 60 * 60_000

/** A server with an admin listener and an application, and its statistics as the API shows them. */
async function start(t: Test, settings: NodeJS.ProcessEnv = {}) {
  const { env } = temporaryDatabase(t)
  const credentials = await register(env)
  const server = await startServer(t, { ...env, ADMIN_ADDRESS: '127.0.0.1:0', ...settings })
  const authorization = `Bearer ${await addAdminKey(env)}`
  const address = `${server.logged('ready')[0].admin}/admin/v1/statistics`
  const statistics = async () => (await fetch(address, { headers: { authorization } })).json()
  return { server, credentials, statistics }
}

async function addAdminKey(env: NodeJS.ProcessEnv): Promise<string> {
  const store = await openStore(readConfig(env).DATABASE_URL, { lockTimeout: 2000 })
  const author = { actor: 'tester', origin: 'command line', remoteAddress: 'machine' } as const
  const { operators } = createAdministration({ store, now: Date.now, observe: () => {}, author })
  await operators.add('viktor', 'viewer')
  const { adminKey } = await operators.addKey('viktor', DAY)
  await store.close()
  return adminKey
}

for (const WORKERS of ['1', '2']) {
  t.test(`Statistics: requests are counted at once, with ${WORKERS} processes`, async (t) => {
    const { server, credentials, statistics } = await start(t, { WORKERS })
    t.match(await statistics(), {
      last_hour: { tokens: 0, refusals: 0, token_latency: null },
      live_tokens: { count: 0 },
    })
    for (let n = 0; n < 4; n++) t.equal((await server.token(credentials)).status, 200)
    t.equal((await server.token({ ...credentials, client_secret: 'wrong' })).status, 401)
    const { body } = await server.token(credentials)
    const headers = { authorization: `Bearer ${body.access_token}` }
    t.equal((await fetch(`${server.address}/v1/oauth/verify`, { headers })).status, 200)
    await until(async () => {
      const { last_minute: done } = await statistics()
      return done.tokens === 5 && done.refusals === 1 && done.active_checks === 1
    })
    await until(async () => (await statistics()).live_tokens.count === 5)
    await until(async () => (await statistics()).workers.each.length === Number(WORKERS))
    t.match(await statistics(), {
      last_hour: { tokens: 5, token_latency: { p99_seconds: Number } },
      minutes: { length: 61 },
      refusals: [{ kind: 'authentication', reason: 'wrong secret', count: 1 }],
      workers: { expected: Number(WORKERS), serving: Number(WORKERS), each: [{ worker: 1, resident_bytes: Number }] },
      store: { kind: 'sqlite', is_up: true },
    })
  })
}

t.test('Statistics: the counts of a worker survive when it is killed', async (t) => {
  const { server, credentials, statistics } = await start(t, { WORKERS: '2' })
  for (let n = 0; n < 6; n++) await server.token(credentials)
  await until(async () => (await statistics()).last_hour.tokens === 6)
  process.kill(server.logged('token issued')[0].pid, 'SIGKILL')
  await until(async () => (await statistics()).workers.serving === 1)
  t.equal((await statistics()).last_hour.tokens, 6)
  await until(async () => (await statistics()).workers.serving === 2)
  await server.token(credentials)
  await until(async () => (await statistics()).last_hour.tokens === 7)
})
