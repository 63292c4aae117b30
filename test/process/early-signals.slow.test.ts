import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { MAIN, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { until } from '../support/until.ts'

/** Starts the program, which gets a signal while it loads its first package. */
function startSignalled(t: Test, signal: NodeJS.Signals, args: string[], env: NodeJS.ProcessEnv) {
  const sendIt = `
    import { registerHooks } from 'node:module'
    let isSent = false
    registerHooks({
      load(url, context, next) {
        if (!isSent && url.includes('/node_modules/commander/')) process.kill(process.pid, '${signal}')
        isSent ||= url.includes('/node_modules/commander/')
        return next(url, context)
      },
    })`
  // Without what tap adds to a process, which listens to signals itself.
  const shell = `unset NODE_OPTIONS; exec "$0" "$@"`
  const node = [process.execPath, `--import=data:text/javascript,${encodeURIComponent(sendIt)}`]
  const child = spawn('sh', ['-c', shell, ...node, MAIN, ...args], {
    env: { ...process.env, ...temporaryDatabase(t).env, PORT: '0', ...env },
  })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

t.test('Signals: one that comes while the program is loaded ends the server in order', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    const server = await startServer(t, {}, startSignalled(t, signal, ['serve'], {}))
    t.strictSame(await server.exited, { status: 0, signal: null })
    t.match(server.logged('stopping'), [{ signal }])
    t.equal(JSON.parse(server.lines.at(-1) as string).msg, 'stopped')
  }
})

t.test('Signals: with several workers SIGHUP is a rolling restart, however early it comes', async (t) => {
  const server = await startServer(t, {}, startSignalled(t, 'SIGHUP', ['serve'], { WORKERS: '2' }))
  await until(() => server.logged('restarted').length === 1)
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 0 })
})

t.test('Signals: a command ends of them, as programs do', async (t) => {
  const child = startSignalled(t, 'SIGTERM', ['suites', 'list'], {})
  t.strictSame(await once(child, 'exit'), [null, 'SIGTERM'])
})
