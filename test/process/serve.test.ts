import { spawn } from 'node:child_process'
import { existsSync, openSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { command, start, startServer } from '../support/spawn.ts'
import { temporaryFolder } from '../support/world.ts'

function setting(t: Test) {
  const file = join(temporaryFolder(t), 'store.db')
  return { file, env: { DATABASE_URL: `sqlite:${file}` } }
}

async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return String(port)
}

async function register(t: Test, env: NodeJS.ProcessEnv) {
  const { out } = await command(
    t,
    ['apps', 'register', '--name', 'A', '--developer-email', 'a@b.example', '--json'],
    env,
  )
  return JSON.parse(out) as { client_id: string; client_secret: string }
}

t.test(
  'Serve: it migrates, says once that it is ready, issues, and ends with status 0 on SIGTERM and SIGINT',
  async (t) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const { env } = setting(t)
      const server = await startServer(t, env)
      const credentials = await register(t, env)
      t.equal((await server.token(credentials)).status, 200)
      const { out } = await command(t, ['healthcheck'], { ...env, PORT: new URL(server.address).port })
      t.equal(out, 'The server is ready.\n')
      server.child.kill(signal)
      t.strictSame(await server.exited, { status: 0, signal: null })
      t.strictSame(
        server.lines.map((line) => JSON.parse(line).msg),
        ['ready', 'token issued', 'stopping', 'stopped'],
        'the log is whole at the exit',
      )
    }
  },
)

t.test('Serve: what is in flight at the signal is finished, and nothing new is let in', async (t) => {
  const { env, file } = setting(t)
  const server = await startServer(t, env)
  const credentials = await register(t, env)
  const other = new Database(file)
  t.teardown(() => other.close())

  other.exec('BEGIN IMMEDIATE')
  const inFlight = server.token(credentials)
  await sleep(200)
  server.child.kill('SIGTERM')
  await sleep(200)
  await t.rejects(server.token(credentials))
  other.exec('COMMIT')
  t.equal((await inFlight).status, 200)
  t.match(await server.exited, { status: 0 })
  t.equal(other.prepare('SELECT count(*) FROM tokens').pluck().get(), 1)
})

t.test('Serve: a connection that nobody uses does not hold up its end', async (t) => {
  const { env } = setting(t)
  const server = await startServer(t, env)
  const { hostname, port } = new URL(server.address)
  const idle = connect(Number(port), hostname)
  await new Promise((resolve) => idle.once('connect', resolve))
  idle.on('error', () => {})
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 0 })
})

const full = { skip: !existsSync('/dev/full') && 'needs /dev/full' }

t.test('Serve: a log on a full disk stops neither its work nor its end', full, async (t) => {
  const { env } = setting(t)
  const credentials = await register(t, env)
  const port = await freePort()
  const stdio = ['ignore', openSync('/dev/full', 'w'), 'pipe'] as const
  const child = spawn(process.execPath, ['src/main.ts', 'serve'], {
    env: { ...process.env, ...env, PORT: port },
    stdio: [...stdio],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const url = `http://127.0.0.1:${port}`
  while (!(await fetch(`${url}/health/live`).catch(() => undefined))) await sleep(50)
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...credentials })
  for (let n = 0; n < 60; n++)
    t.equal((await fetch(`${url}/v1/oauth/accesstoken`, { method: 'POST', body })).status, 200)
  child.kill('SIGTERM')
  t.equal(await exited, 0)
})

t.test('Commands: a result that cannot be written is said in one sentence, with status 1', full, async (t) => {
  const { env } = setting(t)
  const stdio = ['ignore', openSync('/dev/full', 'w'), 'pipe'] as const
  const child = spawn(process.execPath, ['src/main.ts', 'migrate'], {
    env: { ...process.env, ...env },
    stdio: [...stdio],
  })
  const [err, status] = await Promise.all([
    text(child.stderr as NodeJS.ReadableStream),
    new Promise((resolve) => child.once('exit', resolve)),
  ])
  t.equal(status, 1)
  t.match(err, /^What was asked for was done, but its result could not be written: ENOSPC.*\n$/)
})

t.test('Serve: a second signal ends it at once', async (t) => {
  const { env, file } = setting(t)
  const server = await startServer(t, env)
  const credentials = await register(t, env)
  const other = new Database(file)
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  const cutOff = t.rejects(server.token(credentials))
  await sleep(200)
  server.child.kill('SIGTERM')
  await sleep(100)
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 1 })
  await cutOff
})

