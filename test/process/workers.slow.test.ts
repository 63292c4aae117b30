import { once } from 'node:events'
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freePort } from '../support/free-port.ts'
import { SERVE, spawnLeader, startLeader } from '../support/leader.ts'
import { isAlive } from '../support/postgres/processes.ts'
import { scrape } from '../support/scrape.ts'
import { type Server, start, startServer, startServing } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { until } from '../support/until.ts'

const LINUX = { skip: process.platform !== 'linux' && 'needs named pipes and /proc' }

/** A program that never listens, and says that it has begun. */
const HANGING = "import fs from 'node:fs'\nfs.writeFileSync('hanging', '')\nsetInterval(() => {}, 1000)"

/** Resolves to the lines of the log on workers that are gone, when there is one. */
async function exits(server: Server) {
  const message = 'worker exited unexpectedly'
  await until(() => server.logged(message).length > 0)
  return server.logged(message)
}

t.test('Leader: SIGTERM during the start ends it, and in order', async (t) => {
  const { child, env, folder } = await spawnLeader(t, { program: HANGING })
  const lines: string[] = []
  child.stdout.setEncoding('utf8').on('data', (text) => lines.push(text))
  const started = startServer(t, env, child)
  await until(() => existsSync(join(folder, 'hanging')))
  child.kill('SIGTERM')
  await t.rejects(started, { message: '' }, 'and has nothing to say on standard error')
  t.equal(child.exitCode, 0)
  t.match(lines.join(''), /"stopping".*\n.*"stopped"/)
})

t.test('Leader: a silent worker is replaced, and the connection it was given goes to another', LINUX, async (t) => {
  const { server, credentials, workers } = await startLeader(t, {
    timeouts: { pingInterval: 500, unansweredPings: 12 },
  })
  const [first] = await workers()
  process.kill(first, 'SIGSTOP')
  const answers = await Promise.all(Array.from({ length: 8 }, () => server.issue(credentials)))
  t.strictSame([...new Set(answers)], [200])
  t.match(await exits(server), [{ worker: first, signal: 'SIGKILL' }])
  t.match(server.logged('worker silent'), [{ level: 'error', worker: first }])
  await until(async () => (await server.issue(credentials)) === 200 && server.issuers().length === 3)

  for (const pid of server.issuers()) if (pid !== first) process.kill(pid, 'SIGSTOP')
  const issue = () => server.issue(credentials).catch(() => 'closed')
  const outcomes = new Set(await Promise.all(Array.from({ length: 4 }, issue)))
  t.ok(outcomes.isSubsetOf(new Set([200, 'closed'])), 'where there is no other worker it is closed')
  await until(async () => (await issue()) === 200)
  t.match(await server.stop(), { status: 0 })
})

t.test('Leader: what a worker writes to standard error becomes a line of the log', async (t) => {
  const program = `
    process.on('SIGUSR2', () => console.error('Careful:\\nthe "disk"'))
    process.on('SIGWINCH', () => { console.error('FATAL ERROR: the heap'); process.exit(3) })
    ${SERVE}`
  const { server, workers } = await startLeader(t, { program })
  const [worker] = await workers()
  process.kill(worker, 'SIGUSR2')
  await until(() => server.logged('worker printed').length === 1)
  t.match(server.logged('worker printed'), [{ level: 'warn', worker, text: 'Careful:\nthe "disk"' }])
  process.kill(worker, 'SIGWINCH')
  t.match(await exits(server), [{ worker, code: 3, err: { message: 'FATAL ERROR: the heap' } }])
  t.match(await server.stop(), { status: 0 })
})

t.test('Leader: where not all workers start, none is left behind', LINUX, async (t) => {
  const program = `
    import { existsSync, writeFileSync } from 'node:fs'
    if (existsSync('first')) process.exit(7)
    writeFileSync('first', String(process.pid))
    ${SERVE}`
  const { child, env, folder } = await spawnLeader(t, { program })
  await t.rejects(startServer(t, env, child), /A worker did not start: it ended with status 7\./)
  t.equal(child.exitCode, 1)
  await until(() => !isAlive(Number(readFileSync(join(folder, 'first'), 'utf8'))))
})

