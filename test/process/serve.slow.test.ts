import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { processTree } from '../../lab/bench/world/proc-stat.ts'
import { createAdministration } from '../../src/administration/administration.ts'
import { readConfig } from '../../src/config.ts'
import { openStore } from '../../src/store/open.ts'
import { startLeader } from '../support/leader.ts'
import { listenHere } from '../support/listen-here.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { makeRelease } from '../support/release.ts'
import { command, MAIN, preload, register, run, runJson, start, startServer, startServing } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

t.test('Serve: it says where it listens, and ends with status 0 beside an idle connection', async (t) => {
  for (const [HOST, address, host] of [
    ['0.0.0.0', /^http:\/\/0\.0\.0\.0:\d+$/, '127.0.0.1'],
    ['::', /^http:\/\/\[::\]:\d+$/, '::1'],
    ['localhost', /^http:\/\/127\.0\.0\.1:\d+$/, '127.0.0.1'],
  ] as const) {
    const server = await startServer(t, { ...temporaryDatabase(t).env, HOST })
    t.match(server.address, address)
    const idle = connect(Number(new URL(server.address).port), host)
    await once(idle, 'connect')
    idle.on('error', () => {})
    t.strictSame(await server.stop('SIGINT'), { status: 0, signal: null })
  }
})

const most = Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'))
const skip = most < 1024 && `net.core.somaxconn is ${most}`
t.test('Serve: more than 511 clients can connect at once, while it is busy', { skip }, async (t) => {
  for (const WORKERS of ['1', '2']) {
    const { child, address } = await startServer(t, { ...temporaryDatabase(t).env, WORKERS })
    // Suspended: it accepts nothing. Its workers listen by a socket of the leader, which they do not take from.
    const processes = processTree(child.pid as number)
    for (const pid of processes) process.kill(pid, 'SIGSTOP')
    const clients = Array.from({ length: 1000 }, () => connect(Number(new URL(address).port), '127.0.0.1'))
    t.teardown(() => clients.map((client) => client.destroy()))
    await until(() => clients.every(({ connecting }) => !connecting))
    t.equal(clients.length, 1000)
    for (const pid of processes) process.kill(pid, 'SIGCONT')
  }
})

t.test('Serve: neither a single process nor a leader starts if an address is taken', async (t) => {
  const { port, address } = await listenHere(t, createServer())
  for (const [settings, message] of [
    [{ ADMIN_ADDRESS: address }, `Cannot listen on ADMIN_ADDRESS, ${address}: `],
    [{ OPS_ADDRESS: address }, `Cannot listen on OPS_ADDRESS, ${address}: `],
    [{ PORT: String(port) }, `Cannot listen on port ${port} of 127.0.0.1: `],
  ] as const) {
    for (const WORKERS of ['1', '2']) {
      const { env, folder } = temporaryDatabase(t)
      const socket = join(folder, 'admin.sock')
      await run(['migrate'], { env })
      const all = { ...env, PORT: '0', ADMIN_ADDRESS: `unix:${socket}`, WORKERS, ...settings }
      const { status, err, out } = await command(t, ['serve'], all)
      t.strictSame([status, out], [1, ''], message)
      t.match(err, message)
      t.notOk(existsSync(socket), 'no socket file is left behind')
    }
  }
})

t.test('Serve: it starts beside a process that writes, and purges when it can', async (t) => {
  const { env, file } = temporaryDatabase(t)
  await register(env)
  const other = new Database(file)
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  const server = await startServer(t, env)
  await until(() => server.messages().length === 2)
  t.match(JSON.parse(server.lines[1] as string), { level: 'warn', err: { message: /SQLITE_BUSY/ } })
  t.match(await server.stop(), { status: 0 })
})