t.test('Serve: wrong settings, a port in use and a database of the future stop it with a clear sentence', async (t) => {
  const { env, file } = setting(t)
  t.match(await command(t, ['serve'], { ...env, PORT: 'x', LOG_LEVEL: 'y' }), {
    status: 1,
    out: '',
    err: /^PORT .*\nLOG_LEVEL .*\n$/,
  })

  const occupant = createServer().listen(0, '127.0.0.1')
  t.teardown(() => occupant.close())
  await new Promise((resolve) => occupant.once('listening', resolve))
  const PORT = String((occupant.address() as { port: number }).port)
  t.match(await command(t, ['serve'], { ...env, PORT }), { status: 1, err: /address already in use 127\.0\.0\.1/ })

  const db = new Database(file)
  db.pragma('user_version = 1000')
  db.close()
  t.match(await command(t, ['serve'], { ...env, PORT: '0' }), {
    status: 1,
    err: /of version 1000 .*run a newer program/,
  })
})

t.test('Serve: an unforeseen error is logged and ends it with status 1', async (t) => {
  const NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=data:text/javascript,setTimeout(()=>{throw(Error('unforeseen'))},1500)`
  const server = await startServer(t, { ...setting(t).env, NODE_OPTIONS })
  t.match(await server.exited, { status: 1 })
  const last = server.lines.map((line) => JSON.parse(line)).slice(-3)
  t.match(last, [{ level: 'fatal', err: { message: 'unforeseen' } }, { msg: 'stopping' }, { msg: 'stopped' }])
})

t.test('Serve: it starts beside a process that writes, and purges when it can', async (t) => {
  const { env, file } = setting(t)
  await command(t, ['migrate'], env)
  const other = new Database(file)
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  const server = await startServer(t, env)
  while (server.lines.length < 2) await sleep(20)
  t.match(JSON.parse(server.lines[1] as string), { level: 'warn', err: { message: /SQLITE_BUSY/ } })
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 0 })
})

t.test('Serve: settings may stand in an .env file, and the environment goes before it', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, '.env'), `DATABASE_URL=sqlite:./here.db\nPORT=0\nLOG_LEVEL=silent\n`)
  const server = await startServer(t, {}, start(t, ['serve'], { LOG_LEVEL: 'info' }, folder))
  t.ok(existsSync(join(folder, 'here.db')))
  t.match(server.address, /^http:\/\/127\.0\.0\.1:\d+$/)
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 0 })
})

t.test('Serve: a healthcheck of a server that has lost its store fails', async (t) => {
  const { env, file } = setting(t)
  const server = await startServer(t, { ...env, HOST: '0.0.0.0' })
  const PORT = new URL(server.address).port
  t.match(await command(t, ['healthcheck'], { HOST: '0.0.0.0', PORT }), { status: 0 })
  unlinkSync(file)
  t.match(await command(t, ['healthcheck'], { PORT }), { status: 1, err: 'The server is not ready: 503.\n' })
})

t.test('Serve: a healthcheck of a server that is not there fails', async (t) => {
  for (const HOST of ['127.0.0.1', '0.0.0.0', '::1']) {
    t.match(await command(t, ['healthcheck'], { HOST, PORT: '1' }), {
      status: 1,
      err: 'The server is not ready: no answer.\n',
    })
  }
})

t.test('Commands beside a running server: each change holds from the next request on', async (t) => {
  const { env } = setting(t)
  const server = await startServer(t, env)
  const credentials = await register(t, env)
  const id = credentials.client_id
  const status = async (with_ = credentials) => (await server.token(with_)).status
  const succeed = async (...args: string[]) => {
    const { status, err, out } = await command(t, [...args, '--json'], env)
    t.equal(status, 0, err)
    return JSON.parse(out)
  }

  t.equal(await status(), 200)
  await succeed('apps', 'suspend', id)
  t.equal(await status(), 401)
  await succeed('apps', 'resume', id)
  t.equal(await status(), 200)
  const rotated = await succeed('secrets', 'rotate', id, '--overlap', '0')
  t.equal(await status(), 401)
  t.equal(await status(rotated), 200)
  await succeed('apps', 'remove', id)
  t.equal(await status(rotated), 401)
})

t.test(
  'Commands beside a running server: each revocation and each approval holds from the next check on',
  async (t) => {
    const { env } = setting(t)
    const server = await startServer(t, env)
    const succeed = async (...args: string[]) => {
      const { status, err } = await command(t, args, env)
      t.equal(status, 0, err)
    }
    const verified = async (token: string | undefined) => {
      const answer = await fetch(`${server.address}/v1/oauth/verify/store`, {
        headers: { authorization: `Bearer ${token}` },
      })
      return answer.status
    }
    const credentials = await register(t, env)
    const id = credentials.client_id
    const newToken = async () => (await server.token(credentials)).body.access_token

    const token = await newToken()
    t.equal(await verified(token), 404)
    await succeed('suites', 'register', 'store', '--name', 'Store API')
    t.equal(await verified(token), 403)
    await succeed('apps', 'approve', id, '--suite', 'store')
    t.equal(await verified(token), 200)
    await succeed('apps', 'withdraw', id, '--suite', 'store')
    t.equal(await verified(token), 403)
    await succeed('apps', 'approve', id, '--suite', 'store')

    await succeed('tokens', 'revoke-all', id)
    t.equal(await verified(token), 401)
    const second = await newToken()
    t.equal(await verified(second), 200, 'one that is issued afterwards is good')
    await succeed('apps', 'suspend', id)
    t.equal(await verified(second), 401)
    await succeed('apps', 'resume', id)
    t.equal(await verified(second), 200)
    await succeed('apps', 'remove', id)
    t.equal(await verified(second), 401)
  },
)

t.test('Commands beside a server under load: they get their turn, and no request fails', async (t) => {
  const { env } = setting(t)
  const server = await startServer(t, env)
  const credentials = await register(t, env)
  let running = true
  const load = Array.from({ length: 16 }, async () => {
    const statuses = []
    while (running) statuses.push((await server.token(credentials)).status)
    return statuses
  })
  for (let n = 0; n < 3; n++) t.equal((await command(t, ['secrets', 'rotate', credentials.client_id], env)).status, 0)
  running = false
  const statuses = (await Promise.all(load)).flat()
  t.ok(statuses.length > 16)
  t.strictSame([...new Set(statuses)], [200])
})

t.test('Migrations: of several processes that start at once, one migrates and all go on', async (t) => {
  const { env } = setting(t)
  const results = await Promise.all(Array.from({ length: 5 }, () => command(t, ['migrate', '--json'], env)))
  t.strictSame(
    results.map(({ status, err }) => [status, err]),
    Array(5).fill([0, '']),
  )
  t.strictSame(results.map(({ out }) => JSON.parse(out).from).sort(), [0, 3, 3, 3, 3])
})

t.test(
  'Serve: on a full disk it says 503, tells no token that is not stored, and serves again when there is room',
  { skip: process.platform !== 'linux' && 'needs prlimit' },
  async (t) => {
    const { env, file } = setting(t)
    const credentials = await register(t, env)
    // Without NODE_OPTIONS, for tap's own hook would take the limit for a fatal signal.
    // A limit on the size of files is a disk that gets full: the write-ahead log hits it after some tokens.
    const limited = [
      '-c',
      `unset NODE_OPTIONS; ulimit -S -f 96; exec "$0" "$@"`,
      process.execPath,
      'src/main.ts',
      'serve',
    ]
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

    const room = spawn('prlimit', ['--pid', String(child.pid), '--fsize=unlimited'])
    await new Promise((resolve) => room.once('exit', resolve))
    t.equal((await server.token(credentials)).status, 200)
  },
)

t.test('Demo: it prints a curl that gets a token, whatever settings there are', async (t) => {
  const { env } = setting(t)
  const demo = start(t, ['demo'], { ...env, HOST: '0.0.0.0' })
  let out = ''
  demo.stdout?.on('data', (chunk) => (out += chunk))
  while (!out.includes('client_secret=')) await sleep(20)
  const [, url, body] = /curl (\S+) \\\n +-d '([^']+)'/.exec(out) ?? []
  t.match(url, /^http:\/\/127\.0\.0\.1:/)
  const answer = await fetch(url as string, { method: 'POST', body: new URLSearchParams(body) })
  const { access_token, ...rest } = (await answer.json()) as Record<string, string>
  t.match(rest, { token_type: 'bearer', application_name: 'Demo application' })
  const checks = [...out.matchAll(/curl -i (\S+) *(?:-H (?:"([^"]+)"|'([^']+)'))?$/gm)]
  const statuses = checks.map(async ([, address, good, bad]) => {
    const authorization = (good ?? bad)?.replace('$TOKEN', access_token as string).replace('Authorization: ', '')
    return (await fetch(address as string, { headers: authorization ? { authorization } : {} })).status
  })
  t.strictSame(await Promise.all(statuses), [200, 401, 401], 'and shows one request let through and two refused')

  const second = start(t, ['demo'], env)
  let more = ''
  second.stdout?.on('data', (chunk) => (more += chunk))
  while (!more.includes('client_secret=')) await sleep(20)
  t.notMatch(more, `${url} `, 'a second one finds a port of its own')
  for (const child of [demo, second]) {
    child.kill('SIGTERM')
    await new Promise((resolve) => child.once('exit', resolve))
    t.equal(child.exitCode, 0)
  }
})
