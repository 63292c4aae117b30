import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SERVE, startLeader } from '../support/leader.ts'
import { until } from '../support/until.ts'

t.test(
  'Rolling restart: one that fails says why in one line of JSON, the old workers go on, and the next signal works',
  async (t) => {
    const { server, credentials, rewrite } = await startLeader(t, { patience: { start: 12_000 } })
    const failures = [
      { program: 'const wrong syntax', reason: /SyntaxError/ },
      { program: "import 'a-package-that-is-missing'", reason: /Cannot find package 'a-package-that-is-missing'/ },
      { program: `process.env.LOG_LEVEL = 'loud'${SERVE}`, reason: /: LOG_LEVEL must be debug, / },
      { program: 'process.exit(7)', reason: /: it ended with status 7\.$/ },
      { program: 'setInterval(() => {}, 1000)', reason: /: it was not ready after 12 seconds\.$/ },
    ]
    for (const [at, { program, reason }] of failures.entries()) {
      rewrite(program)
      server.child.kill('SIGHUP')
      await until(() => server.logged('rolling restart failed').length === at + 1)
      const { level, err } = server.logged('rolling restart failed')[at]
      t.equal(level, 'error')
      t.match(err.message, /^A worker did not start: /)
      t.match(err.message, reason)
      t.equal((await server.token(credentials)).status, 200)
    }

    rewrite(SERVE)
    server.child.kill('SIGHUP')
    await until(() => server.logged('restarted').length === 1)
    t.equal((await server.token(credentials)).status, 200)
    server.child.kill('SIGTERM')
    t.strictSame(await server.exited, { status: 0, signal: null })
    for (const line of server.lines) t.doesNotThrow(() => JSON.parse(line), line)
    t.equal(JSON.parse(server.lines.at(-1) as string).msg, 'stopped')
  },
)

t.test('Rolling restart: SIGTERM while a new worker hangs ends everything at once, and in order', async (t) => {
  const { server, rewrite, folder } = await startLeader(t)
  const marker = join(folder, 'hanging')
  rewrite(`import fs from 'node:fs'\nfs.writeFileSync(${JSON.stringify(marker)}, '')\nsetInterval(() => {}, 1000)`)
  server.child.kill('SIGHUP')
  await until(() => existsSync(marker))
  server.child.kill('SIGTERM')
  t.strictSame(await server.exited, { status: 0, signal: null })
  t.strictSame(
    server.lines.map((line) => JSON.parse(line).msg),
    ['ready', 'restarting', 'stopping', 'stopped'],
  )
})
