import t from 'tap'
import { createFallible } from '../support/postgres/fallible.ts'
import { command } from '../support/spawn.ts'
import { until } from '../support/until.ts'

// Most of the time nothing happens.
t.jobs = 4
for (const workers of ['1', '2']) {
  t.test(`A database that hangs: a server with WORKERS=${workers} ends on SIGTERM`, { buffered: true }, async (t) => {
    const { node, postgres } = await createFallible(t, { WORKERS: workers })
    postgres.suspend()
    t.equal(await node.issue(), 503)
    node.server.child.kill('SIGTERM')
    t.match(await node.server.exited, { status: 0 })
    t.equal(node.server.logged('stopped').length, 1)
  })
}

t.test('A database that hangs: a command says so in a sentence', { buffered: true }, async (t) => {
  const { env, postgres } = await createFallible(t)
  postgres.suspend()
  const { status, out, err } = await command(t, ['apps', 'list'], env)
  t.match([status, out, err], [1, '', /^PostgreSQL at 127\.0\.0\.1:\d+: .*\n$/])
})

t.test(
  'A database that is away: a worker that has to be replaced is, when it is back',
  { buffered: true },
  async (t) => {
    const { node, postgres } = await createFallible(t, { WORKERS: '2' })
    await postgres.kill()
    t.equal(await node.issue(), 503)
    const [{ pid }] = node.server.logged('token issued')
    process.kill(pid, 'SIGKILL')
    await until(() => node.server.logged('worker exited unexpectedly').length > 0)
    await postgres.start()
    await until(async () => {
      await node.issue().catch(() => {})
      return new Set(node.server.logged('token issued').map((line) => line.pid)).size >= 3
    })
  },
)
