import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, statSync } from 'node:fs'
import Database from 'better-sqlite3'
import t from 'tap'
import { readConfig } from '../../src/config.ts'
import { parseToken } from '../../src/domain/token.ts'
import { openStore } from '../../src/store/open.ts'
import { isUnsound } from '../../src/store/sqlite/files.ts'
import { createFaultyDisk } from '../support/faulty-disk.ts'
import { freePort } from '../support/free-port.ts'
import { command, MAIN, register, start, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { until } from '../support/until.ts'

t.test('Durability: after kill -9 under load every token that a client received is in the store', async (t) => {
  const { env } = temporaryDatabase(t)
  const credentials = await register(env)
  const received: string[] = []
  for (let round = 1; round <= 3; round++) {
    const server = await startServer(t, env)
    const clients = Array.from({ length: 16 }, async () => {
      for (;;) received.push((await server.token(credentials)).body.access_token as string)
    })
    await until(() => received.length >= round * 200)
    const cutOff = Promise.allSettled(clients)
    t.match(await server.stop('SIGKILL'), { signal: 'SIGKILL' })
    await cutOff
  }
  const server = await startServer(t, env)
  t.equal(await server.issue(credentials), 200)
  const store = await openStore(readConfig(env).DATABASE_URL, { lockTimeout: 1000 })
  t.teardown(() => store.close())
  const stored = await Promise.all(received.map((token) => store.findToken(parseToken(token)?.id as Buffer)))
  t.equal(stored.filter((token) => token === undefined).length, 0, `of ${received.length}`)
})

t.test('Failed fsync: of several workers all refuse, and a new one does not start beside them', async (t) => {
  const { env, file, credentials, fail, inTheFile } = await createFaultyDisk(t)
  const server = await startServer(t, { ...env, WORKERS: '2' })
  const isRefused = async (times: number) => {
    for (let n = 0; n < times; n++) t.equal(await server.issue(credentials), 503)
  }
  for (let n = 0; n < 20; n++) t.equal(await server.issue(credentials), 200)
  fail()
  await isRefused(5)
  server.child.kill('SIGHUP')
  await until(() => server.logged('rolling restart failed').length === 1)
  await isRefused(4)
  await server.stop()
  t.ok(isUnsound(file))
  await startServer(t, env)
  t.ok(inTheFile() >= 20)
})

t.test('Failed fsync: a command whose own fsync failed makes no checkpoint, even if it only read', async (t) => {
  const { env, file, fail, credentials } = await createFaultyDisk(t)
  const server = await startServer(t, env)
  t.equal(await server.issue(credentials), 200)
  await server.stop('SIGKILL')
  fail()
  t.match(await command(t, ['applications', 'list'], env), { status: 0, out: credentials.client_id })
  t.ok(isUnsound(file), 'the mark is still there, and so is the log')

  const change = (action: string) => command(t, ['applications', action, credentials.client_id], env)
  t.match(await change('suspend'), { status: 0 })
  t.notOk(existsSync(`${file}-wal`))
  fail()
  t.match(await change('resume'), { status: 1, err: /^fsync failed; / })
  t.ok(isUnsound(file))
  t.match(await change('resume'), { status: 0 })
})

for (const WORKERS of ['1', '2']) {
  t.test(`Hanging disk: a command says so, and a server with WORKERS=${WORKERS} ends on SIGTERM`, async (t) => {
    const { env, credentials, hang } = await createFaultyDisk(t)
    const server = await startServer(t, { ...env, WORKERS })
    hang()
    t.equal(await server.issue(credentials), 503)
    t.match(await server.stop(), { status: 0 })
    t.equal(server.logged('stopped').length, 1)
    const err = /^the disk has not answered for 2 seconds; the change may have been stored nevertheless\n$/
    t.match(await command(t, ['applications', 'suspend', credentials.client_id], env), { status: 1, err })
  })
}

const DEV_FULL = { skip: !existsSync('/dev/full') && 'needs /dev/full' }

t.test('Full disk: a log that cannot be written stops neither a server nor its end', DEV_FULL, async (t) => {
  const { env } = temporaryDatabase(t)
  const credentials = await register(env)
  const PORT = String(await freePort())
  const child = start(t, ['serve'], { ...env, PORT }, { stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'] })
  const exited = once(child, 'exit')
  const url = `http://127.0.0.1:${PORT}`
  await until(async () => (await fetch(`${url}/health/live`).catch(() => undefined)) !== undefined)
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...credentials })
  const issue = async () => (await fetch(`${url}/v1/oauth/accesstoken`, { method: 'POST', body })).status
  for (let n = 0; n < 60; n++) t.equal(await issue(), 200)
  child.kill('SIGTERM')
  t.strictSame(await exited, [0, null])
})

const PRLIMIT = { skip: process.platform !== 'linux' && 'needs prlimit' }

t.test('Full disk: 503, no token that is not stored, and the server recovers with the space', PRLIMIT, async (t) => {
  const { env, file } = temporaryDatabase(t)
  const credentials = await register(env)
  // Without NODE_OPTIONS, for tap's own hook would take the limit of a file, 96 KiB, for a fatal signal.
  const limited = ['-c', 'unset NODE_OPTIONS; ulimit -S -f 96; exec "$0" "$@"', process.execPath, MAIN, 'serve']
  const settings = { PORT: '0', OPS_ADDRESS: '127.0.0.1:0' }
  const child = spawn('bash', limited, { env: { ...process.env, ...env, ...settings }, stdio: 'pipe' })
  t.teardown(() => child.kill('SIGKILL'))
  const server = await startServer(t, env, child)

  // The write-ahead log reaches the limit after some tokens.
  let issued = -1
  let answer: Awaited<ReturnType<typeof server.token>>
  let last = ''
  do {
    issued++
    answer = await server.token(credentials)
    last = answer.body.access_token ?? last
  } while (answer.status === 200 && issued < 1000)
  t.match(answer, { status: 503, body: { error: 'temporarily_unavailable' } })
  t.ok(issued > 0)
  t.ok(statSync(`${file}-wal`).size <= 96 * 1024)
  const other = new Database(file, { readonly: true })
  t.equal(other.prepare('SELECT count(*) FROM tokens').pluck().get(), issued)
  other.close()
  t.equal(await server.issue({ ...credentials, client_secret: 'x' }), 401)
  for (let n = 0; n < 5; n++) t.equal(await server.issue(credentials), 503)
  const isReady = async () => (await server.statusOf('/health/ready')) === 200
  // The trial write of the health check is smaller than a token's, and may still fit.
  await until(async () => (await server.issue(credentials)) === 503 && !(await isReady()))
  t.equal(await server.statusOf('/v1/oauth/verify', last), 200)
  const readiness = await (await fetch(`${server.logged('ready')[0].ops}/health/ready`)).json()
  const works = { checks: 'ok', issuing: 'unavailable', changes: 'unavailable', sign_in: 'unavailable' }
  t.match(readiness, { status: 'unavailable', ...works, problem: /^The database \/.* answered SQLITE_.*\.$/ })

  await once(spawn('prlimit', ['--pid', String(child.pid), '--fsize=unlimited']), 'exit')
  t.equal(await isReady(), true, 'by itself')
  t.equal(await server.issue(credentials), 200)
  await server.stop()
  const [failure, ...others] = server.logged('request failed')
  t.match(failure, { level: 'error', reason: 'store unavailable', err: { stack: /at / } })
  t.strictSame(others, [], 'the others are counted')
  t.match(server.logged('request failures repeated'), [{ reason: 'store unavailable', count: Number }])
})
