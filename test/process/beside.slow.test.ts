import t from 'tap'
import { register } from '../support/register.ts'
import { command, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

t.test('Commands beside a running server: each change takes effect from the next request on', async (t) => {
  const { env } = temporaryDatabase(t)
  const server = await startServer(t, env)
  const credentials = await register(env)
  const id = credentials.client_id
  const status = async (with_ = credentials) => (await server.token(with_)).status
  const succeed = async (...args: string[]) => {
    const { status, err, out } = await command(t, [...args, '--json'], env)
    t.equal(status, 0, err)
    return JSON.parse(out)
  }

  t.equal(await status(), 200)
  await succeed('apps', 'suspend', id)
  t.equal(await status(), 401)
  await succeed('apps', 'resume', id)
  t.equal(await status(), 200)
  const rotated = await succeed('secrets', 'rotate', id, '--overlap', '0')
  t.equal(await status(), 401)
  t.equal(await status(rotated), 200)
  await succeed('apps', 'remove', id)
  t.equal(await status(rotated), 401)
})

t.test(
  'Commands beside a running server: each revocation and each approval takes effect from the next check on',
  async (t) => {
    const { env } = temporaryDatabase(t)
    const server = await startServer(t, env)
    const succeed = async (...args: string[]) => {
      const { status, err } = await command(t, args, env)
      t.equal(status, 0, err)
    }
    const verified = async (token: string | undefined) => {
      const answer = await fetch(`${server.address}/v1/oauth/verify/store`, {
        headers: { authorization: `Bearer ${token}` },
      })
      return answer.status
    }
    const credentials = await register(env)
    const id = credentials.client_id
    const newToken = async () => (await server.token(credentials)).body.access_token

    const token = await newToken()
    t.equal(await verified(token), 404)
    await succeed('suites', 'register', 'store', '--name', 'Store API')
    t.equal(await verified(token), 403)
    await succeed('apps', 'approve', id, '--suite', 'store')
    t.equal(await verified(token), 200)
    await succeed('apps', 'withdraw', id, '--suite', 'store')
    t.equal(await verified(token), 403)
    await succeed('apps', 'approve', id, '--suite', 'store')

    await succeed('tokens', 'revoke-all', id)
    t.equal(await verified(token), 401)
    const second = await newToken()
    t.equal(await verified(second), 200, 'one that is issued afterwards is valid')
    await succeed('apps', 'suspend', id)
    t.equal(await verified(second), 401)
    await succeed('apps', 'resume', id)
    t.equal(await verified(second), 200)
    await succeed('apps', 'remove', id)
    t.equal(await verified(second), 401)
  },
)

t.test('Commands beside a server under load: they get their turn, and no request fails', async (t) => {
  const { env } = temporaryDatabase(t)
  const server = await startServer(t, env)
  const credentials = await register(env)
  let running = true
  const load = Array.from({ length: 16 }, async () => {
    const statuses = []
    while (running) statuses.push((await server.token(credentials)).status)
    return statuses
  })
  for (let n = 0; n < 3; n++) t.equal((await command(t, ['secrets', 'rotate', credentials.client_id], env)).status, 0)
  running = false
  const statuses = (await Promise.all(load)).flat()
  t.ok(statuses.length > 16)
  t.strictSame([...new Set(statuses)], [200])
})