/** A leader that is replacing its first worker: that is killed, and its successor is stopped before it listens. */
async function loseDuringRestart(t: Test) {
  const program = `
    import { appendFileSync, existsSync, rmSync } from 'node:fs'
    appendFileSync('started', process.pid + '\\n')
    if (existsSync('hold')) {
      rmSync('hold')
      process.kill(process.pid, 'SIGSTOP')
    }
    ${SERVE}`
  const leader = await startLeader(t, { program, env: { OPS_ADDRESS: '127.0.0.1:0' } })
  const { server, folder } = leader
  const started = () => readFileSync(join(folder, 'started'), 'utf8').trim().split('\n').map(Number)
  const [first] = started() as [number]
  writeFileSync(join(folder, 'hold'), '')
  server.child.kill('SIGHUP')
  await until(() => started().length === 3)
  process.kill(first, 'SIGKILL')
  await exits(server)
  return { ...leader, started, successor: started()[2] as number, ops: server.logged('ready')[0].ops as string }
}

t.test('Leader: a worker that is lost while its successor starts gets no second one', LINUX, async (t) => {
  const { server, started, successor, ops } = await loseDuringRestart(t)
  process.kill(successor, 'SIGCONT')
  await until(() => server.logged('restarted').length === 1)
  // Another one would have started before the successor of the second worker.
  t.equal(started().length, 4)
  const labels = async () => [...(await scrape(ops)).keys()].filter((name) => name.startsWith('worker_resident'))
  await until(async () => (await labels()).length === 2)
  t.match(await labels(), [/\{worker="1"\}$/, /\{worker="2"\}$/])
  t.match(Object.fromEntries(await scrape(ops)), {
    workers: 2,
    'worker_restarts_total{reason="exited"}': 0,
    'worker_restarts_total{reason="rolling restart"}': 2,
  })
  t.match(await server.stop(), { status: 0 })
})

t.test('Leader: a worker that is lost is replaced if the successor that starts does not listen', LINUX, async (t) => {
  const { server, started, successor, ops } = await loseDuringRestart(t)
  process.kill(successor, 'SIGKILL')
  await until(() => server.logged('rolling restart failed').length === 1)
  await until(async () => (await scrape(ops)).get('workers') === 2)
  t.equal(started().length, 4)
  t.match(await server.stop(), { status: 0 })
})

t.test('Leader: workers of another release, with other metrics, count nothing for it', async (t) => {
  const metrics = async (before: string) => {
    const program = `${before}${SERVE}`
    const { server, credentials } = await startLeader(t, { program, env: { OPS_ADDRESS: '127.0.0.1:0' } })
    await server.token(credentials)
    const ops = server.logged('ready')[0].ops as string
    const found = async (name: string) => Number((await scrape(ops)).get(name))
    await until(async () => (await found('worker_resident_memory_bytes{worker="1"}')) > 0)
    // Two more reports, in which it would be counted.
    await sleep(2500)
    const counted = await found('tokens_issued_total')
    t.match(await server.stop(), { status: 0 })
    return counted
  }
  t.equal(await metrics(''), 1)
  t.equal(await metrics("process.env.TOKEN_SERVER_CATALOGUE = 'another one'\n"), 0)
})

