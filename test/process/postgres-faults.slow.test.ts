import pg from 'pg'
import t, { type Test } from 'tap'
import { createFallible } from '../support/postgres/fallible.ts'
import type { TestNode } from '../support/postgres/nodes.ts'
import { until } from '../support/until.ts'

/** Two seconds, and one after it is back, is what is promised; tests may run on a slow machine. */
const SOON_MS = 5000

/** Of one process: three in use, and some that it connects with or that the server has not noticed are gone. */
const A_HANDFUL = 8

type World = Awaited<ReturnType<typeof createFallible>>

interface Fault {
  name: string
  begin: (world: World) => unknown
  end: (world: World) => unknown
  /** Where the superuser still gets in, to count connections. */
  isReachable?: true
}

const FAULTS: Fault[] = [
  { name: 'that is killed', begin: ({ postgres }) => postgres.kill(), end: ({ postgres }) => postgres.start() },
  {
    name: 'that is shut down',
    begin: ({ postgres }) => postgres.kill('SIGINT'),
    end: ({ postgres }) => postgres.start(),
  },
  { name: 'that hangs', begin: ({ postgres }) => postgres.suspend(), end: ({ postgres }) => postgres.resume() },
  {
    name: 'behind a network that drops packets',
    begin: ({ network }) => network.swallow(),
    end: ({ network }) => network.heal(),
    isReachable: true,
  },
  {
    name: 'whose answers are lost',
    begin: ({ network }) => network.swallowAnswers(),
    end: ({ network }) => network.heal(),
    isReachable: true,
  },
  {
    name: 'that refuses connections',
    begin: ({ network }) => network.refuse(),
    end: ({ network }) => network.heal(),
    isReachable: true,
  },
  {
    name: 'that is out of connections',
    async begin({ postgres, role, terminate }) {
      await postgres.query(`ALTER ROLE ${role} CONNECTION LIMIT 0`)
      await terminate()
    },
    end: ({ postgres, role }) => postgres.query(`ALTER ROLE ${role} CONNECTION LIMIT -1`),
    isReachable: true,
  },
  {
    name: 'that has room for one connection only',
    async begin({ postgres, role, terminate }) {
      await postgres.query(`ALTER ROLE ${role} CONNECTION LIMIT 1`)
      await terminate()
    },
    end: ({ postgres, role }) => postgres.query(`ALTER ROLE ${role} CONNECTION LIMIT -1`),
    isReachable: true,
  },
  {
    name: 'that has become read-only',
    async begin({ postgres, node }) {
      await postgres.query('ALTER SYSTEM SET default_transaction_read_only = on')
      await postgres.query('SELECT pg_reload_conf()')
      await until(async () => (await node.issue()) === 503)
    },
    async end({ postgres }) {
      await postgres.query('ALTER SYSTEM RESET default_transaction_read_only')
      await postgres.query('SELECT pg_reload_conf()')
    },
    isReachable: true,
  },
  {
    name: 'that no longer keeps what it commits',
    async begin({ postgres, role, terminate }) {
      await postgres.query(`ALTER ROLE ${role} SET synchronous_commit = off`)
      await terminate()
    },
    end: ({ postgres, role }) => postgres.query(`ALTER ROLE ${role} RESET synchronous_commit`),
    isReachable: true,
  },
]

// Most of the time nothing happens.
t.jobs = 4
for (const { name, begin, end, isReachable } of FAULTS) {
  const rule = 'requests get 503 soon, with few connections, and it recovers by itself'
  t.test(`A database ${name}: ${rule}`, { buffered: true }, async (t) => {
    const world = await createFallible(t)
    const { node, token, connections, password } = world
    await begin(world)
    const isOver = Date.now() + 2500
    while (Date.now() < isOver) {
      const sent = Date.now()
      t.same(await statuses(node, token), { issue: 503, verify: 503, ready: 503, live: 200 })
      t.ok(Date.now() - sent < SOON_MS)
      if (isReachable) t.ok((await connections()) <= A_HANDFUL, `${await connections()} connections`)
    }
    await end(world)
    const back = Date.now()
    await until(async () => (await node.ready()) === 200)
    t.ok(Date.now() - back < SOON_MS, 'soon after the database')
    await node.freshToken()
    t.equal(await node.verdict(token), 200)
    await until(async () => (await connections()) <= 3)
    t.notOk(node.server.lines.join().includes(password), 'no secret is in its log')
    node.server.child.kill('SIGTERM')
    t.match(await node.server.exited, { status: 0 })
  })
}

/** What it answers to requests that come at once. */
async function statuses(node: TestNode, token: string) {
  const [issue, verify, ready, live] = await Promise.all([node.issue(), node.verify(token), node.ready(), node.live()])
  return { issue, verify, ready, live }
}

t.test('A database that ends single connections: nothing but 503 is seen of it, and not for long', async (t) => {
  const { node, token, postgres, role } = await createFallible(t)
  const seen = new Set<number>()
  let isOver = false
  const load = Array.from({ length: 4 }, async () => {
    while (!isOver) for (const status of [await node.issue(), await node.verify(token)]) seen.add(status)
  })
  for (let n = 0; n < 12; n++) {
    const [backend] = await postgres.query(
      'SELECT pid FROM pg_stat_activity WHERE usename = $1 ORDER BY backend_start OFFSET $2 LIMIT 1',
      [role, n % 3],
    )
    if (backend) await postgres.query('SELECT pg_terminate_backend($1)', [backend.pid])
    await until(async () => (await node.ready()) === 200)
  }
  isOver = true
  await Promise.all(load)
  t.ok(seen.has(200))
  for (const status of seen) t.ok([200, 503].includes(status), String(status))
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
  await client.query('BEGIN')
  await client.query('LOCK TABLE tokens IN SHARE MODE')
  return () => client.query('ROLLBACK')
}

async function waitingInserts(query: World['query']): Promise<number> {
  const waiting = await query("SELECT FROM pg_locks WHERE relation = 'tokens'::regclass AND mode = 'RowExclusiveLock'")
  return waiting.length
}