t.test('Commands: with --json what is said of settings is JSON, of the file and of the environment', async (t) => {
  const cwd = temporaryFolder(t)
  for (const [text, ...said] of [
    [
      'WORKERZ=1\n',
      { warning: 'There is no setting WORKERZ (in .env). Did you mean WORKERS?' },
      { warning: 'There is no setting TOKENQUOTA (in the environment). Did you mean TOKEN_QUOTA?' },
      { error: 'PORT must be a number from 0 to 65535. It is "x" in the environment.' },
    ],
    ['nonsense\n', { error: 'Line 1 of .env is neither KEY=value nor a comment.' }],
  ] as const) {
    writeFileSync(join(cwd, '.env'), text)
    const { err } = await command(t, ['apps', 'list', '--json'], { TOKENQUOTA: '5', PORT: 'x' }, '', { cwd })
    t.equal(err, said.map((line) => `${JSON.stringify(line)}\n`).join(''))
  }
})

t.test('Shutdown: stopped is the last line, behind those of what was counted', async (t) => {
  for (const WORKERS of ['1', '2']) {
    const { credentials, server } = await startServing(t, { WORKERS })
    await Promise.all(Array.from({ length: 24 }, () => server.token({ ...credentials, client_secret: 'wrong' })))
    t.match(await server.stop(), { status: 0 })
    t.ok(server.logged('refusals not logged').length > 0)
    t.equal(server.messages().at(-1), 'stopped')
  }
})

t.test('Shutdown: an unexpected error is logged and ends the server with status 1', async (t) => {
  // It is thrown when the test asks for it.
  const env = preload(`process.on('SIGUSR2', () => { throw new Error('unexpected') })`)
  const server = await startServer(t, { ...temporaryDatabase(t).env, ...env })
  t.match(await server.stop('SIGUSR2'), { status: 1 })
  const last = server.lines.map((line) => JSON.parse(line)).slice(-3)
  t.match(last, [{ level: 'fatal', err: { message: 'unexpected' } }, { msg: 'stopping' }, { msg: 'stopped' }])
})

/** Starts the program, which gets a signal while it loads its first package. */
function startSignalled(t: Test, signal: NodeJS.Signals, args: string[], env: NodeJS.ProcessEnv = {}) {
  const sendIt = `
    import { registerHooks } from 'node:module'
    let isSent = false
    registerHooks({
      load(url, context, next) {
        if (!isSent && url.includes('/node_modules/commander/')) process.kill(process.pid, '${signal}')
        isSent ||= url.includes('/node_modules/commander/')
        return next(url, context)
      },
    })`
  // Without what tap adds to a process, which listens to signals itself.
  const shell = `unset NODE_OPTIONS; exec "$0" "$@"`
  const node = [process.execPath, `--import=data:text/javascript,${encodeURIComponent(sendIt)}`]
  const child = spawn('sh', ['-c', shell, ...node, MAIN, ...args], {
    env: { ...process.env, ...temporaryDatabase(t).env, PORT: '0', ...env },
  })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

t.test('Signals: one that comes while the program is loaded ends the server in order', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    const server = await startServer(t, {}, startSignalled(t, signal, ['serve', '--create']))
    t.strictSame(await server.exited, { status: 0, signal: null })
    t.match(server.logged('stopping'), [{ signal }])
    t.equal(server.messages().at(-1), 'stopped')
  }
})

t.test('Signals: with several workers SIGHUP is a rolling restart, however early it comes', async (t) => {
  const server = await startServer(t, {}, startSignalled(t, 'SIGHUP', ['serve', '--create'], { WORKERS: '2' }))
  await until(() => server.logged('restarted').length === 1)
  t.match(await server.stop(), { status: 0 })
})

t.test('Signals: a command ends of them, as programs do', async (t) => {
  const child = startSignalled(t, 'SIGTERM', ['suites', 'list'])
  t.strictSame(await once(child, 'exit'), [null, 'SIGTERM'])
  t.equal(await text(child.stdout), '')
})

