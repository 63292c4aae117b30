import t from 'tap'
import { runJson } from '../support/run.ts'
import { startWorkers } from '../support/workers.ts'

t.test('Usage: what every worker has counted is stored when the server has stopped', async (t) => {
  const { env, credentials, server } = await startWorkers(t)
  const ISO = /^\d{4}-.*Z$/
  for (let n = 0; n < 4; n++) t.equal((await server.token(credentials)).status, 200)
  t.equal((await server.token({ ...credentials, client_secret: 'wrong' })).status, 401)
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 0 })
  t.equal(new Set(server.logged('token issued').map(({ pid }) => pid)).size, 2)

  const [listed] = await runJson(['apps', 'list'], { env })
  t.equal(listed.tokens_this_hour + listed.tokens_last_hour, 4)
  const shown = await runJson(['apps', 'show', credentials.client_id], { env })
  t.match(shown, { last_token_at: ISO, secrets: [{ last_used_at: ISO }] })
})
