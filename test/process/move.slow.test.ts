import http from 'node:http'
import t, { type Test } from 'tap'
import { listenHere } from '../support/listen-here.ts'
import { quietPort } from '../support/postgres/ports.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { command, register, runJson, type Server, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { startTokenLoad } from '../support/token-load.ts'
import { until } from '../support/until.ts'

const { createEmptyDatabase } = await startDatabases()

/** A reverse proxy that sends each path to a server of its own, and can send it to another one while it runs. */
async function startPathProxy(t: Test, first: number) {
  const targets = new Map<string, number>()
  /** How many requests a server has of a path. */
  const underWay = new Map<string, number>()
  const agent = new http.Agent({ keepAlive: true })

  const server = http.createServer((request, response) => {
    const path = request.url?.startsWith('/v1/oauth/verify') ? '/v1/oauth/verify' : (request.url as string)
    const port = targets.get(path) ?? first
    const key = `${port} ${path}`
    underWay.set(key, (underWay.get(key) ?? 0) + 1)
    response.once('close', () => underWay.set(key, (underWay.get(key) as number) - 1))
    const { method, url, headers } = request
    const onward = http.request({ port, path: url, method, headers, agent }, (answer) => {
      response.writeHead(answer.statusCode as number, answer.headers)
      answer.pipe(response)
    })
    onward.once('error', () => response.destroy())
    request.pipe(onward)
  })
  const { port } = await listenHere(t, server)
  t.teardown(() => agent.destroy())
  return {
    port,
    /** Sends a path to another server. Resolves when the first one has no request of it any more. */
    async send(path: string, port: number): Promise<void> {
      targets.set(path, port)
      await until(() => !underWay.get(`${first} ${path}`))
    },
  }
}

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
