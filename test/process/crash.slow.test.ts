import t from 'tap'
import { readConfig } from '../../src/config.ts'
import { parseToken } from '../../src/domain/token.ts'
import { openStore } from '../../src/store/open.ts'
import { register } from '../support/register.ts'
import { startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { until } from '../support/until.ts'

t.test('Durability: after kill -9 under load every token that a client received is in the store', async (t) => {
  const { env } = temporaryDatabase(t)
  const credentials = await register(env)
  const received: string[] = []

  for (let round = 0; round < 3; round++) {
    const server = await startServer(t, env)
    const clients = Array.from({ length: 16 }, async () => {
      for (;;) received.push((await server.token(credentials)).body.access_token as string)
    })
    const before = received.length
    await until(() => received.length >= before + 200)
    server.child.kill('SIGKILL')
    await Promise.allSettled(clients)
    t.match(await server.exited, { signal: 'SIGKILL' })
  }

  const server = await startServer(t, env)
  t.equal((await server.token(credentials)).status, 200)
  const store = await openStore(readConfig(env).DATABASE_URL, { lockTimeout: 1000 })
  t.teardown(() => store.close())
  const stored = await Promise.all(received.map((token) => store.findToken(parseToken(token)?.id as Buffer)))
  t.ok(received.length >= 600)
  t.equal(stored.filter((token) => token === undefined).length, 0)
})
