import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startLeader } from '../support/leader.ts'
import { scrape } from '../support/scrape.ts'
import { preload, register, runJson, type Server, startServer, startServing } from '../support/spawn.ts'
import { SQLITE, startPostgresStore } from '../support/stores.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { until } from '../support/until.ts'

const OPS = { OPS_ADDRESS: '127.0.0.1:0' }
const ISSUED = 'http_requests_total{endpoint="/v1/oauth/accesstoken",status="200"}'

/** The address of the ops listener of a server that is ready. */
const opsOf = (server: Server): string => server.logged('ready')[0].ops

t.test('Metrics: a server counts its requests, shows them on a port of its own, and is seen to stop', async (t) => {
  const { credentials, server } = await startServing(t, OPS)
  const ops = opsOf(server)
  for (let n = 0; n < 3; n++) t.equal(await server.issue(credentials), 200)
  t.equal(await server.issue({ ...credentials, client_secret: 'wrong' }), 401)
  await until(async () => (await scrape(ops)).get(ISSUED) === 3)
  t.match(Object.fromEntries(await scrape(ops)), {
    tokens_issued_total: 3,
    'authentication_refusals_total{reason="wrong secret"}': 1,
    'http_request_duration_seconds_count{endpoint="/v1/oauth/accesstoken"}': 4,
    write_batch_size_sum: 3,
    disk_sync_duration_seconds_count: Number,
  })
  await until(async () => Number((await scrape(ops)).get('worker_cpu_seconds_total{worker="1"}')) > 0)

  const finish = await server.beginToken(credentials)
  await until(async () => (await scrape(ops)).get('http_requests_in_flight') === 1)
  server.child.kill('SIGTERM')
  await until(async () => (await scrape(ops)).get('workers') === 0)
  t.equal((await fetch(`${ops}/health/ready`)).status, 503, 'while requests are still answered')
  t.equal((await fetch(`${ops}/health/live`)).status, 200)
  t.equal((await finish()).status, 200)
  t.match(await server.exited, { status: 0 })
})

t.test('Metrics: a server without OPS_ADDRESS has no timer that wakes it often', async (t) => {
  const intervals = `
    const { setInterval } = globalThis
    const intervals = []
    globalThis.setInterval = (callback, ms, ...args) => {
      intervals.push(ms)
      return setInterval(callback, ms, ...args)
    }
    process.on('SIGUSR2', () => console.log(JSON.stringify({ msg: 'intervals', intervals })))`
  const often = async (settings: NodeJS.ProcessEnv) => {
    const server = await startServer(t, { ...temporaryDatabase(t).env, ...preload(intervals), ...settings })
    server.child.kill('SIGUSR2')
    await until(() => server.logged('intervals').length === 1)
    return server.logged('intervals')[0].intervals.filter((ms: number) => ms < 500).length
  }
  t.equal(await often({}), 0)
  t.ok((await often(OPS)) > 0)
})

