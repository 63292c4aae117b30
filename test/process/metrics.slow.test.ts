import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startLeader } from '../support/leader.ts'
import { said, statuses } from '../support/listening.ts'
import { register } from '../support/register.ts'
import { scrape } from '../support/scrape.ts'
import { command, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { until } from '../support/until.ts'

const OPS = { OPS_ADDRESS: '127.0.0.1:0' }
const ISSUED = 'http_requests_total{endpoint="/v1/oauth/accesstoken",status="200"}'

/** The address of the ops listener of a server that is ready. */
const opsOf = (server: Awaited<ReturnType<typeof startServer>>): string => server.logged('ready')[0].ops

t.test('Metrics: a server counts its requests, shows them on a port of its own, and is seen to stop', async (t) => {
  const { env } = temporaryDatabase(t)
  const credentials = await register(env)
  const server = await startServer(t, { ...env, ...OPS })
  const ops = opsOf(server)
  t.match(ops, /^http:\/\/127\.0\.0\.1:\d+$/)
  for (let n = 0; n < 3; n++) t.equal((await server.token(credentials)).status, 200)
  t.equal((await server.token({ ...credentials, client_secret: 'wrong' })).status, 401)
  await until(async () => (await scrape(ops)).get(ISSUED) === 3)
  t.match(Object.fromEntries(await scrape(ops)), {
    tokens_issued_total: 3,
    'http_requests_total{endpoint="/v1/oauth/accesstoken",status="401"}': 1,
    'authentication_refusals_total{reason="wrong secret"}': 1,
    'http_request_duration_seconds_count{endpoint="/v1/oauth/accesstoken"}': 4,
    write_batch_size_sum: 3,
    disk_sync_duration_seconds_count: Number,
    workers: 1,
    store_up: 1,
  })
  await until(async () => Number((await scrape(ops)).get('worker_cpu_seconds_total{worker="1"}')) > 0)

  const { port } = new URL(server.address)
  const slow = connect({ port: Number(port), host: '127.0.0.1' })
  await once(slow, 'connect')
  slow.write('POST /v1/oauth/accesstoken HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n')
  slow.write('Content-Type: application/x-www-form-urlencoded\r\n\r\n')
  await until(async () => (await scrape(ops)).get('http_requests_in_flight') === 1)
  server.child.kill('SIGTERM')
  await until(async () => (await scrape(ops)).get('workers') === 0)
  t.equal((await fetch(`${ops}/health/ready`)).status, 503, 'while requests are still answered')
  t.equal((await fetch(`${ops}/health/live`)).status, 200)
  slow.write('x')
  t.strictSame(statuses(await said(slow)), [400])
  t.match(await server.exited, { status: 0 })
})

t.test('Metrics: one server, too, looks at itself once a second, and all who ask then are told the same', async (t) => {
  const server = await startServer(t, { ...temporaryDatabase(t).env, ...OPS })
  const lag = async () => Number((await scrape(opsOf(server))).get('worker_event_loop_lag_seconds{worker="1"}'))
  await until(async () => {
    server.child.kill('SIGSTOP')
    await sleep(500)
    server.child.kill('SIGCONT')
    for (let n = 0; n < 10; n++) {
      if ((await lag()) >= 0.4 && (await lag()) >= 0.4) return true
      await sleep(100)
    }
    return false
  })
})

t.test(
  'Metrics: a server without OPS_ADDRESS rests while nobody asks',
  { skip: process.platform !== 'linux' && 'needs /proc' },
  async (t) => {
    const server = await startServer(t, temporaryDatabase(t).env)
    const status = () => readFileSync(`/proc/${server.child.pid}/status`, 'utf8')
    const rests = () => Number(status().match(/^voluntary_ctxt_switches:\s+(\d+)$/m)?.[1])
    await sleep(2000)
    const before = rests()
    await sleep(3000)
    t.ok(rests() - before < 45, `woke ${rests() - before} times in three seconds`)
  },
)

t.test('Metrics: a server whose OPS_ADDRESS is taken does not start, nor does a leader', async (t) => {
  const other = http.createServer().listen(0, '127.0.0.1')
  t.teardown(() => other.close())
  await once(other, 'listening')
  const OPS_ADDRESS = `127.0.0.1:${(other.address() as { port: number }).port}`
  for (const WORKERS of ['1', '2']) {
    const { env } = temporaryDatabase(t)
    const { status, err, out } = await command(t, ['serve'], { ...env, PORT: '0', OPS_ADDRESS, WORKERS })
    t.equal(status, 1)
    t.match(err, `Cannot listen on OPS_ADDRESS, ${OPS_ADDRESS}: `)
    t.equal(out, '')
  }
})

t.test('Metrics: counters of a leader never fall, whatever becomes of its workers', async (t) => {
  const patience = { interval: 300, questions: 10 }
  const { server, credentials, workers } = await startLeader(t, { patience, env: OPS })
  const ops = opsOf(server)
  const [first, second] = (await workers()) as [number, number]

  /** All scrapes, one after the other, and whether a counter was ever less than before. */
  let known = new Map<string, number>()
  const fallen: string[] = []
  let scrapes = 0
  async function look(): Promise<Map<string, number>> {
    const now = await scrape(ops)
    scrapes++
    for (const [name, value] of known) {
      if (!/_(total|bucket|count|sum)(\{|$)/.test(name) || name.startsWith('nodejs_')) continue
      if ((now.get(name) ?? -1) < value) fallen.push(`${name}: ${value}, then ${now.get(name)}`)
    }
    known = now
    return now
  }

  let isOver = false
  const load = Array.from({ length: 4 }, async () => {
    // Of the workers that are killed some requests get no answer.
    while (!isOver) await server.token(credentials).catch(() => {})
  })
  const looking = (async () => {
    while (!isOver) {
      await look()
      await sleep(50)
    }
  })()

  await until(() => (known.get(ISSUED) ?? 0) >= 20)
  t.equal(known.get('workers'), 2)

  process.kill(first, 'SIGKILL')
  await until(() => known.get('worker_restarts_total{reason="exited"}') === 1)
  await until(() => known.get('workers') === 2)

  process.kill(second, 'SIGSTOP')
  await until(() => known.get('worker_restarts_total{reason="silent"}') === 1)

  server.child.kill('SIGHUP')
  await until(() => known.get('worker_restarts_total{reason="rolling restart"}') === 2)
  const before = known.get(ISSUED) as number
  await until(() => (known.get(ISSUED) as number) >= before + 20)

  isOver = true
  await Promise.all([...load, looking])
  await until(async () => (await look()).get('http_requests_in_flight') === 0)
  await sleep(1500)
  const last = await look()
  t.strictSame(fallen, [])
  t.ok(scrapes > 10)
  // What the two that were killed had not told or logged yet is lost: a second or so of each.
  const issued = server.logged('token issued')
  const killed = [first, second].map((pid) => issued.filter((line) => line.pid === pid))
  const late = killed.flatMap((lines) => lines.filter(({ time }) => time > lines.at(-1).time - 3000))
  const difference = Math.abs((last.get(ISSUED) as number) - issued.length)
  t.ok(difference <= late.length, `${difference} of ${issued.length}, and ${late.length} may be lost`)
  t.match(Object.fromEntries(last), {
    'worker_restarts_total{reason="exited"}': 1,
    'worker_restarts_total{reason="silent"}': 1,
    'worker_restarts_total{reason="rolling restart"}': 2,
    'worker_resident_memory_bytes{worker="1"}': Number,
    'worker_resident_memory_bytes{worker="2"}': Number,
    workers: 2,
    workers_expected: 2,
  })
  t.notOk(last.has('worker_resident_memory_bytes{worker="3"}'))
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 0 })
})

t.test('Metrics: a scrape does not wait for a worker that hangs', async (t) => {
  const { server, workers } = await startLeader(t, { patience: { interval: 60_000 }, env: OPS })
  const [worker] = (await workers()) as [number, number]
  process.kill(worker, 'SIGSTOP')
  t.teardown(() => process.kill(worker, 'SIGKILL'))
  const answer = await fetch(`${opsOf(server)}/metrics`, { signal: AbortSignal.timeout(10_000) })
  t.match(await answer.text(), 'token_server_workers 2\n')
})

t.test('Metrics: workers that end in order have told all that they counted', async (t) => {
  const { server, credentials } = await startLeader(t, { env: OPS })
  const ops = opsOf(server)
  for (let n = 0; n < 10; n++) await server.token(credentials)
  server.child.kill('SIGHUP')
  await until(() => server.logged('restarted').length === 1)
  await until(async () => (await scrape(ops)).get(ISSUED) === 10)
  t.equal((await scrape(ops)).get('tokens_issued_total'), 10)
  server.child.kill('SIGTERM')
  t.match(await server.exited, { status: 0 })
})
