import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, statSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import Database from 'better-sqlite3'
import t from 'tap'
import { freePort } from '../support/free-port.ts'
import { register } from '../support/register.ts'
import { MAIN, start, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { until } from '../support/until.ts'

const DEV_FULL = { skip: !existsSync('/dev/full') && 'needs /dev/full' }

t.test(
  'Full disk: a log that cannot be written stops neither the work of a server nor its end',
  DEV_FULL,
  async (t) => {
    const { env } = temporaryDatabase(t)
    const credentials = await register(env)
    const port = await freePort()
    const child = start(
      t,
      ['serve'],
      { ...env, PORT: String(port) },
      { stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'] },
    )
    const exited = once(child, 'exit')
    const url = `http://127.0.0.1:${port}`
    await until(() =>
      fetch(`${url}/health/live`).then(
        () => true,
        () => false,
      ),
    )
    const body = new URLSearchParams({ grant_type: 'client_credentials', ...credentials })
    for (let n = 0; n < 60; n++)
      t.equal((await fetch(`${url}/v1/oauth/accesstoken`, { method: 'POST', body })).status, 200)
    child.kill('SIGTERM')
    t.strictSame(await exited, [0, null])
  },
)

t.test("Full disk: a command's result that cannot be written is one sentence, with status 1", DEV_FULL, async (t) => {
  const { env } = temporaryDatabase(t)
  const child = start(t, ['migrate'], env, { stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'] })
  const [err, [status]] = await Promise.all([text(child.stderr as NodeJS.ReadableStream), once(child, 'exit')])
  t.equal(status, 1)
  t.match(err, /^What was asked for is done\. The output could not be written: ENOSPC.*\n$/)
})

t.test(
  'Full disk: the server answers 503, sends no token that is not stored, and serves again when there is space',
  { skip: process.platform !== 'linux' && 'needs prlimit' },
  async (t) => {
    const { env, file } = temporaryDatabase(t)
    const credentials = await register(env)
    // Without NODE_OPTIONS, for tap's own hook would take the limit for a fatal signal.
    // A limit on the size of files is a disk that gets full: the write-ahead log reaches it after some tokens.
    const limited = ['-c', `unset NODE_OPTIONS; ulimit -S -f 96; exec "$0" "$@"`, process.execPath, MAIN, 'serve']
    const child = spawn('bash', limited, { env: { ...process.env, ...env, PORT: '0' }, stdio: 'pipe' })
    t.teardown(() => child.kill('SIGKILL'))
    const server = await startServer(t, env, child)

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
    t.equal((await server.token({ ...credentials, client_secret: 'x' })).status, 401)
    for (let n = 0; n < 5; n++) t.equal((await server.token(credentials)).status, 503)
    const isReady = async () => (await fetch(`${server.address}/health/ready`)).status === 200
    // The trial write of the health check is smaller than a token's, and may still fit.
    await until(async () => (await server.token(credentials)).status === 503 && !(await isReady()))

    await once(spawn('prlimit', ['--pid', String(child.pid), '--fsize=unlimited']), 'exit')
    t.equal(await isReady(), true, 'by itself')
    t.equal((await server.token(credentials)).status, 200)
    child.kill('SIGTERM')
    await server.exited
    const [failure, ...others] = server.logged('request failed')
    t.match(failure, { level: 'error', reason: 'store unavailable', err: { stack: /at / } })
    t.strictSame(others, [], 'the others are counted')
    t.match(server.logged('request failures repeated'), [{ reason: 'store unavailable', count: Number }])
  },
)
