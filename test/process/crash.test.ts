import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { readConfig } from '../../src/config.ts'
import { parseToken } from '../../src/domain/token.ts'
import { openStore } from '../../src/store/open.ts'
import { command, startServer } from '../support/spawn.ts'
import { temporaryFolder } from '../support/world.ts'

t.test('Durability: after kill -9 under load every token that a client received is in the store', async (t) => {
  const env = { DATABASE_URL: `sqlite:${join(temporaryFolder(t), 'store.db')}` }
  const register = ['apps', 'register', '--name', 'A', '--developer-email', 'a@b.example', '--json']
  const credentials = JSON.parse((await command(t, register, env)).out)
  const received: string[] = []

  for (let round = 0; round < 3; round++) {
    const server = await startServer(t, env)
    const clients = Array.from({ length: 16 }, async () => {
      for (;;) received.push((await server.token(credentials)).body.access_token as string)
    })
    const before = received.length
    while (received.length < before + 200) await sleep(5)
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
