import t from 'tap'
import { register } from '../support/register.ts'
import { startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

for (const [FAILURE_LIMIT, last] of [
  ['on', 429],
  ['off', 401],
] as const) {
  t.test(
    `FAILURE_LIMIT: ${FAILURE_LIMIT}, eleven wrong secrets end with ${last}, and the right one passes`,
    async (t) => {
      const { env } = temporaryDatabase(t)
      const credentials = await register(env)
      const server = await startServer(t, { ...env, FAILURE_LIMIT })
      const wrong = { ...credentials, client_secret: 'wrong' }
      const statuses = []
      for (let n = 0; n < 11; n++) statuses.push((await server.token(wrong)).status)
      t.strictSame(statuses, [...Array(10).fill(401), last])
      t.equal((await server.token(credentials)).status, 200)
    },
  )
}
