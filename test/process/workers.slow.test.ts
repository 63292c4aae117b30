import Database from 'better-sqlite3'
import t from 'tap'
import { command } from '../support/spawn.ts'
import { until } from '../support/until.ts'
import { startWorkers } from '../support/workers.ts'

t.test(
  'Workers: several processes answer, and in the log, at the start and at the end they are one server',
  async (t) => {
    const { server, credentials, env, file } = await startWorkers(t)
    for (let n = 0; n < 6; n++) t.equal((await server.token(credentials)).status, 200)
    const { status } = await command(t, ['healthcheck'], { ...env, PORT: new URL(server.address).port })
    t.equal(status, 0)
    server.child.kill('SIGTERM')
    t.strictSame(await server.exited, { status: 0, signal: null })
    const messages = server.lines.map((line) => JSON.parse(line).msg)
    t.strictSame(
      messages.filter((msg) => msg !== 'token issued'),
      ['ready', 'stopping', 'stopped'],
    )
    t.equal(messages.filter((msg) => msg === 'token issued').length, 6)
    t.equal(new Set(server.logged('token issued').map(({ pid }) => pid)).size, 2)
    t.match(server.logged('ready'), [{ workers: 2, address: server.address, database: file }])
  },
)

t.test('Workers: what one of them revoked and what a command changed is refused by all of them', async (t) => {
  const { server, credentials, env } = await startWorkers(t)
  const { client_id, client_secret } = credentials
  // Each on a new connection, so that the workers take turns.
  const verified = async (token: string) => {
    const statuses = []
    for (let n = 0; n < 4; n++) {
      const headers = { authorization: `Bearer ${token}`, connection: 'close' }
      statuses.push((await fetch(`${server.address}/v1/oauth/verify`, { headers })).status)
    }
    return new Set(statuses)
  }
  const issued = async () => (await server.token(credentials)).body.access_token as string

  const token = await issued()
  t.strictSame(await verified(token), new Set([200]))
  const body = new URLSearchParams({ client_id, client_secret, token })
  t.equal((await fetch(`${server.address}/v1/oauth/revoke`, { method: 'POST', body })).status, 200)
  t.strictSame(await verified(token), new Set([401]))

  const second = await issued()
  t.strictSame(await verified(second), new Set([200]))
  t.equal((await command(t, ['apps', 'suspend', client_id], env)).status, 0)
  t.strictSame(await verified(second), new Set([401]))
})

t.test('Workers: one that exits unexpectedly is replaced; one that cannot start is reported once', async (t) => {
  const { server, credentials, env, file } = await startWorkers(t)
  for (let n = 0; n < 4; n++) await server.token(credentials)
  await until(() => server.logged('token issued').length === 4)
  process.kill(server.logged('token issued')[0].pid, 'SIGKILL')
  await until(() => server.logged('worker exited unexpectedly').length === 1)
  t.equal((await server.token(credentials)).status, 200)
  await until(async () => {
    t.equal((await server.token(credentials)).status, 200)
    return new Set(server.logged('token issued').map(({ pid }) => pid)).size === 3
  })

  const PORT = new URL(server.address).port
  const second = await command(t, ['serve'], { ...env, PORT })
  t.equal(second.status, 1)
  t.match(second.err, /^A worker did not start: Cannot listen on port \d+ of 127\.0\.0\.1: .*EADDRINUSE.*\.\n$/)

  // A database that a new worker does not open: it cannot be restarted, and the old ones go on.
  const other = new Database(file)
  other.pragma('user_version = 1000')
  other.exec("UPDATE compatibility SET oldest_program = '99.0.0'")
  other.close()
  server.child.kill('SIGHUP')
  await until(() => server.logged('rolling restart failed').length === 1)
  t.equal((await server.token(credentials)).status, 200)
  process.kill(server.logged('token issued').at(-1).pid, 'SIGKILL')
  await until(() => server.logged('worker exited unexpectedly').length >= 3)
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 0 })
})

t.test('Workers: when their leader is killed they end', async (t) => {
  const { server, credentials } = await startWorkers(t)
  server.child.kill('SIGKILL')
  await server.exited
  await until(() => server.child.stdout?.readableEnded === true)
  await t.rejects(server.token(credentials), 'their end has closed the log')
})