t.test('Rolling restart: one that fails says why, the old workers go on, and the next signal works', async (t) => {
  const { server, credentials, rewrite } = await startLeader(t, { timeouts: { start: 15_000 } })
  const failures = () => server.logged('rolling restart failed')
  for (const [program, reason] of [
    ['const wrong syntax', /^A worker did not start: [\s\S]*SyntaxError/],
    ["import 'a-package-that-is-missing'", /Cannot find package 'a-package-that-is-missing'/],
    [`process.env.LOG_LEVEL = 'loud'${SERVE}`, /: LOG_LEVEL must be debug, /],
    ['process.exit(7)', /: it ended with status 7\.$/],
    ['setInterval(() => {}, 1000)', /: it was not ready after 15 seconds\.$/],
  ] as const) {
    const before = failures().length
    rewrite(program)
    server.child.kill('SIGHUP')
    await until(() => failures().length > before)
    t.match(failures().at(-1), { level: 'error', err: { message: reason } })
    t.equal(await server.issue(credentials), 200)
  }
  rewrite(SERVE)
  await server.restart()
  t.equal(await server.issue(credentials), 200)
  t.strictSame(await server.stop(), { status: 0, signal: null })
  t.equal(server.messages().at(-1), 'stopped', 'and every line is JSON')
})

t.test('Rolling restart: SIGTERM while a new worker hangs ends everything at once, and in order', async (t) => {
  const { server, rewrite, folder } = await startLeader(t)
  rewrite(HANGING)
  server.child.kill('SIGHUP')
  await until(() => existsSync(join(folder, 'hanging')))
  t.strictSame(await server.stop(), { status: 0, signal: null })
  t.strictSame(server.messages(), ['ready', 'restarting', 'stopping', 'stopped'])
})

/** Whether a process waits for something. */
const isAsleep = (pid: number) => !isAlive(pid) || /^State:\tS/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))

t.test('Rolling restart: a connection passed to a worker about to end goes to another', LINUX, async (t) => {
  const { server, credentials } = await startServing(t, { WORKERS: '2' })
  await until(async () => (await server.issue(credentials)) === 200 && server.issuers().length === 2)
  const retired = server.issuers()
  const signalRetired = (signal: NodeJS.Signals) => {
    for (const pid of retired) if (isAlive(pid)) process.kill(pid, signal)
  }
  t.teardown(() => signalRetired('SIGCONT'))

  // The leader has accepted the connections before it learns that these two take no more of them.
  signalRetired('SIGSTOP')
  await server.restart()
  server.child.kill('SIGSTOP')
  const { port } = new URL(server.address)
  const sockets = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const socket = connect(Number(port), '127.0.0.1')
      await once(socket, 'connect')
      socket.write('GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
      return socket
    }),
  )
  signalRetired('SIGCONT')
  await until(() => retired.every(isAsleep))
  server.child.kill('SIGCONT')
  t.match(await Promise.all(sockets.map((socket) => text(socket))), Array(8).fill(/^HTTP\/1\.1 200 /))
  await until(() => !retired.some(isAlive))
})

t.test('Rolling restart: signals during the start or a restart are served after it, all by one', async (t) => {
  const { env } = temporaryDatabase(t)
  const PORT = String(await freePort())
  const child = start(t, ['serve', '--create'], { ...env, PORT, WORKERS: '2' })
  const started = startServer(t, env, child)
  const hangUp = () => {
    for (let n = 0; n < 50; n++) child.kill('SIGHUP')
  }
  const isLive = () => fetch(`http://127.0.0.1:${PORT}/health/live`).catch(() => undefined)
  await until(async () => (await isLive())?.status === 200)
  hangUp()
  const server = await started
  await until(() => server.logged('restarting').length === 1)
  hangUp()
  await until(() => server.logged('restarted').length === 1)
  await until(() => server.logged('restarting').length === 2)
  await until(() => server.logged('restarted').length === 2)
  t.match(await server.stop(), { status: 0 })
  const twice = ['restarting', 'restarted', 'restarting', 'restarted']
  t.strictSame(server.messages(), ['ready', ...twice, 'stopping', 'stopped'])
})