t.test('Metrics: counters of a leader never fall, even if its workers end', async (t) => {
  const timeouts = { pingInterval: 500, unansweredPings: 12 }
  const { server, credentials, workers } = await startLeader(t, { timeouts, env: OPS })
  const ops = opsOf(server)
  const [first, second] = await workers()

  /** All scrapes, one after the other, and whether a counter was ever less than before. */
  let known = new Map<string, number>()
  const fallen: string[] = []
  async function look(): Promise<Map<string, number>> {
    const now = await scrape(ops)
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
  // Scrapes do not wait for a worker that hangs.
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

  // What the two that were killed had not told or logged yet is lost: some seconds of each.
  const issued = server.logged('token issued')
  const killed = [first, second].map((pid) => issued.filter((line) => line.pid === pid))
  const late = killed.flatMap((lines) => lines.filter(({ time }) => time > lines.at(-1).time - 3000))
  await until(async () => {
    const difference = Math.abs(((await look()).get(ISSUED) as number) - issued.length)
    return difference <= late.length && known.has('worker_resident_memory_bytes{worker="2"}')
  })
  t.strictSame(fallen, [])
  t.match(Object.fromEntries(known), {
    'worker_restarts_total{reason="exited"}': 1,
    'worker_restarts_total{reason="silent"}': 1,
    'worker_restarts_total{reason="rolling restart"}': 2,
    workers: 2,
  })
  t.notOk(known.has('worker_resident_memory_bytes{worker="3"}'))
  t.match(await server.stop(), { status: 0 })
})

t.test('Metrics: workers that end in order have told all that they counted', async (t) => {
  const { server, credentials } = await startLeader(t, { env: OPS })
  for (let n = 0; n < 10; n++) await server.token(credentials)
  await server.restart()
  await until(async () => (await scrape(opsOf(server))).get(ISSUED) === 10)
  t.match(await server.stop(), { status: 0 })
})

for (const WORKERS of ['1', '2']) {
  t.test(`Statistics: requests are counted at once, with ${WORKERS} processes`, async (t) => {
    const { env, credentials, server } = await startServing(t, { ADMIN_ADDRESS: '127.0.0.1:0', WORKERS })
    await runJson(['operators', 'add', 'viktor', '--role', 'viewer'], { env })
    const { admin_key } = await runJson(['operators', 'key', 'viktor', '--expires', '1d'], { env })
    const headers = { authorization: `Bearer ${admin_key}` }
    const address = `${server.logged('ready')[0].admin}/admin/v1/statistics`
    const statistics = async () => (await fetch(address, { headers })).json()
    t.match(await statistics(), {
      last_hour: { tokens: 0, refusals: 0, token_latency: null },
      live_tokens: { count: 0 },
    })
    for (let n = 0; n < 4; n++) t.equal(await server.issue(credentials), 200)
    t.equal(await server.issue({ ...credentials, client_secret: 'wrong' }), 401)
    const { body } = await server.token(credentials)
    t.equal(await server.statusOf('/v1/oauth/verify', body.access_token), 200)
    await until(async () => {
      const { last_hour: done, live_tokens: live, workers } = await statistics()
      const isCounted = done.tokens === 5 && done.refusals === 1 && done.active_checks === 1
      return isCounted && live.count === 5 && workers.each.length === Number(WORKERS)
    })
    t.match(await statistics(), {
      last_hour: { token_latency: { p99_seconds: Number } },
      minutes: { length: 61 },
      refusals: [{ kind: 'authentication', reason: 'wrong secret', count: 1 }],
      workers: { expected: Number(WORKERS), serving: Number(WORKERS), each: [{ worker: 1, resident_bytes: Number }] },
      store: { kind: 'sqlite', is_up: true },
    })
  })
}

for (const { name, createEnv } of [SQLITE, await startPostgresStore()]) {
  const rule = 'what several workers did and refused is known soon, and all of it at their end'
  t.test(`why, on ${name}: ${rule}`, async (t) => {
    const env = { ...(await createEnv(t)), WORKERS: '2' }
    const credentials = await register(env)
    const { client_id } = credentials
    const server = await startServer(t, env)
    const wrong = { ...credentials, client_secret: 'wrong' }
    for (let n = 0; n < 4; n++) t.equal(await server.issue(wrong), 401)

    const explain = () => runJson(['why', client_id], { env })
    await until(async () => (await explain()).refusals[0]?.count === 4)
    const { diagnosis, refusals } = await explain()
    t.match(diagnosis, /^Its requests are refused, 4 times, .* The secret that it sends is wrong/)
    const lines = server.logged('authentication refused')
    const line = lines.find(({ request_id }) => request_id === refusals[0].request_id)
    t.match(line, { client_id, reason: 'wrong secret' }, 'the log has the request')
    t.equal(new Set(lines.map(({ pid }) => pid)).size, 2)

    for (let n = 0; n < 4; n++) t.equal(await server.issue(credentials), 200)
    t.equal(await server.issue(wrong), 401)
    t.match(await server.stop(), { status: 0 })
    t.equal(server.issuers().length, 2)
    t.match(await explain(), { refusals: [{ count: 5 }], application: { tokens_refused_this_hour: 0 } })
    const [listed] = await runJson(['apps', 'list'], { env })
    t.equal(listed.tokens_this_hour + listed.tokens_last_hour, 4)
    const shown = await runJson(['apps', 'show', client_id], { env })
    t.match(shown, { last_token_at: /^\d{4}-.*Z$/, secrets: [{ last_used_at: /^\d{4}-.*Z$/ }] })
  })
}
