import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { isRunning, SERVE, spawnLeader, startLeader } from '../support/leader.ts'
import { scrape } from '../support/scrape.ts'
import { startServer } from '../support/spawn.ts'
import { until } from '../support/until.ts'

const LINUX = { skip: process.platform !== 'linux' && 'needs named pipes and /proc' }

t.test('Leader: SIGTERM during the start ends it, and in order', async (t) => {
  const marker = "import fs from 'node:fs'\nfs.writeFileSync('hanging', '')\nsetInterval(() => {}, 1000)"
  const { child, env, folder } = await spawnLeader(t, { program: marker })
  const lines: string[] = []
  child.stdout.setEncoding('utf8').on('data', (text) => lines.push(text))
  const started = startServer(t, env, child)
  await until(() => existsSync(join(folder, 'hanging')))
  child.kill('SIGTERM')
  await t.rejects(started, { message: '' }, 'and has nothing to say on standard error')
  t.equal(child.exitCode, 0)
  t.match(lines.join(''), /"stopping".*\n.*"stopped"/)
})

t.test(
  'Leader: a worker that no longer answers is killed and replaced, and the connection it was given goes to another',
  LINUX,
  async (t) => {
    const { server, credentials, workers } = await startLeader(t, { patience: { interval: 500, questions: 6 } })
    const [first, second] = (await workers()) as [number, number]

    process.kill(first, 'SIGSTOP')
    const answers = await Promise.all(Array.from({ length: 8 }, () => server.token(credentials)))
    t.strictSame(new Set(answers.map(({ status }) => status)), new Set([200]))
    await until(() => server.logged('worker exited unexpectedly').length === 1)
    t.match(server.logged('worker silent'), [{ level: 'error', worker: first }])
    t.match(server.logged('worker exited unexpectedly'), [{ worker: first, signal: 'SIGKILL' }])
    await until(async () => {
      await server.token(credentials)
      return new Set(server.logged('token issued').map(({ pid }) => pid)).size === 3
    })

    const third = server.logged('token issued').find(({ pid }) => pid !== first && pid !== second).pid
    process.kill(second, 'SIGSTOP')
    process.kill(third, 'SIGSTOP')
    const lost = Array.from({ length: 4 }, () => server.token(credentials))
    for (const answer of await Promise.allSettled(lost)) {
      t.ok(answer.status === 'rejected' || answer.value.status === 200, 'where there is no other worker it is closed')
    }
    await until(() =>
      server.token(credentials).then(
        ({ status }) => status === 200,
        () => false,
      ),
    )
    server.child.kill('SIGTERM')
    t.match(await server.exited, { status: 0 })
  },
)

t.test('Leader: what a worker writes to standard error becomes a line of the log', async (t) => {
  const program = `
    process.on('SIGUSR2', () => console.error('Careful:\\nthe "disk"'))
    process.on('SIGWINCH', () => { console.error('FATAL ERROR: the heap'); process.exit(3) })
    ${SERVE}`
  const { server, workers } = await startLeader(t, { program })
  const [worker] = (await workers()) as [number, number]
  process.kill(worker, 'SIGUSR2')
  await until(() => server.logged('worker printed').length === 1)
  t.match(server.logged('worker printed'), [{ level: 'warn', worker, text: 'Careful:\nthe "disk"' }])

  process.kill(worker, 'SIGWINCH')
  await until(() => server.logged('worker exited unexpectedly').length === 1)
  t.match(server.logged('worker exited unexpectedly'), [{ worker, code: 3, err: { message: 'FATAL ERROR: the heap' } }])
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 0 })
})

t.test('Leader: where not all workers start, none is left behind', LINUX, async (t) => {
  const program = `
    import { existsSync, writeFileSync } from 'node:fs'
    if (existsSync('first')) process.exit(7)
    writeFileSync('first', String(process.pid))
    ${SERVE}`
  const { child, env, folder } = await spawnLeader(t, { program })
  await t.rejects(startServer(t, env, child), /A worker did not start: it ended with status 7\./)
  t.equal(child.exitCode, 1)
  await until(() => !isRunning(Number(readFileSync(join(folder, 'first'), 'utf8'))))
})

/** A leader that is replacing its first worker: that is killed, and its successor is stopped before it listens. */
async function loseDuringRestart(t: Test) {
  const program = `
    import { appendFileSync, existsSync, rmSync } from 'node:fs'
    appendFileSync('started', process.pid + '\\n')
    if (existsSync('hold')) {
      rmSync('hold')
      process.kill(process.pid, 'SIGSTOP')
    }
    ${SERVE}`
  const leader = await startLeader(t, { program, env: { OPS_ADDRESS: '127.0.0.1:0' } })
  const { server, folder } = leader
  const started = () => readFileSync(join(folder, 'started'), 'utf8').trim().split('\n').map(Number)
  const [first] = started() as [number]
  writeFileSync(join(folder, 'hold'), '')
  server.child.kill('SIGHUP')
  await until(() => started().length === 3)
  process.kill(first, 'SIGKILL')
  await until(() => server.logged('worker exited unexpectedly').length === 1)
  // Nothing tells that no other one is started: it would be after a second.
  await sleep(2000)
  return { ...leader, started, successor: started()[2] as number, ops: server.logged('ready')[0].ops as string }
}

t.test('Leader: a worker that is lost while its successor starts gets no second one', async (t) => {
  const { server, started, successor, ops } = await loseDuringRestart(t)
  t.equal(started().length, 3)
  process.kill(successor, 'SIGCONT')
  await until(() => server.logged('restarted').length === 1)
  t.equal(started().length, 4)
  await until(async () => (await scrape(ops)).has('worker_resident_memory_bytes{worker="2"}'))
  const metrics = await scrape(ops)
  const labels = [...metrics.keys()].filter((name) => name.startsWith('worker_cpu_seconds_total'))
  t.strictSame(labels, ['worker_cpu_seconds_total{worker="1"}', 'worker_cpu_seconds_total{worker="2"}'])
  t.match(Object.fromEntries(metrics), {
    workers: 2,
    'worker_restarts_total{reason="exited"}': 0,
    'worker_restarts_total{reason="rolling restart"}': 2,
  })
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 0 })
})

t.test('Leader: a worker that is lost while its successor starts is replaced where that does not listen', async (t) => {
  const { server, started, successor, ops } = await loseDuringRestart(t)
  process.kill(successor, 'SIGKILL')
  await until(() => server.logged('rolling restart failed').length === 1)
  await until(async () => (await scrape(ops)).get('workers') === 2)
  t.equal(started().length, 4)
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 0 })
})
