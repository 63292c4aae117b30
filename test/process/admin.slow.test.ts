import { once } from 'node:events'
import { existsSync, lstatSync } from 'node:fs'
import http from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { startLeader } from '../support/leader.ts'
import { startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { until } from '../support/until.ts'

/** Sends a request without a key. Resolves to the status. */
async function statusAt(place: { socketPath: string } | { host: string; port: string }): Promise<number | undefined> {
  const [response] = await once(http.get({ ...place, path: '/admin/v1/suites', agent: false }), 'response')
  response.resume()
  return response.statusCode
}

t.test('Admin: the Unix socket is its owner’s, goes with the server, and one that was left is replaced', async (t) => {
  const { env, folder } = temporaryDatabase(t)
  const socketPath = join(folder, 'admin.sock')
  const settings = { ...env, ADMIN_ADDRESS: `unix:${socketPath}` }
  const server = await startServer(t, settings)
  t.match(server.logged('ready'), [{ admin: `unix:${socketPath}`, ops: undefined }])
  t.equal(lstatSync(socketPath).mode & 0o777, 0o600)
  t.equal(await statusAt({ socketPath }), 401)
  await server.stop('SIGKILL')
  t.ok(existsSync(socketPath))

  const begun = await Promise.allSettled(Array.from({ length: 4 }, () => startServer(t, settings)))
  const [winner, ...others] = begun.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  t.strictSame(others, [], 'of several that start at once one gets it')
  for (const one of begun) if (one.status === 'rejected') t.match(one.reason.message, /another server .* there\./)
  t.equal(await statusAt({ socketPath }), 401)

  const open = connect(socketPath)
  t.teardown(() => open.destroy())
  await once(open, 'connect')
  open.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(open, 'data')
  t.match(await winner?.stop(), { status: 0 }, 'an open connection does not prevent the end')
  t.notOk(existsSync(socketPath))
})

t.test('Admin: the leader has the listener, which survives the loss of workers', async (t) => {
  const { server, workers } = await startLeader(t, { env: { ADMIN_ADDRESS: '127.0.0.1:0' } })
  const { hostname: host, port } = new URL(server.logged('ready')[0].admin)
  t.equal(await statusAt({ host, port }), 401)
  const [first] = await workers()
  process.kill(first, 'SIGKILL')
  await until(() => server.logged('worker exited unexpectedly').length === 1)
  t.equal(await statusAt({ host, port }), 401)
  await server.restart()
  t.equal(await statusAt({ host, port }), 401)
  t.match(await server.stop(), { status: 0 })
})
