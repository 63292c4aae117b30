import t from 'tap'
import { startToMove } from '../support/move.ts'
import { quietPort } from '../support/postgres/ports.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { startServer } from '../support/spawn.ts'
import { startTokenLoad } from '../support/token-load.ts'

const { createDatabase } = await startDatabases()

t.test('Moving, with a restart: no valid token stops working, no revoked one comes back', async (t) => {
  const PORT = String(await quietPort())
  const { after, owners, copy, old } = await startToMove(t, await createDatabase(), { PORT, WORKERS: '2' })
  const load = startTokenLoad(owners, { port: () => Number(PORT) })
  await load.spend('before')
  load.enter('copying')
  const copied = await copy()
  t.equal(copied.status, 0, copied.err)
  t.match(JSON.parse(copied.out), { applications: 2, suites: 1, secrets: 3, approvals: 2 })
  t.ok(JSON.parse(copied.out).tokens > 0)
  await load.spend('copied', ['before'])

  load.enter('restarting')
  old.child.kill('SIGTERM')
  t.match(await old.exited, { status: 0 })
  const server = await startServer(t, after)
  t.match(server.logged('ready'), [{ database: /^postgres:/, previous: /store\.db$/, workers: 2 }])
  await load.spend('moved', ['before', 'copied'])
  await load.stop()

  t.strictSame(load.wrong, [])
  const { restarting = 0, ...others } = load.unanswered
  t.ok(restarting > 0)
  t.strictSame(others, {}, 'requests are refused while there is no server, and at no other time')
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 0 })
})
