import { once } from 'node:events'
import { existsSync, lstatSync } from 'node:fs'
import http from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { startLeader } from '../support/leader.ts'
import { command, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { until } from '../support/until.ts'

/** Sends a request without a key over a Unix socket. Resolves to the status. */
async function statusOver(socketPath: string): Promise<number | undefined> {
  const [response] = await once(http.request({ socketPath, path: '/admin/v1/suites', agent: false }).end(), 'response')
  response.resume()
  return response.statusCode
}

t.test(
  'Admin: the Unix socket is accessible to its owner only, and open connections do not delay shutdown',
  async (t) => {
    const { env, folder } = temporaryDatabase(t)
    const socket = join(folder, 'admin.sock')
    const server = await startServer(t, { ...env, ADMIN_ADDRESS: `unix:${socket}` })
    t.match(server.logged('ready'), [{ admin: `unix:${socket}`, ops: undefined }])
    t.equal(lstatSync(socket).mode & 0o777, 0o600)
    t.equal(await statusOver(socket), 401)
    const open = connect(socket)
    t.teardown(() => open.destroy())
    await once(open, 'connect')
    open.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await once(open, 'data')
    const before = performance.now()
    server.child.kill('SIGTERM')
    t.match(await server.exited, { status: 0 })
    t.ok(performance.now() - before < 5000)
    t.notOk(existsSync(socket))
  },
)

t.test('Admin: the socket file of a killed server is replaced by the next one', async (t) => {
  const { env, folder } = temporaryDatabase(t)
  const socket = join(folder, 'admin.sock')
  const settings = { ...env, ADMIN_ADDRESS: `unix:${socket}` }
  const killed = await startServer(t, settings)
  killed.child.kill('SIGKILL')
  await killed.exited
  t.ok(existsSync(socket))
  const next = await startServer(t, settings)
  t.equal(await statusOver(socket), 401)

  const { status, err } = await command(t, ['serve'], { ...settings, PORT: '0' })
  t.equal(status, 1)
  t.match(err, `Cannot listen on ADMIN_ADDRESS, unix:${socket}: another server answers there.`)
  t.equal(await statusOver(socket), 401, 'and the first one goes on')
  next.child.kill('SIGTERM')
  t.match(await next.exited, { status: 0 })
})

t.test(
  'Admin: of several servers that start at once after a kill, one gets the socket and the others report it',
  async (t) => {
    const { env, folder } = temporaryDatabase(t)
    const socket = join(folder, 'admin.sock')
    const settings = { ...env, ADMIN_ADDRESS: `unix:${socket}` }
    const killed = await startServer(t, settings)
    killed.child.kill('SIGKILL')
    await killed.exited
    const begun = await Promise.allSettled(Array.from({ length: 4 }, () => startServer(t, settings)))
    const [winner, ...others] = begun.filter(({ status }) => status === 'fulfilled')
    t.ok(winner)
    t.equal(others.length, 0)
    for (const one of begun) if (one.status === 'rejected') t.match(one.reason.message, /another server .* there\./)
    t.equal(await statusOver(socket), 401)
  },
)

t.test('Admin: neither a single process nor a leader starts if ADMIN_ADDRESS is taken', async (t) => {
  const other = http.createServer().listen(0, '127.0.0.1')
  t.teardown(() => other.close())
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  for (const WORKERS of ['1', '2']) {
    const { env } = temporaryDatabase(t)
    const settings = { ...env, PORT: '0', ADMIN_ADDRESS: `127.0.0.1:${port}`, WORKERS }
    const { status, err, out } = await command(t, ['serve'], settings)
    t.equal(status, 1)
    t.match(err, `Cannot listen on ADMIN_ADDRESS, 127.0.0.1:${port}: `)
    t.equal(out, '')
  }
})

t.test('Admin: no socket file is left behind if the public port is taken', async (t) => {
  const other = http.createServer().listen(0, '127.0.0.1')
  t.teardown(() => other.close())
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  for (const WORKERS of ['1', '2']) {
    const { env, folder } = temporaryDatabase(t)
    const socket = join(folder, 'admin.sock')
    const settings = { ...env, PORT: String(port), ADMIN_ADDRESS: `unix:${socket}`, WORKERS }
    const { status, err } = await command(t, ['serve'], settings)
    t.equal(status, 1)
    t.match(err, `Cannot listen on port ${port}`)
    t.notOk(existsSync(socket))
  }
})

t.test('Admin: the leader has the listener, which survives the loss of workers', async (t) => {
  const { server, workers } = await startLeader(t, { env: { ADMIN_ADDRESS: '127.0.0.1:0' } })
  const { admin } = server.logged('ready')[0]
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const ask = async () => {
    const request = http.get(`${admin}/admin/v1/suites`, { agent })
    const [response] = await once(request, 'response')
    await once(response.resume(), 'end')
    return [response.statusCode, request.reusedSocket]
  }
  t.strictSame(await ask(), [401, false])
  const [first] = (await workers()) as [number, number]
  process.kill(first, 'SIGKILL')
  await until(() => server.logged('worker exited unexpectedly').length === 1)
  t.equal((await ask())[0], 401)
  server.child.kill('SIGHUP')
  await until(() => server.logged('restarted').length === 1)
  t.equal((await ask())[0], 401)
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 0 })
})
