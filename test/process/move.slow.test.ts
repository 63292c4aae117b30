import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { holdOpen } from '../support/postgres/databases.ts'
import { quietPort } from '../support/postgres/ports.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { run, runJson } from '../support/run.ts'
import { command, register, type Server, start, startServer } from '../support/spawn.ts'
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
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
    agent.destroy()
  })
  return {
    port: (server.address() as AddressInfo).port,
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
  const before = { ...database, ...settings }
  return {
    file,
    target,
    owners,
    /** The settings of the server before the move and after it. */
    before,
    after: { ...settings, DATABASE_URL: url.href, PGPASSWORD, PREVIOUS_DATABASE_URL: `sqlite:${file}` },
    copy: () => command(t, args, { ...database, PGPASSWORD }),
    startCopy: () => start(t, args, { ...database, PGPASSWORD }),
    old: await startServer(t, before),
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

t.test('Moving: from the copy on commands refuse the old store, its server warns, and may go back', async (t) => {
  const { before, after, owners, copy, old } = await startToMove(t, { PORT: '0' })
  const id = owners[0].client_id
  t.equal((await copy()).status, 0)
  const moved = /^The store has moved to postgres:\/\/127\.0\.0\.1:\d+\/token_server_\w+ at 20/
  t.match(await run(['apps', 'suspend', id], { env: before }), { status: 1, err: moved })
  t.match(await run(['apps', 'suspend', id], { env: after }), { status: 0 }, 'it is changed where it is now')
  t.equal(await old.issue(owners[0]), 200)
  await old.stop()

  const again = await startServer(t, before)
  t.match(again.logged('database has moved'), [{ level: 'warn', moved_to: /^postgres:/ }])
  t.match(await runJson(['store', 'reopen'], { env: before }), { moved_to: /^postgres:/ })
  t.match(await run(['apps', 'suspend', id], { env: before }), { status: 0 })
  const wrong = /^PREVIOUS_DATABASE_URL: .*store\.db was not copied to another database/
  t.match(await command(t, ['serve'], after), { status: 1, err: wrong })
})

t.test('Moving: a copy that is killed leaves nothing there; it can be repeated, or undone', async (t) => {
  const { before, after, owners, copy, startCopy, file, target } = await startToMove(t, { PORT: '0' })
  const id = owners[0].client_id
  await runJson(['migrate'], { env: after })
  const marked = new Database(file, { readonly: true })
  t.teardown(() => marked.close())
  const isMarked = marked.prepare('SELECT count(*) FROM moved').pluck()
  for (const mend of [() => runJson(['store', 'reopen'], { env: before }), copy]) {
    // The copy waits here when it comes to the tokens.
    const release = await holdOpen(t, target, 'LOCK TABLE tokens IN EXCLUSIVE MODE')
    const child = startCopy()
    await until(() => isMarked.get() === 1)
    child.kill('SIGKILL')
    await once(child, 'exit')
    t.match(await run(['apps', 'suspend', id], { env: before }), { status: 1, err: /is being copied .* did not end/ })
    await release()
    t.strictSame(await runJson(['apps', 'list'], { env: after }), [])
    await mend()
  }
  t.equal((await runJson(['apps', 'list'], { env: after })).length, 2)
})