t.test('Admin: the leader has the listener, which survives the loss of workers', async (t) => {
  const { server, workers } = await startLeader(t, { env: { ADMIN_ADDRESS: '127.0.0.1:0' } })
  const status = async () => (await fetch(`${server.logged('ready')[0].admin}/admin/v1/suites`)).status
  t.equal(await status(), 401)
  const [first] = await workers()
  process.kill(first, 'SIGKILL')
  await until(() => server.logged('worker exited unexpectedly').length === 1)
  t.equal(await status(), 401)
  await server.restart()
  t.equal(await status(), 401)
  t.match(await server.stop(), { status: 0 })
})

/** Makes a hand-over link. Resolves to its code. */
async function makeHandOver(env: NodeJS.ProcessEnv, clientId: string): Promise<string> {
  const store = await openStore(readConfig(env).DATABASE_URL, { lockTimeout: 1000 })
  const author = { actor: 'tester', origin: 'console', remoteAddress: 'machine' } as const
  const options = { store, now: Date.now, observe() {}, author, handOverUrl: 'http://localhost/hand-over' }
  const { link } = await createAdministration(options).handOvers.make(clientId, 0)
  await store.close()
  return new URL(link).hash.slice(1)
}

t.test('Serve: the first change works although an upgrade has removed the files of the running program', async (t) => {
  const env = { ...temporaryDatabase(t).env, PORT: '0', HANDOVER: 'on', ADMIN_ADDRESS: '127.0.0.1:0', WORKERS: '2' }
  const { client_id } = await register(env)
  const code = await makeHandOver(env, client_id)
  await runJson(['operators', 'add', 'anna', '--role', 'admin'], { env })
  const { admin_key } = await runJson(['operators', 'key', 'anna', '--expires', '1d'], { env })
  const { url } = await runJson(['console', 'anna'], { env: { ...env, ADMIN_ADDRESS: '127.0.0.1:1' } })
  const main = makeRelease(t, '98.0.0', {})
  const server = await startServer(t, {}, start(t, ['serve'], env, { main }))
  rmSync(dirname(main), { recursive: true })
  const [{ admin }] = server.logged('ready') as [{ admin: string }]
  const suite = await fetch(`${admin}/admin/v1/suites`, {
    method: 'POST',
    headers: { authorization: `Bearer ${admin_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ id: 'store', name: 'Store API' }),
  })
  t.equal(suite.status, 201, await suite.text())
  const login = { method: 'POST', body: new URLSearchParams({ code: new URL(url).hash.slice(1) }) }
  const answer = await fetch(`${admin}/login`, { ...login, headers: { origin: admin }, redirect: 'manual' })
  const cookie = String(answer.headers.get('set-cookie')).split(';')[0] as string
  t.match(await (await fetch(`${admin}/`, { headers: { cookie } })).text(), 'Nothing needs attention')
  const body = new URLSearchParams({ code })
  t.equal((await fetch(`${server.address}/hand-over`, { method: 'POST', body })).status, 200)
})

t.test('Serve: it makes a database at the default place or with --create only, and the log warns of it', async (t) => {
  const { folder, env: onFile } = temporaryDatabase(t)
  const { createEmptyDatabase } = await startDatabases()
  for (const env of [{ DATABASE_URL: await createEmptyDatabase() }, onFile]) {
    const { status, out, err } = await command(t, ['serve'], { ...env, PORT: '0' })
    t.strictSame([status, out], [1, ''])
    t.match(
      err,
      /^(There is no database at \/|The database postgres:).* with --create\. DATABASE_URL comes from the env/,
    )
    t.notMatch(err, /:\/\/[^/]*@/, 'the user and the password are not shown')
    t.strictSame(readdirSync(folder), [])
    const server = await startServer(t, env)
    const { database } = server.logged('ready')[0]
    t.match(server.logged('database created'), [{ level: 'warn', database }])
    await server.stop()
    t.strictSame((await startServer(t, env)).logged('database created'), [])
  }
  const atDefault = await startServer(t, {}, start(t, ['serve'], { PORT: '0' }, { cwd: folder }))
  t.match(atDefault.logged('database created'), [{ database: join(realpathSync(folder), 'data/token-server.db') }])
})
