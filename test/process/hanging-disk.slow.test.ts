import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { register } from '../support/register.ts'
import { command, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

/** The code that lets every fsync of a process hang, for as long as a file says so. */
const preload = (flag: string) => `
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  const { fdatasync } = fs
  fs.fdatasync = function sync(file, done) {
    if (fs.existsSync(${JSON.stringify(flag)})) setTimeout(sync, 20, file, done)
    else fdatasync(file, done)
  }
  syncBuiltinESMExports()`

/** A server on a disk that hangs when it is told to, an application that may ask it for tokens, and a token of that. */
async function startOnHangingDisk(t: Test, { workers }: { workers: number }) {
  const { env: database } = temporaryDatabase(t)
  const flag = join(temporaryFolder(t), 'hang')
  const script = `data:text/javascript,${encodeURIComponent(preload(flag))}`
  const env = { ...database, NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${script}` }
  const credentials = await register(database)
  const server = await startServer(t, { ...env, WORKERS: String(workers) })
  const issued = await server.token(credentials)
  t.equal(issued.status, 200)
  return {
    env,
    server,
    credentials,
    issue: async () => (await server.token(credentials)).status,
    ready: async () => (await fetch(`${server.address}/health/ready`)).status,
    verify: async () => {
      const headers = { authorization: `Bearer ${issued.body.access_token}`, connection: 'close' }
      return (await fetch(`${server.address}/v1/oauth/verify`, { headers })).status
    },
    hang: () => writeFileSync(flag, ''),
    recover: () => rmSync(flag),
  }
}

t.test('Hanging disk: changes are refused, checks are answered, and it recovers by itself', async (t) => {
  const { env, credentials, issue, ready, verify, hang, recover } = await startOnHangingDisk(t, { workers: 1 })
  hang()
  t.equal(await issue(), 503, 'not without an end')
  t.equal(await ready(), 503)
  t.equal(await issue(), 503)
  t.equal(await verify(), 200)
  const { status, err } = await command(t, ['applications', 'suspend', credentials.client_id], env)
  t.match(
    [status, err],
    [1, /^the disk has not answered for 2 seconds; what it was asked to store may be stored all the same\n$/],
  )
  recover()
  await until(async () => (await ready()) === 200)
  t.equal(await verify(), 401, 'what the command had written before it was refused may be there')
})

for (const workers of [1, 2]) {
  t.test(`Hanging disk: a server with WORKERS=${workers} ends on SIGTERM`, async (t) => {
    const { server, issue, hang } = await startOnHangingDisk(t, { workers })
    hang()
    t.equal(await issue(), 503)
    server.child.kill('SIGTERM')
    t.match(await server.exited, { status: 0 })
    t.equal(server.logged('stopped').length, 1)
  })
}
