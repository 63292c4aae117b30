import t, { type Test } from 'tap'
import { startPathProxy } from '../support/path-proxy.ts'
import { quietPort } from '../support/postgres/ports.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { register } from '../support/register.ts'
import { runJson } from '../support/run.ts'
import { command, type Server, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { startTokenLoad } from '../support/token-load.ts'

const { createEmptyDatabase } = await startDatabases()

/** A server on SQLite with a suite and two applications, about to move to a PostgreSQL database. */
async function startToMove(t: Test, settings: NodeJS.ProcessEnv) {
  const { env: database, file } = temporaryDatabase(t)
  await runJson(['suites', 'register', 'store', '--name', 'Store API', '--create'], { env: database })
  const owners = [await register(database), await register(database)] as const
  const target = await createEmptyDatabase()
  const url = new URL(target)
  const PGPASSWORD = url.password
  url.password = ''
  const args = ['store', 'copy', '--to', url.href, '--json']
  return {
    owners,
    /** The settings of the server after the move. */
    after: { ...settings, DATABASE_URL: url.href, PGPASSWORD, PREVIOUS_DATABASE_URL: `sqlite:${file}` },
    copy: () => command(t, args, { ...database, PGPASSWORD }),
    old: await startServer(t, { ...database, ...settings }),
  }
}

t.test('Moving, with a restart: no valid token stops working, no revoked one comes back', async (t) => {
  const PORT = String(await quietPort())
  const { after, owners, copy, old } = await startToMove(t, { PORT, WORKERS: '2' })
  const load = startTokenLoad(owners, () => Number(PORT))
  await load.spend('before')
  load.enter('copying')
  const { tokens, ...copied } = JSON.parse((await copy()).out)
  t.match(copied, { applications: 2, suites: 1, secrets: 3, approvals: 2 })
  t.ok(tokens > 0)
  await load.spend('copied', ['before'])

  load.enter('restarting')
  t.match(await old.stop(), { status: 0 })
  const server = await startServer(t, after)
  t.match(server.logged('ready'), [{ database: /^postgres:/, previous: /store\.db$/, workers: 2 }])
  await load.spend('moved', ['before', 'copied'])
  await load.stop()

  t.strictSame(load.wrong, [])
  const { restarting = 0, ...others } = load.unanswered
  t.ok(restarting > 0)
  t.strictSame(others, {}, 'requests are refused while there is no server, and at no other time')
})

t.test('Moving, behind a proxy with two nodes: the same, and every request is answered', async (t) => {
  const { after, owners, copy, old } = await startToMove(t, { PORT: '0' })
  const portOf = ({ address }: Server) => Number(new URL(address).port)
  const proxy = await startPathProxy(t, portOf(old))
  const load = startTokenLoad(owners, () => proxy.port)
  await load.spend('before')
  load.enter('copying')
  t.match(await copy(), { status: 0 })
  await load.spend('copied', ['before'])

  const server = await startServer(t, after)
  await proxy.send('/v1/oauth/verify', portOf(server))
  await load.spend('checks moved', ['before', 'copied'])
  await proxy.send('/v1/oauth/revoke', portOf(server))
  await load.spend('revocations moved', ['before', 'copied', 'checks moved'])
  await proxy.send('/v1/oauth/accesstoken', portOf(server))
  t.match(await old.stop(), { status: 0 })
  await load.spend('alone', ['before', 'copied', 'revocations moved'])
  await load.stop()
  t.strictSame(load.wrong, [])
  t.strictSame(load.unanswered, {})
})