t.test('Rolling restart: where the database is gone, no worker makes an empty one, even with --create', async (t) => {
  const { env, file } = temporaryDatabase(t)
  const server = await startServer(t, { ...env, WORKERS: '2' })
  for (const end of ['', '-wal', '-shm']) rmSync(file + end)
  server.child.kill('SIGHUP')
  await until(() => server.logged('rolling restart failed').length > 0)
  t.match(server.logged('rolling restart failed')[0].err.message, `There is no database at ${file}`)
  t.notOk(existsSync(file))
})

t.test('Rolling restart: new workers have the settings of the start, and the log says which differ', async (t) => {
  const { folder, env } = temporaryDatabase(t)
  const file = join(folder, '.env')
  writeFileSync(file, 'WORKERS=2\nPORT=0\n')
  const server = await startServer(t, {}, start(t, ['serve', '--create'], env, { cwd: folder }))
  const issuers = async () => {
    const url = `${server.address}/.well-known/oauth-authorization-server`
    const ask = async () => (await (await fetch(url, { headers: { connection: 'close' } })).json()).issuer
    return new Set(await Promise.all(Array.from({ length: 8 }, ask)))
  }
  const before = await issuers()
  t.equal(before.size, 1)
  appendFileSync(file, 'PUBLIC_URL=https://other.example\nLOG_LEVEL=loud\n')
  await server.restart()
  t.match(server.logged('settings not applied'), [{ level: 'warn', settings: ['LOG_LEVEL', 'PUBLIC_URL'] }])
  const problems = ['LOG_LEVEL must be debug, info, warn, error, fatal or silent.']
  t.match(server.logged('settings wrong'), [{ level: 'warn', problems }])
  t.strictSame(await issuers(), before)

  writeFileSync(file, 'WORKERS: 3\n')
  await server.restart()
  t.strictSame(server.logged('settings wrong')[1].problems, ['Line 1 of .env is neither KEY=value nor a comment.'])
  t.strictSame(await issuers(), before, 'and a file that is no longer right stops none')
  t.match(await server.stop(), { status: 0 })
})

const CUT_SHORT = { err: { message: /did not end within 3 seconds/ } }

for (const [what, closing, end] of [
  ['a worker that hangs is killed in time, and the end is in order', '', { status: 0, signal: null }],
  ['a store that is never closed delays the end only', 'hangs', { status: 1, signal: null }],
  ['a hung file delays the end only', 'leaves a hung file', { status: null, signal: 'SIGKILL' }],
] as const) {
  t.test(`Shutdown: ${what}`, LINUX, async (t) => {
    const { server, workers } = await startLeader(t, { closing, timeouts: { close: closing ? 3000 : 6000 } })
    const pids = await workers()
    if (!closing) process.kill(pids[0], 'SIGSTOP')
    t.strictSame(await server.stop(), end)
    if (closing) t.match(server.logged('shutdown cut short'), [CUT_SHORT])
    else t.equal(server.messages().at(-1), 'stopped')
    t.notOk(pids.some(isAlive))
  })
}

t.test('Shutdown: the port for operators is closed beside the store, not after it', LINUX, async (t) => {
  const { server } = await startLeader(t, {
    closing: 'hangs',
    timeouts: { close: 30_000 },
    env: { OPS_ADDRESS: '127.0.0.1:0' },
  })
  const live = () => fetch(`${server.logged('ready')[0].ops}/health/live`).catch(() => undefined)
  t.equal((await live())?.status, 200)
  server.child.kill('SIGTERM')
  await until(async () => (await live()) === undefined)
  t.strictSame(server.logged('shutdown cut short'), [], 'there is time left')
  t.match(await server.stop('SIGINT'), { status: 1 })
})

t.test('Shutdown: workers whose files hang end when their leader is killed', LINUX, async (t) => {
  const { server, workers } = await startLeader(t, {
    program: `import fs from 'node:fs'\nfs.open('pipe', () => {})${SERVE}`,
  })
  const pids = await workers()
  await server.stop('SIGKILL')
  await until(() => !pids.some(isAlive))
  t.pass('and they do')
})
