import http from 'node:http'
import t from 'tap'
import { startLoad } from '../support/load.ts'
import { isAlive } from '../support/postgres/processes.ts'
import { run, startServing } from '../support/spawn.ts'
import { until } from '../support/until.ts'

t.test('Workers: two of them and their leader', async (t) => {
  const { server, credentials, env, file } = await startServing(t, { WORKERS: '2' })
  await until(async () => (await server.issue(credentials)) === 200 && server.issuers().length === 2)

  t.match(server.logged('ready'), [{ workers: 2, address: server.address, database: file }])
  t.strictSame(server.messages(), ['ready'], 'in the log they are one server')

  t.test('what one of them revoked and what a command changed is refused by all of them', async (t) => {
    // Each on a new connection, so that the workers take turns.
    const areVerified = async (token: string, status: number) => {
      for (let n = 0; n < 4; n++) t.equal(await server.statusOf('/v1/oauth/verify', token), status)
    }
    const token = (await server.token(credentials)).body.access_token as string
    const second = (await server.token(credentials)).body.access_token as string
    await areVerified(token, 200)
    t.equal(await server.revoke(credentials, token), 200)
    await areVerified(token, 401)
    await areVerified(second, 200)
    for (const [action, verdict] of Object.entries({ suspend: 401, resume: 200 })) {
      t.equal((await run(['apps', action, credentials.client_id], { env })).status, 0)
      await areVerified(second, verdict)
    }
  })

  t.test('SIGHUP replaces them, and no request fails, on kept connections or on new ones', async (t) => {
    const before = server.issuers()
    const agent = new http.Agent({ keepAlive: true, maxSockets: 2 })
    t.teardown(() => agent.destroy())
    const { port } = new URL(server.address)
    const live = () =>
      new Promise<number>((resolve, reject) => {
        const request = http.get({ port, path: '/health/live', agent }, (response) => {
          response.resume().once('end', () => resolve(response.statusCode as number))
        })
        request.once('error', reject)
      })
    const load = startLoad((client) => (client % 2 ? server.issue(credentials) : live()), { clients: 2 })
    await server.restart()
    await until(() => server.issuers().length === 4)
    t.strictSame(await load.stop(), [200])
    await until(() => !before.some(isAlive))
  })

  t.test('one that is killed is replaced, and meanwhile the other one answers', async (t) => {
    const before = server.issuers()
    process.kill(before.findLast(isAlive) as number, 'SIGKILL')
    await until(() => server.logged('worker exited unexpectedly').length === 1)
    await until(async () => {
      t.equal(await server.issue(credentials), 200)
      return server.issuers().length > before.length
    })
  })

  t.test('when their leader is killed they end', async (t) => {
    // This is known when the log is closed, so by all of them.
    t.match(await server.stop('SIGKILL'), { signal: 'SIGKILL' })
    await t.rejects(server.token(credentials))
  })
})
