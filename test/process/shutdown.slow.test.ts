import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { isRunning, SERVE, startLeader } from '../support/leader.ts'
import { register } from '../support/register.ts'
import { startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { until } from '../support/until.ts'

const LINUX = { skip: process.platform !== 'linux' && 'needs named pipes and /proc' }

/** A server that has a token request in flight: another process has locked its database. */
async function createBusyServer(t: Test) {
  const { env, file } = temporaryDatabase(t)
  const server = await startServer(t, env)
  const credentials = await register(env)
  const other = new Database(file)
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  const inFlight = server.token(credentials)
  // The server answers this request, on a later connection, when it has read the one before.
  t.equal((await fetch(`${server.address}/health/live`, { headers: { connection: 'close' } })).status, 200)
  return { server, credentials, other, inFlight }
}

t.test('Shutdown: a request in flight at the signal is answered, and no new connection is accepted', async (t) => {
  const { server, credentials, other, inFlight } = await createBusyServer(t)
  server.child.kill('SIGTERM')
  await until(() => server.logged('stopping').length === 1)
  await t.rejects(server.token(credentials))
  other.exec('COMMIT')
  t.equal((await inFlight).status, 200)
  t.match(await server.exited, { status: 0 })
  t.equal(other.prepare('SELECT count(*) FROM tokens').pluck().get(), 1)
})

t.test('Shutdown: a second signal ends the server at once', async (t) => {
  const { server, inFlight } = await createBusyServer(t)
  const cutOff = t.rejects(inFlight)
  server.child.kill('SIGTERM')
  await until(() => server.logged('stopping').length === 1)
  server.child.kill('SIGINT')
  t.match(await server.exited, { status: 1 })
  await cutOff
})

t.test('Shutdown: a signal that is repeated at once, as npm does with Ctrl-C, is ignored', async (t) => {
  const { server, other, inFlight } = await createBusyServer(t)
  server.child.kill('SIGINT')
  await until(() => server.logged('stopping').length === 1)
  server.child.kill('SIGINT')
  await sleep(5)
  other.exec('COMMIT')
  t.equal((await inFlight).status, 200)
  t.match(await server.exited, { status: 0 })
  t.strictSame(server.logged('shutdown cut short'), [])
})

t.test('Shutdown: stopped is the last line, behind those of what was counted', async (t) => {
  for (const WORKERS of ['1', '2']) {
    const { env } = temporaryDatabase(t)
    const credentials = await register(env)
    const server = await startServer(t, { ...env, WORKERS })
    await Promise.all(Array.from({ length: 24 }, () => server.token({ ...credentials, client_secret: 'wrong' })))
    server.child.kill('SIGTERM')
    t.match(await server.exited, { status: 0 })
    t.ok(server.logged('refusals not logged').length > 0)
    t.equal(JSON.parse(server.lines.at(-1) as string).msg, 'stopped')
  }
})

t.test('Shutdown: an idle connection does not delay it', async (t) => {
  const { env } = temporaryDatabase(t)
  const server = await startServer(t, env)
  const { hostname, port } = new URL(server.address)
  const idle = connect(Number(port), hostname)
  await once(idle, 'connect')
  idle.on('error', () => {})
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 0 })
})

t.test('Shutdown: an unexpected error is logged and ends the server with status 1', async (t) => {
  const NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=data:text/javascript,setTimeout(()=>{throw(Error('unexpected'))},1500)`
  const server = await startServer(t, { ...temporaryDatabase(t).env, NODE_OPTIONS })
  t.match(await server.exited, { status: 1 })
  const last = server.lines.map((line) => JSON.parse(line)).slice(-3)
  t.match(last, [{ level: 'fatal', err: { message: 'unexpected' } }, { msg: 'stopping' }, { msg: 'stopped' }])
})

t.test('Shutdown: a worker that hangs is killed in time, and the end is in order', LINUX, async (t) => {
  const { server, workers } = await startLeader(t, { patience: { close: 3000 } })
  const pids = await workers()
  process.kill(pids[0] as number, 'SIGSTOP')
  server.child.kill('SIGTERM')
  t.strictSame(await server.exited, { status: 0, signal: null })
  t.equal(JSON.parse(server.lines.at(-1) as string).msg, 'stopped')
  t.notOk(pids.some(isRunning))
})

t.test('Shutdown: the port for operators is closed beside the store, not after it', LINUX, async (t) => {
  const env = { OPS_ADDRESS: '127.0.0.1:0' }
  const { server } = await startLeader(t, { closing: 'hangs', env })
  const live = () => fetch(`${server.logged('ready')[0].ops}/health/live`)
  t.equal((await live()).status, 200)
  server.child.kill('SIGTERM')
  await until(() =>
    live().then(
      () => false,
      () => true,
    ),
  )
  t.strictSame(server.logged('shutdown cut short'), [], 'there is time left')
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 1 })
})

t.test('Shutdown: a store that is never closed delays the end, but does not prevent it', LINUX, async (t) => {
  const expected = {
    hangs: { status: 1, signal: null },
    'leaves a hung file': { status: null, signal: 'SIGKILL' },
  }
  for (const closing of ['hangs', 'leaves a hung file'] as const) {
    const { server, workers } = await startLeader(t, { closing, patience: { close: 3000 } })
    const pids = await workers()
    server.child.kill('SIGTERM')
    t.strictSame(await server.exited, expected[closing])
    t.match(server.logged('shutdown cut short'), [{ err: { message: /did not end within 3 seconds/ } }])
    t.notOk(pids.some(isRunning))
  }
})

t.test('Shutdown: workers whose files hang end when their leader is killed', LINUX, async (t) => {
  const program = `import fs from 'node:fs'\nfs.open('pipe', () => {})${SERVE}`
  const { server, workers } = await startLeader(t, { program })
  const pids = await workers()
  t.ok(pids.every(isRunning))
  server.child.kill('SIGKILL')
  await until(() => !pids.some(isRunning))
  t.pass('and they do')
})
