import t, { type Test } from 'tap'
import { readConfig } from '../../src/config.ts'
import { openStore } from '../../src/store/open.ts'
import { noticeFiles, startReceiver } from '../support/notice.ts'
import { createCluster, createPairCluster } from '../support/postgres/nodes.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { type Credentials, register, type Server, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { until } from '../support/until.ts'

/** A server looks every quarter of a minute, and posts what it sees twice. A notice of a killed process is posted half a minute later. */
const LIMIT_MS = 180_000

async function createReceiver(t: Test) {
  const receiver = await startReceiver(t)
  const { received } = receiver
  const idsOf = (client: string) =>
    received.flatMap(({ headers, json }) =>
      (json.subject as { id?: string })?.id === client ? headers['webhook-id'] : [],
    )
  return Object.assign(receiver, { env: noticeFiles(t, receiver.url), idsOf })
}

/** Waits until the store has no notice that waits. */
async function untilPosted(url: string) {
  const store = await openStore(readConfig({ DATABASE_URL: url }).DATABASE_URL, { lockTimeout: 2000 })
  await until(async () => (await store.listNotices()).every(({ dueAt }) => dueAt === null), LIMIT_MS)
  const notices = await store.listNotices()
  await store.close()
  return notices
}

/** Often enough for a notice. Resolves to the last status. */
async function sendWrong(server: Pick<Server, 'issue'>, credentials: Credentials): Promise<number> {
  const send = () => server.issue({ ...credentials, client_secret: 'wrong' })
  return (await Promise.all([send(), send(), send()]))[2]
}

// Most of the time nothing happens.
t.jobs = 3

for (const WORKERS of ['1', '2']) {
  t.test(`Notices: kill -9 loses none, with ${WORKERS} of WORKERS`, { buffered: true }, async (t) => {
    const { env: database } = temporaryDatabase(t)
    const receiver = await createReceiver(t)
    const env = { ...database, ...receiver.env, WORKERS, OPS_ADDRESS: '127.0.0.1:0' }
    const credentials = await register(database)
    const client = credentials.client_id
    let server = await startServer(t, env)
    t.equal(await sendWrong(server, credentials), 401)
    const kill = async () => {
      server.child.kill('SIGKILL')
      await server.exited
    }
    // Before the answer, and then after it: whether it arrived is not known to the next process.
    receiver.answer = (response) => void kill().then(() => response.destroy())
    await until(() => receiver.idsOf(client).length === 1, LIMIT_MS)
    await server.exited
    receiver.answer = (response) => {
      process.kill(Number(server.child.pid), 'SIGSTOP')
      response.writeHead(200).end('ok', () => void kill())
    }
    server = await startServer(t, env)
    await until(() => receiver.idsOf(client).length === 2, LIMIT_MS)
    await server.exited
    receiver.answer = (response) => response.end()
    server = await startServer(t, env)
    await until(() => receiver.idsOf(client).length === 3, LIMIT_MS)
    t.equal(new Set(receiver.idsOf(client)).size, 1, 'it is the same notice')
    t.match(await untilPosted(database.DATABASE_URL), [{ event: 'began', attempts: 3, problem: null }])
    const metrics = await (await fetch(`${server.logged('ready')[0].ops}/metrics`)).text()
    t.match(metrics, /^token_server_oldest_notice_seconds 0$/m)
    t.match(await server.stop(), { status: 0 })
    t.notMatch(server.lines.join(), /S3CRET|K3Y/)
  })
}

const { createDatabase } = await startDatabases()

t.test('Notices: two processes on one PostgreSQL post each once', { buffered: true }, async (t) => {
  const receiver = await createReceiver(t)
  const { credentials, env, startNode } = await createCluster(t, await createDatabase())
  const nodes = [await startNode(receiver.env), await startNode(receiver.env)] as const
  await sendWrong(nodes[0].server, credentials)
  const client = credentials.client_id
  await until(() => receiver.idsOf(client).length > 0, LIMIT_MS)
  await untilPosted(env.DATABASE_URL)
  // Meanwhile each node looks again.
  await sendWrong(nodes[1].server, credentials)
  const seen = receiver.received.length
  await until(async () => (await untilPosted(env.DATABASE_URL)).some(({ at, seenAt }) => seenAt > at), LIMIT_MS)
  t.equal(receiver.idsOf(client).length, 1)
  t.equal(receiver.received.length, seen)
})

t.test('Notices: a failover of PostgreSQL loses none', { buffered: true }, async (t) => {
  const receiver = await createReceiver(t)
  const { pair, credentials, env, startNode } = await createPairCluster(t)
  const client = credentials.client_id
  receiver.answer = (response) => response.writeHead(500).end()
  const nodes = [await startNode(receiver.env), await startNode(receiver.env)] as const
  await sendWrong(nodes[0].server, credentials)
  await until(() => receiver.idsOf(client).length > 0, LIMIT_MS)
  await pair.primary.kill()
  await until(async () => (await nodes[0].issue()) === 503)
  await pair.promote()
  await nodes[0].freshToken()
  receiver.answer = (response) => response.end()
  await until(
    () => nodes.some(({ server }) => server.logged('notice delivered').some(({ matter }) => matter?.includes(client))),
    LIMIT_MS,
  )
  t.equal(new Set(receiver.idsOf(client)).size, 1)
  const [delivered, ...others] = (await untilPosted(env.DATABASE_URL)).filter(({ matter }) => matter.includes(client))
  t.match(delivered, { event: 'began', problem: null })
  t.strictSame(others, [])
})
