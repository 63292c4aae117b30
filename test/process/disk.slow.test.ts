import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, statSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config.ts'
import { parseToken } from '../../src/domain/token.ts'
import { openStore } from '../../src/store/open.ts'
import { isUnsound } from '../../src/store/sqlite/files.ts'
import { createFaultyDisk } from '../support/faulty-disk.ts'
import { freePort } from '../support/free-port.ts'
import { register } from '../support/register.ts'
import { command, MAIN, start, startServer } from '../support/spawn.ts'
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

const TOKENS = 20

/** A server that has issued some tokens when an fsync fails. */
async function startFailing(t: Test, { workers = 1 } = {}) {
  const disk = await createFaultyDisk(t)
  const server = await startServer(t, { ...disk.env, WORKERS: String(workers) })
  const issue = () => server.issue(disk.credentials)
  for (let n = 0; n < TOKENS; n++) t.equal(await issue(), 200)
  disk.fail()
  t.equal(await issue(), 503)
  t.ok(isUnsound(disk.file))
  return { ...disk, server, issue }
}

t.test('Failed fsync: the next server does not start beside the first, and after kill -9 it has all', async (t) => {
  const { server, env, file, credentials, inTheFile, walSize } = await startFailing(t)
  const unsound = /^The database .* cannot be opened: an fsync has failed, .* End every process that has it .*\n$/
  t.match(await command(t, ['serve'], { ...env, PORT: '0' }), { status: 1, err: unsound })
  await server.stop('SIGKILL')
  const next = await startServer(t, env)
  t.strictSame([walSize(), isUnsound(file)], [0, false])
  t.ok(inTheFile() >= TOKENS)
  t.equal(await next.issue(credentials), 200)
})

t.test('Failed fsync: after kill -9 a command brings the log to the disk', async (t) => {
  const { server, env, file, inTheFile } = await startFailing(t)
  await server.stop('SIGKILL')
  t.match(await command(t, ['applications', 'list'], env), { status: 0 })
  t.notOk(existsSync(`${file}-wal`))
  t.ok(inTheFile() >= TOKENS)
})

t.test('Failed fsync: of several workers all refuse, and a new one does not start beside them', async (t) => {
  const { server, issue, env, file, inTheFile } = await startFailing(t, { workers: 2 })
  for (let n = 0; n < 4; n++) t.equal(await issue(), 503)
  server.child.kill('SIGHUP')
  await until(() => server.logged('rolling restart failed').length === 1)
  for (let n = 0; n < 4; n++) t.equal(await issue(), 503)
  await server.stop()
  t.ok(isUnsound(file))
  await startServer(t, env)
  t.ok(inTheFile() >= TOKENS)
})

t.test("Failed fsync: a command's own failed fsync ends it at once, without a checkpoint", async (t) => {
  const { env, file, fail, credentials } = await createFaultyDisk(t)
  fail()
  const suspend = ['applications', 'suspend', credentials.client_id]
  t.match(await command(t, suspend, env), { status: 1, err: /^fsync failed; / })
  t.ok(isUnsound(file))
  t.match(await command(t, suspend, env), { status: 0 })
  t.notOk(existsSync(`${file}-wal`))
})

t.test('Failed fsync: a command that only read, and whose fsync failed, makes no checkpoint either', async (t) => {
  const { env, file, fail, credentials } = await createFaultyDisk(t)
  const server = await startServer(t, env)
  t.equal(await server.issue(credentials), 200)
  await server.stop('SIGKILL')
  fail()
  const { status, out } = await command(t, ['applications', 'list'], env)
  t.equal(status, 0)
  t.match(out, credentials.client_id)
  t.ok(isUnsound(file), 'the mark is still there, and so is the log')
})

/** A server whose files may have so many kilobytes: a disk that gets full. */
function spawnLimited(t: Test, env: NodeJS.ProcessEnv, kilobytes: number) {
  // Without NODE_OPTIONS, for tap's own hook would take the limit for a fatal signal.
  const limited = ['-c', `unset NODE_OPTIONS; ulimit -S -f ${kilobytes}; exec "$0" "$@"`]
  const child = spawn('bash', [...limited, process.execPath, MAIN, 'serve'], {
    env: { ...process.env, ...env, PORT: '0' },
    stdio: 'pipe',
  })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

t.test('Failed fsync: where the disk does not take the log, it is said, and the mark stays', async (t) => {
  const { server, env, file } = await startFailing(t)
  await server.stop('SIGKILL')
  const child = spawnLimited(t, env, 16)
  const [err] = await Promise.all([text(child.stderr), text(child.stdout)])
  const said = /^The database .* its log cannot be brought to the disk: EFBIG: file too large, write\. Then start again/
  t.match(err, said)
  t.ok(isUnsound(file))
  t.match(await command(t, ['applications', 'list'], env), { status: 0 })
})

t.test('Hanging disk: a command says so in a sentence', async (t) => {
  const { env, credentials, hang } = await createFaultyDisk(t)
  hang()
  t.match(await command(t, ['applications', 'suspend', credentials.client_id], env), {
    status: 1,
    err: /^the disk has not answered for 2 seconds; what it was asked to store may be stored all the same\n$/,
  })
})

for (const WORKERS of ['1', '2']) {
  t.test(`Hanging disk: a server with WORKERS=${WORKERS} ends on SIGTERM`, async (t) => {
    const { env, credentials, hang } = await createFaultyDisk(t)
    const server = await startServer(t, { ...env, WORKERS })
    hang()
    t.equal(await server.issue(credentials), 503)
    t.match(await server.stop(), { status: 0 })
    t.equal(server.logged('stopped').length, 1)
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
  const statuses = new Set<number>()
  for (let n = 0; n < 60; n++)
    statuses.add((await fetch(`${url}/v1/oauth/accesstoken`, { method: 'POST', body })).status)
  t.strictSame([...statuses], [200])
  child.kill('SIGTERM')
  t.strictSame(await exited, [0, null])
})

const PRLIMIT = { skip: process.platform !== 'linux' && 'needs prlimit' }

t.test('Full disk: 503, no token that is not stored, and the server recovers with the space', PRLIMIT, async (t) => {
  const { env, file } = temporaryDatabase(t)
  const credentials = await register(env)
  const child = spawnLimited(t, env, 96)
  const server = await startServer(t, env, child)

  // The write-ahead log reaches the limit after some tokens.
  let issued = 0
  let answer = await server.token(credentials)
  while (answer.status === 200 && issued < 1000) {
    issued++
    answer = await server.token(credentials)
  }
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

  await once(spawn('prlimit', ['--pid', String(child.pid), '--fsize=unlimited']), 'exit')
  t.equal(await isReady(), true, 'by itself')
  t.equal(await server.issue(credentials), 200)
  await server.stop()
  const [failure, ...others] = server.logged('request failed')
  t.match(failure, { level: 'error', reason: 'store unavailable', err: { stack: /at / } })
  t.strictSame(others, [], 'the others are counted')
  t.match(server.logged('request failures repeated'), [{ reason: 'store unavailable', count: Number }])
})
