import { writeFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { freePort } from '../support/free-port.ts'
import { start, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { until } from '../support/until.ts'
import { startWorkers } from '../support/workers.ts'

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

t.test('Rolling restart: it drops no request, on kept connections or on new ones', async (t) => {
  const { server, credentials } = await startWorkers(t)
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 })
  t.teardown(() => agent.destroy())
  const { port } = new URL(server.address)
  const live = () =>
    new Promise<number>((resolve, reject) => {
      const request = http.get({ port, path: '/health/live', agent }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode as number))
      })
      request.once('error', reject)
    })
  let running = true
  const load = Array.from({ length: 8 }, async (_, n) => {
    const statuses = []
    while (running) statuses.push(n % 2 ? (await server.token(credentials)).status : await live())
    return statuses
  })
  const before = new Set(server.logged('token issued').map(({ pid }) => pid))
  for (let restarts = 1; restarts <= 2; restarts++) {
    server.child.kill('SIGHUP')
    await until(() => server.logged('restarted').length === restarts)
  }
  running = false
  const statuses = (await Promise.all(load)).flat()
  t.ok(statuses.length > 16)
  t.strictSame(new Set(statuses), new Set([200]))
  t.equal((await server.token(credentials)).status, 200)
  t.ok(new Set(server.logged('token issued').map(({ pid }) => pid)).size > before.size)
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 0 })
})

t.test('Rolling restart: a connection that is passed to a worker about to end is answered by another', async (t) => {
  const { server, credentials } = await startWorkers(t)
  for (let n = 0; n < 4; n++) await server.token(credentials)
  await until(() => server.logged('token issued').length === 4)
  const retired = new Set<number>(server.logged('token issued').map(({ pid }) => pid))
  const signalRetired = (signal: NodeJS.Signals) => {
    for (const pid of retired) if (isAlive(pid)) process.kill(pid, signal)
  }
  t.teardown(() => signalRetired('SIGCONT'))
  t.equal(retired.size, 2)

  // The leader has accepted the connections before it learns that these two take no more of them.
  signalRetired('SIGSTOP')
  server.child.kill('SIGHUP')
  await until(() => server.logged('restarted').length === 1)
  server.child.kill('SIGSTOP')
  const answers = Array.from({ length: 8 }, () => server.token(credentials))
  // Nothing tells when: they are all stopped.
  await sleep(200)
  signalRetired('SIGCONT')
  await sleep(1000)
  server.child.kill('SIGCONT')
  const statuses = Promise.all(answers.map(async (answer) => (await answer).status))
  t.strictSame(await Promise.race([statuses, sleep(10_000, undefined, { ref: false })]), Array(8).fill(200))
  await until(() => [...retired].every((pid) => !isAlive(pid)))
})

t.test('Rolling restart: SIGTERM during it ends old and new workers', async (t) => {
  const { server } = await startWorkers(t)
  server.child.kill('SIGHUP')
  await until(() => server.logged('restarting').length === 1)
  server.child.kill('SIGTERM')
  t.strictSame(await server.exited, { status: 0, signal: null })
  t.equal(JSON.parse(server.lines.at(-1) as string).msg, 'stopped')
})

t.test(
  'Rolling restart: signals that come during the start or a restart are served after it, all by one',
  async (t) => {
    const { env } = temporaryDatabase(t)
    const PORT = String(await freePort())
    const child = start(t, ['serve'], { ...env, PORT, WORKERS: '3' })
    const started = startServer(t, env, child)
    const hangUp = () => {
      for (let n = 0; n < 50; n++) child.kill('SIGHUP')
    }
    await until(() =>
      fetch(`http://127.0.0.1:${PORT}/health/live`).then(
        () => true,
        () => false,
      ),
    )
    hangUp()
    const server = await started
    await until(() => server.logged('restarting').length === 1)
    hangUp()
    await until(() => server.logged('restarted').length === 2)
    server.child.kill('SIGTERM')
    t.match(await server.exited, { status: 0 })
    t.strictSame(
      server.lines.map((line) => JSON.parse(line).msg),
      ['ready', 'restarting', 'restarted', 'restarting', 'restarted', 'stopping', 'stopped'],
    )
  },
)

t.test(
  'Rolling restart: new workers have the settings of the start, and the log says which have changed and what is wrong',
  async (t) => {
    const { folder, env } = temporaryDatabase(t)
    const file = join(folder, '.env')
    writeFileSync(file, 'WORKERS=2\nPORT=0\n')
    const server = await startServer(t, {}, start(t, ['serve'], env, { cwd: folder }))
    const issuers = async () => {
      const url = `${server.address}/.well-known/oauth-authorization-server`
      const ask = async () => (await (await fetch(url, { headers: { connection: 'close' } })).json()).issuer
      return new Set(await Promise.all(Array.from({ length: 8 }, ask)))
    }
    const before = await issuers()
    t.equal(before.size, 1)
    writeFileSync(file, 'WORKERS=2\nPORT=0\nPUBLIC_URL=https://other.example\nLOG_LEVEL=loud\n')
    server.child.kill('SIGHUP')
    await until(() => server.logged('restarted').length === 1)
    t.match(server.logged('settings not applied'), [{ level: 'warn', settings: ['LOG_LEVEL', 'PUBLIC_URL'] }])
    t.match(server.logged('settings wrong'), [
      { level: 'warn', problems: ['LOG_LEVEL must be debug, info, warn, error, fatal or silent.'] },
    ])
    t.strictSame(await issuers(), before)

    writeFileSync(file, 'WORKERS: 3\n')
    server.child.kill('SIGHUP')
    await until(() => server.logged('restarted').length === 2)
    t.strictSame(server.logged('settings wrong')[1].problems, ['Line 1 of .env is not KEY=value.'])
    t.strictSame(await issuers(), before, 'and a file that is no longer right stops none')
    server.child.kill('SIGTERM')
    t.match(await server.exited, { status: 0 })
  },
)
