import t from 'tap'
import { register } from '../support/register.ts'
import { runJson } from '../support/run.ts'
import { startServer } from '../support/spawn.ts'
import { SQLITE, startPostgresStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

for (const { name, createEnv } of [SQLITE, await startPostgresStore()]) {
  t.test(`why, on ${name}: what several workers have refused is known soon, and all of it at their end`, async (t) => {
    const env = { ...(await createEnv(t)), WORKERS: '2' }
    const credentials = await register(env)
    const { client_id } = credentials
    const server = await startServer(t, env)
    const wrong = { ...credentials, client_secret: 'wrong' }
    for (let n = 0; n < 4; n++) t.equal((await server.token(wrong)).status, 401)
    t.equal((await server.token({ ...wrong, client_id: `${client_id}x` })).status, 401)

    const explain = (clientId = client_id) => runJson(['why', clientId], { env })
    await until(async () => (await explain()).refusals[0]?.count === 4)
    const { diagnosis, refusals } = await explain()
    t.match(
      diagnosis,
      /^Its requests are refused, 4 times, .* The secret that it sends is wrong, and the right one was not used yet/,
    )
    t.match(refusals, [{ reason: 'wrong secret', endpoint: '/v1/oauth/accesstoken', remote_address: '127.0.0.1' }])
    const [line] = server.logged('authentication refused').filter((line) => line.request_id === refusals[0].request_id)
    t.match(line, { client_id, reason: 'wrong secret' }, 'the log has the request')
    t.equal(new Set(server.logged('authentication refused').map(({ pid }) => pid)).size, 2)
    t.match((await explain(`${client_id}x`)).similar_refusals, [{ client_id: /^\w{4}\.\.\. \(33 characters\)$/ }])

    t.equal((await server.token(credentials)).status, 200)
    t.equal((await server.token(wrong)).status, 401)
    server.child.kill('SIGTERM')
    t.match(await server.exited, { status: 0 })
    const last = await explain()
    t.match(last, {
      refusals: [{ count: 5 }],
      application: { secrets: [{ state: 'active' }], tokens_refused_this_hour: 0 },
    })
    t.match(last.diagnosis, /^(It works again|Its requests are refused)/)
  })
}
