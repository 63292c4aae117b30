import { existsSync } from 'node:fs'
import t from 'tap'
import { isUnsound } from '../../src/store/sqlite/files.ts'
import { createFaultyDisk } from '../support/faulty-disk.ts'
import { run, startServer } from '../support/spawn.ts'
import { until } from '../support/until.ts'

t.test('Failed fsync: the server refuses, and so does every command, until all of them have ended', async (t) => {
  const { env, file, credentials, fail, walSize, inTheFile } = await createFaultyDisk(t)
  const server = await startServer(t, env)
  for (let n = 0; n < 5; n++) t.equal(await server.issue(credentials), 200)
  fail()
  for (let n = 0; n < 2; n++) t.equal(await server.issue(credentials), 503)
  t.ok(isUnsound(file))
  t.equal(await server.statusOf('/health/ready'), 503)
  t.equal(await server.statusOf('/health/live'), 200)
  t.equal(await server.statusOf('/v1/oauth/verify', 'a'.repeat(64)), 503)
  for (const args of [['applications', 'list'], ['migrate']]) {
    const err = /^The database .* cannot be opened: an fsync has failed, .*\n$/
    t.match(await run(args, { env }), { status: 1, err })
  }
  t.match(await server.stop(), { status: 0 })
  t.ok(existsSync(`${file}-wal`), 'it makes no checkpoint when it ends')
  t.ok(isUnsound(file))

  const next = await startServer(t, env)
  t.equal(walSize(), 0, 'before it says that it is ready the log is in the database')
  t.notOk(isUnsound(file))
  // The one whose fsync failed may be there or not: nobody was told.
  t.ok(inTheFile() >= 5)
  t.equal(await next.issue(credentials), 200)
})

t.test('Hanging disk: changes are refused, checks are answered, and it recovers by itself', async (t) => {
  const { env, credentials, hang, recover } = await createFaultyDisk(t)
  const server = await startServer(t, env)
  const { body } = await server.token(credentials)
  hang()
  t.equal(await server.issue(credentials), 503, 'not without an end')
  t.equal(await server.statusOf('/health/ready'), 503)
  t.equal(await server.statusOf('/v1/oauth/verify', body.access_token), 200)
  recover()
  await until(async () => (await server.statusOf('/health/ready')) === 200)
  t.equal(await server.issue(credentials), 200)
})
