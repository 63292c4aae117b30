import pg from 'pg'
import t, { type Test } from 'tap'
import { createFallible } from '../support/postgres/fallible.ts'
import type { TestNode } from '../support/postgres/nodes.ts'
import { command } from '../support/spawn.ts'
import { until } from '../support/until.ts'

/** Of one process: three in use, and some that it connects with or that the server has not noticed are gone. */
const A_HANDFUL = 8

type World = Awaited<ReturnType<typeof createFallible>>

interface Fault {
  begin: (world: World) => unknown
  end: (world: World) => unknown
  /** Where the superuser does not get in either, to count connections. */
  isUnreachable?: true
}

/** What the superuser says to begin and to end it. */
const told = (begin: string, end: string): Fault => ({
  async begin({ postgres, role, terminate }) {
    await postgres.query(begin.replace('ROLE', `ROLE ${role}`))
    await postgres.query('SELECT pg_reload_conf()')
    await terminate()
  },
  async end({ postgres, role }) {
    await postgres.query(end.replace('ROLE', `ROLE ${role}`))
    await postgres.query('SELECT pg_reload_conf()')
  },
})

const start = ({ postgres }: World) => postgres.start()
const heal = ({ network }: World) => network.heal()

const FAULTS: Record<string, Fault> = {
  'that is killed': { begin: ({ postgres }) => postgres.kill(), end: start, isUnreachable: true },
  'that is shut down': { begin: ({ postgres }) => postgres.kill('SIGINT'), end: start, isUnreachable: true },
  'that hangs': {
    begin: ({ postgres }) => postgres.suspend(),
    end: ({ postgres }) => postgres.resume(),
    isUnreachable: true,
  },
  'behind a network that drops packets': { begin: ({ network }) => network.swallow(), end: heal },
  'whose answers are lost': { begin: ({ network }) => network.swallowAnswers(), end: heal },
  'that refuses connections': { begin: ({ network }) => network.refuse(), end: heal },
  'that is out of connections': told('ALTER ROLE CONNECTION LIMIT 0', 'ALTER ROLE CONNECTION LIMIT -1'),
  'that has room for one connection only': told('ALTER ROLE CONNECTION LIMIT 1', 'ALTER ROLE CONNECTION LIMIT -1'),
  'that has become read-only': told(
    'ALTER SYSTEM SET default_transaction_read_only = on',
    'ALTER SYSTEM RESET default_transaction_read_only',
  ),
  'that no longer keeps what it commits': told(
    'ALTER ROLE SET synchronous_commit = off',
    'ALTER ROLE RESET synchronous_commit',
  ),
}

// Most of the time nothing happens.
t.jobs = 2
for (const [name, { begin, end, isUnreachable }] of Object.entries(FAULTS)) {
  t.test(`A database ${name}: 503 with few connections, and recovery by itself`, { buffered: true }, async (t) => {
    const world = await createFallible(t)
    const { node, token, connections, password } = world
    await begin(world)
    await until(async () => (await node.issue()) === 503)
    for (let n = 0; n < 4; n++) {
      t.same(await statuses(node, token), { issue: 503, verify: 503, ready: 503, live: 200 })
      if (!isUnreachable) t.ok((await connections()) <= A_HANDFUL)
    }
    await end(world)
    await until(async () => (await node.ready()) === 200)
    await node.freshToken()
    t.equal(await node.verdict(token), 200)
    await until(async () => (await connections()) <= 3)
    t.notOk(node.server.lines.join().includes(password), 'no secret is in its log')
    t.match(await node.server.stop(), { status: 0 })
  })
}

/** What it answers to requests that come at once. */
async function statuses(node: TestNode, token: string) {
  const [issue, verify, ready, live] = await Promise.all([node.issue(), node.verify(token), node.ready(), node.live()])
  return { issue, verify, ready, live }
}

for (const WORKERS of ['1', '2']) {
  t.test(`A database that hangs: a server with WORKERS=${WORKERS} ends on SIGTERM`, { buffered: true }, async (t) => {
    const { node, postgres, env } = await createFallible(t, { WORKERS })
    postgres.suspend()
    t.equal(await node.issue(), 503)
    t.match(await node.server.stop(), { status: 0 })
    t.equal(node.server.logged('stopped').length, 1)
    const said = /^PostgreSQL at 127\.0\.0\.1:\d+: .*\n$/
    t.match(await command(t, ['apps', 'list'], env), { status: 1, out: '', err: said }, 'and so does a command')
  })
}

t.test('A database that is away: a lost worker is replaced when it is back', { buffered: true }, async (t) => {
  const { node, postgres } = await createFallible(t, { WORKERS: '2' })
  await postgres.kill()
  t.equal(await node.issue(), 503)
  const [pid] = node.server.issuers()
  process.kill(pid as number, 'SIGKILL')
  await until(() => node.server.logged('worker exited unexpectedly').length > 0)
  await postgres.start()
  await until(async () => {
    await node.issue().catch(() => {})
    return node.server.issuers().some((other) => other !== pid) && node.server.logged('token issued').length > 3
  })
})

t.test('A commit whose answer is lost: 503, and what it wrote is nobody’s token', async (t) => {
  for (const how of ['cut', 'swallowed'] as const) {
    const { node, network, query, database } = await createFallible(t)
    const [{ count: before }] = await query('SELECT count(*) FROM tokens')
    // It waits on the server, so that what fails is the way back.
    const release = await lockTokens(t, database)
    const answer = node.token()
    await until(async () => (await waitingInserts(query)) === 1)
    network.swallowAnswers()
    if (how === 'cut') {
      await release()
      await until(async () => (await waitingInserts(query)) === 0)
      network.cut()
    }
    t.match(await answer, { status: 503, body: { access_token: undefined } }, how)
    await release()
    await network.heal()
    await until(async () => (await node.ready()) === 200)
    await until(async () => (await waitingInserts(query)) === 0)
    const [{ count: after }] = await query('SELECT count(*) FROM tokens')
    t.equal(Number(after), Number(before) + 1, 'it was written')
    t.equal(node.server.logged('token issued').length, 1, 'and not issued')
    t.ok(await node.freshToken())
  }
})

/** Lets every write of a token wait, until the function that it resolves to is called. */
async function lockTokens(t: Test, database: string): Promise<() => Promise<unknown>> {
  const client = new pg.Client(database)
  await client.connect()
  t.teardown(() => client.end())
  await client.query('BEGIN; LOCK TABLE tokens IN SHARE MODE')
  return () => client.query('ROLLBACK')
}

async function waitingInserts(query: World['query']): Promise<number> {
  const waiting = await query("SELECT FROM pg_locks WHERE relation = 'tokens'::regclass AND mode = 'RowExclusiveLock'")
  return waiting.length
}
