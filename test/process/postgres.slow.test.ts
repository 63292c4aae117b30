import t from 'tap'
import { startLoad } from '../support/load.ts'
import { holdOpen } from '../support/postgres/databases.ts'
import { createFallible } from '../support/postgres/fallible.ts'
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

/** What the superuser alters to begin it, and to end it. */
const altered = (begin: string, end: string): Fault => {
  const alter = async ({ postgres, role }: World, what: string) => {
    await postgres.query(`ALTER ${what.replace('ROLE', `ROLE ${role}`)}`)
    await postgres.query('SELECT pg_reload_conf()')
  }
  return {
    async begin(world) {
      await alter(world, begin)
      await world.terminate()
    },
    end: (world) => alter(world, end),
  }
}

const start = ({ postgres }: World) => postgres.start()
const resume = ({ postgres }: World) => postgres.resume()
const heal = ({ network }: World) => network.heal()

const READ_ONLY = 'default_transaction_read_only'

const FAULTS: Record<string, Fault> = {
  'that is killed': { begin: ({ postgres }) => postgres.kill(), end: start, isUnreachable: true },
  'that is shut down': { begin: ({ postgres }) => postgres.kill('SIGINT'), end: start, isUnreachable: true },
  'that hangs': { begin: ({ postgres }) => postgres.suspend(), end: resume, isUnreachable: true },
  'behind a network that drops packets': { begin: ({ network }) => network.swallow(), end: heal },
  'whose answers are lost': { begin: ({ network }) => network.swallowAnswers(), end: heal },
  'that refuses connections': { begin: ({ network }) => network.refuse(), end: heal },
  'that is out of connections': altered('ROLE CONNECTION LIMIT 0', 'ROLE CONNECTION LIMIT -1'),
  'that has room for one connection only': altered('ROLE CONNECTION LIMIT 1', 'ROLE CONNECTION LIMIT -1'),
  'that has become read-only': altered(`SYSTEM SET ${READ_ONLY} = on`, `SYSTEM RESET ${READ_ONLY}`),
  'that no longer keeps what it commits': altered('ROLE SET synchronous_commit = off', 'ROLE RESET synchronous_commit'),
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
      const answers = [node.issue(), node.verify(token), node.ready(), node.live()]
      t.same(await Promise.all(answers), [503, 503, 503, 200])
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

t.test('A database that loses its connections: at most some 503', { buffered: true }, async (t) => {
  const { node, token, terminate } = await createFallible(t)
  const load = startLoad((client) => (client % 2 ? node.issue() : node.verify(token)))
  for (let n = 0; n < 3; n++) {
    t.ok((await terminate()).length > 0)
    await until(async () => (await node.ready()) === 200 && (await node.issue()) === 200)
  }
  const others = (await load.stop()).filter((status) => status !== 503)
  t.strictSame(others, [200])
  t.equal(await node.verdict(token), 200)
})

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
    const waiting = "SELECT FROM pg_locks WHERE relation = 'tokens'::regclass AND mode = 'RowExclusiveLock'"
    const insertsWait = (count: number) => until(async () => (await query(waiting)).length === count)
    const countTokens = async () =>
      Number((await query('SELECT count(*) FROM tokens WHERE application_id <> 0'))[0].count)
    const before = await countTokens()
    // It waits on the server, so that what fails is the way back.
    const release = await holdOpen(t, database, 'LOCK TABLE tokens IN SHARE MODE')
    const answer = node.token()
    await insertsWait(1)
    network.swallowAnswers()
    if (how === 'cut') {
      await release()
      await insertsWait(0)
      network.cut()
    }
    t.match(await answer, { status: 503, body: { access_token: undefined } }, how)
    if (how === 'swallowed') await release()
    await network.heal()
    await until(async () => (await node.ready()) === 200)
    await insertsWait(0)
    t.equal(await countTokens(), before + 1, 'it was written')
    t.ok(await node.freshToken())
    await until(() => node.server.logged('token issued').length >= 2)
    t.equal(node.server.logged('token issued').length, 2, 'and not issued')
  }
})
