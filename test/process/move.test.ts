import t from 'tap'
import { freePort } from '../support/free-port.ts'
import { startToMove } from '../support/move.ts'
import { startPathProxy } from '../support/path-proxy.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { startServer } from '../support/spawn.ts'
import { startTokenLoad } from '../support/token-load.ts'
import { until } from '../support/until.ts'

/** How many tokens are issued in each phase, at least. */
const MANY = 20

const { createDatabase } = await startDatabases(t)

type Load = ReturnType<typeof startTokenLoad>

/** Waits until much was issued in a phase, and tokens of it and of these before it were revoked; or something is wrong. */
async function spend(load: Load, phase: string, before: string[] = []): Promise<void> {
  load.enter(phase)
  await until(() => {
    const revoked = load.revokedIn(phase)
    if (load.wrong.length > 0) return true
    return load.issuedIn(phase) >= MANY && [phase, ...before].every((one) => revoked.has(one))
  })
}

t.test('Moving, with a restart: no valid token stops working, no revoked one comes back', async (t) => {
  const PORT = String(await freePort())
  const { after, owners, copy, old } = await startToMove(t, await createDatabase(), { PORT, WORKERS: '2' })
  const load = startTokenLoad(owners, { port: () => Number(PORT) })
  await spend(load, 'before')
  load.enter('copying')
  const copied = await copy()
  t.equal(copied.status, 0, copied.err)
  t.match(JSON.parse(copied.out), { applications: 2, suites: 1, secrets: 3, approvals: 2 })
  t.ok(JSON.parse(copied.out).tokens >= MANY)
  await spend(load, 'copied', ['before'])

  load.enter('restarting')
  old.child.kill('SIGTERM')
  t.match(await old.exited, { status: 0 })
  const server = await startServer(t, after)
  t.match(server.logged('ready'), [{ database: /^postgres:/, previous: /store\.db$/, workers: 2 }])
  await spend(load, 'moved', ['before', 'copied'])
  await load.stop()

  t.strictSame(load.wrong, [])
  const { restarting = 0, ...others } = load.unanswered
  t.ok(restarting > 0)
  t.strictSame(others, {}, 'requests are refused while there is no server, and at no other time')
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 0 })
})

t.test('Moving, behind a proxy with two nodes: the same, and every request is answered', async (t) => {
  const { after, owners, copy, old } = await startToMove(t, await createDatabase(), { PORT: '0' })
  const portOf = ({ address }: { address: string }) => Number(new URL(address).port)
  const proxy = await startPathProxy(t, portOf(old))
  const load = startTokenLoad(owners, { port: () => proxy.port })
  await spend(load, 'before')
  load.enter('copying')
  const copied = await copy()
  t.equal(copied.status, 0, copied.err)
  await spend(load, 'copied', ['before'])

  const server = await startServer(t, after)
  await proxy.send('/v1/oauth/verify', portOf(server))
  await spend(load, 'checks moved', ['before', 'copied'])
  await proxy.send('/v1/oauth/revoke', portOf(server))
  await spend(load, 'revocations moved', ['before', 'copied', 'checks moved'])
  await proxy.send('/v1/oauth/accesstoken', portOf(server))
  old.child.kill('SIGTERM')
  t.match(await old.exited, { status: 0 })
  await spend(load, 'alone', ['before', 'copied', 'revocations moved'])
  await load.stop()

  t.strictSame(load.wrong, [])
  t.strictSame(load.unanswered, {})
})
