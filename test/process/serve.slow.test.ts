import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import Database from 'better-sqlite3'
import t from 'tap'
import { register } from '../support/register.ts'
import { command, start, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

t.test(
  'Serve: it migrates, says once that it is ready, issues, and ends with status 0 on SIGTERM and SIGINT',
  async (t) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const { env, file } = temporaryDatabase(t)
      const server = await startServer(t, { ...env, LOG_LEVEL: 'debug' })
      t.match(server.logged('ready'), [{ address: server.address, database: file }])
      const credentials = await register(env)
      t.equal((await server.token(credentials)).status, 200)
      const { out } = await command(t, ['healthcheck'], { ...env, PORT: new URL(server.address).port })
      t.equal(out, 'The server is ready.\n')
      server.child.kill(signal)
      t.strictSame(await server.exited, { status: 0, signal: null })
      t.strictSame(
        server.lines.map((line) => JSON.parse(line).msg),
        ['ready', 'token issued', 'stopping', 'stopped'],
        'the log is complete at the exit',
      )
    }
  },
)

t.test('Serve: wrong settings, a port in use and a newer database stop it with a clear sentence', async (t) => {
  const { env, file } = temporaryDatabase(t)
  t.match(await command(t, ['serve'], { ...env, PORT: 'x', LOG_LEVEL: 'y' }), {
    status: 1,
    out: '',
    err: /^PORT .*\nLOG_LEVEL .*\n$/,
  })

  const occupant = createServer().listen(0, '127.0.0.1')
  t.teardown(() => occupant.close())
  await once(occupant, 'listening')
  const PORT = String((occupant.address() as AddressInfo).port)
  t.match(await command(t, ['serve'], { ...env, PORT }), {
    status: 1,
    err: /^Cannot listen on port \d+ of 127\.0\.0\.1: .*address already in use.*\.\n$/,
  })

  const db = new Database(file)
  db.pragma('user_version = 1000')
  db.exec("UPDATE compatibility SET oldest_program = '99.0.0'")
  db.close()
  t.match(await command(t, ['serve'], { ...env, PORT: '0' }), {
    status: 1,
    err: /needs token-server 99\.0\.0 or newer, .*upgrade the program/,
  })
})

t.test('Serve: it starts beside a process that writes, and purges when it can', async (t) => {
  const { env, file } = temporaryDatabase(t)
  await command(t, ['migrate'], env)
  const other = new Database(file)
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  const server = await startServer(t, env)
  await until(() => server.lines.length === 2)
  t.match(JSON.parse(server.lines[1] as string), { level: 'warn', err: { message: /SQLITE_BUSY/ } })
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 0 })
})

t.test('Serve: settings may be in an .env file, and the environment overrides it', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, '.env'), `DATABASE_URL=sqlite:./here.db\nPORT=0\nLOG_LEVEL=silent\n`)
  const server = await startServer(t, {}, start(t, ['serve'], { LOG_LEVEL: 'info' }, { cwd: folder }))
  t.ok(existsSync(join(folder, 'here.db')))
  t.match(server.address, /^http:\/\/127\.0\.0\.1:\d+$/)
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 0 })
})

t.test(
  'Serve: an .env file that is wrong stops it with a sentence for each line, and a misspelt name is told',
  async (t) => {
    const folder = temporaryFolder(t)
    const serve = async (text: string) => {
      writeFileSync(join(folder, '.env'), text)
      const child = start(t, ['serve'], {}, { cwd: folder })
      const [err, [status]] = await Promise.all([readText(child.stderr as NodeJS.ReadableStream), once(child, 'exit')])
      return { status, err }
    }
    t.strictSame(await serve('PORT: 18142\n'), { status: 1, err: 'Line 1 of .env is not KEY=value.\n' })
    t.strictSame(await serve('PROT=1\nPORT=x\n'), {
      status: 1,
      err: 'Warning: There is no setting PROT (in .env). Is PORT meant?\nPORT must be a number from 0 to 65535.\n',
    })
  },
)

t.test('Serve: ready has the address that it listens on, not one of those that lead there', async (t) => {
  for (const [HOST, address] of [
    ['0.0.0.0', /^http:\/\/0\.0\.0\.0:\d+$/],
    ['::', /^http:\/\/\[::\]:\d+$/],
    ['localhost', /^http:\/\/127\.0\.0\.1:\d+$/],
  ] as const) {
    const server = await startServer(t, { ...temporaryDatabase(t).env, HOST })
    t.match(server.address, address)
    server.child.kill('SIGTERM')
    t.match(await server.exited, { status: 0 })
  }
})

t.test('Commands: with --json what is said of settings is JSON, of the file and of the environment', async (t) => {
  const folder = temporaryFolder(t)
  const list = async (text: string) => {
    writeFileSync(join(folder, '.env'), text)
    const child = start(t, ['apps', 'list', '--json'], { TOKENQUOTA: '5', PORT: 'x' }, { cwd: folder })
    const lines = (await readText(child.stderr as NodeJS.ReadableStream)).trim().split('\n')
    return lines.map((line) => JSON.parse(line))
  }
  t.strictSame(await list('WORKERZ=1\n'), [
    { warning: 'There is no setting WORKERZ (in .env). Is WORKERS meant?' },
    { warning: 'There is no setting TOKENQUOTA (in the environment). Is TOKEN_QUOTA meant?' },
    { error: 'PORT must be a number from 0 to 65535.' },
  ])
  t.strictSame(await list('nonsense\n'), [{ error: 'Line 1 of .env is not KEY=value.' }])
})
