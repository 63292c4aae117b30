import { renameSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorld } from '../support/world.ts'

t.test('Health: a server that answers is live; ready is one that can read its store', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const { app } = await createWorld(t, { databaseUrl: `sqlite:${file}` })
  t.equal((await app.inject('/health/live')).statusCode, 200)
  t.match((await app.inject('/health/ready')).json(), { status: 'ok' })

  renameSync(file, `${file}.gone`)
  t.equal((await app.inject('/health/live')).statusCode, 200)
  const answer = await app.inject('/health/ready')
  t.equal(answer.statusCode, 503)
  t.equal(answer.json().error, 'temporarily_unavailable')
})
