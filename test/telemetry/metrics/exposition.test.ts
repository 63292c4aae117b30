import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { REQUEST_REASONS } from '../../../src/domain/reasons.ts'
import { ENDPOINTS } from '../../../src/domain/refusal.ts'
import { CATALOGUE, type Metric, PREFIX, STATUSES } from '../../../src/telemetry/metrics/catalogue.ts'
import { createEventCounter } from '../../../src/telemetry/metrics/count-events.ts'
import { createCounters } from '../../../src/telemetry/metrics/counters.ts'
import { createExposition } from '../../../src/telemetry/metrics/exposition.ts'
import { createWorld } from '../../support/world.ts'

t.test('Exposition: every counted series exists from the start, with 0', async (t) => {
  const { text } = createExposition(createCounters(), async () => ({}))
  const lines = (await text()).split('\n')
  const wrong = Object.entries<Metric>(CATALOGUE).filter(([name, { type, labels, buckets }]) => {
    const series = Object.values(labels).reduce((count, { length }) => count * length, 1)
    const width = buckets ? buckets.length + 3 : 1
    const pattern = new RegExp(`^${PREFIX}${name}(_bucket|_sum|_count)?(\\{.*\\})? 0$`)
    const found = lines.filter((line) => pattern.test(line)).length
    const isDescribed = lines.some((line) => line.startsWith(`# HELP ${PREFIX}${name} `))
    const isTyped = lines.includes(`# TYPE ${PREFIX}${name} ${type}`)
    return !isDescribed || !isTyped || found !== (type === 'gauge' ? 0 : series * width)
  })
  t.strictSame(wrong, [])
  t.ok(lines.some((line) => line.startsWith('process_cpu_seconds_total ')))
  t.ok(lines.some((line) => line.startsWith('nodejs_heap_size_used_bytes ')))
})

t.test('Exposition: the first text has all CPU time of the process, and delays of the event loop', async (t) => {
  const { user, system } = process.cpuUsage()
  let text = ''
  const figure = (name: string) => Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1])
  // No delay is measured while the machine pauses the process. Then a new text is made.
  for (let tries = 0; tries < 5 && !(figure('nodejs_eventloop_lag_mean_seconds') > 0); tries++) {
    text = await createExposition(createCounters(), async () => ({})).text()
  }
  t.ok(figure('process_cpu_user_seconds_total') >= user / 1e6)
  t.ok(figure('process_cpu_system_seconds_total') >= system / 1e6)
  t.ok(figure('process_cpu_seconds_total') >= (user + system) / 1e6)
  t.ok(figure('nodejs_eventloop_lag_mean_seconds') > 0)
  t.ok(figure('nodejs_eventloop_lag_min_seconds') < 1)
})

t.test('Exposition: a histogram has each bucket with those before it, the sum and the count', async (t) => {
  const counters = createCounters()
  const observe = createEventCounter(counters)
  for (const size of [1, 1, 2, 2000]) observe({ type: 'batch written', size, seconds: 0 })
  observe({ type: 'round trip', kind: 'read', seconds: 0.5 })
  const text = await createExposition(counters, async () => ({})).text()
  const batch = `${PREFIX}write_batch_size`
  t.match(text, `${batch}_bucket{le="1"} 2\n${batch}_bucket{le="2"} 3\n${batch}_bucket{le="5"} 3\n`)
  t.match(text, `${batch}_bucket{le="1000"} 3\n${batch}_bucket{le="+Inf"} 4\n${batch}_sum 2004\n${batch}_count 4\n`)
  t.match(text, `${PREFIX}database_round_trip_duration_seconds_bucket{kind="read",le="1"} 1\n`)
  t.match(text, `${PREFIX}database_round_trip_duration_seconds_count{kind="write"} 0\n`)
})

t.test('Exposition: figures are measured for each scrape, and once for those that wait', async (t) => {
  let times = 0
  const { text, type } = createExposition(createCounters(), async () => {
    times++
    return { connections: [[[], times]], secrets_ending: [[['1d'], 2]] }
  })
  const [first, second] = await Promise.all([text(), text()])
  t.equal(first, second)
  t.match(first, `\n${PREFIX}connections 1\n`)
  t.match(first, `\n${PREFIX}secrets_ending{within="1d"} 2\n`)
  const [third, fourth] = await Promise.all([text(), turn().then(text)])
  t.match(third, `\n${PREFIX}connections 2\n`)
  t.equal(fourth, third, 'one that comes soon after waits, and so do those behind it')
  t.equal(type, 'text/plain; version=0.0.4; charset=utf-8')
})

t.test("Metrics: names follow Prometheus's conventions", async (t) => {
  const wrong = Object.entries<Metric>(CATALOGUE).filter(([name, { type, help, labels }]) => {
    const isNamed = /^[a-z][a-z_]*[a-z]$/.test(PREFIX + name) && /^[A-Z].*\.$/.test(help)
    // Counters end with _total, and nothing else does. No label has a name of Prometheus's own.
    const isTaken = ['job', 'instance', 'le'].some((label) => label in labels)
    return !isNamed || isTaken || name.endsWith('_total') !== (type === 'counter')
  })
  t.strictSame(wrong, [])
})

t.test('Metrics: endpoints are the routes of the public port, and other', async (t) => {
  const { app } = await createWorld(t, { handsOver: true })
  await app.ready()
  const method = (url: string) => (url.includes('oauth/') && !url.endsWith('/authorize') ? 'POST' : 'GET')
  const others = ENDPOINTS.filter((url) => !app.findRoute({ url, method: method(url) }))
  t.strictSame(others, ['other'])
  const routes = app.printRoutes({ commonPrefix: false }).matchAll(/(\S+) \([A-Z]/g)
  t.strictSame(new Set([...routes].map(([, path]) => path)).size, ENDPOINTS.length - 1)
})

t.test('Metrics: statuses are those that refusals have, and those of checks', async (t) => {
  const refused = Object.values(REQUEST_REASONS).map(({ status }) => String(status))
  t.strictSame(new Set(STATUSES), new Set([...refused, '200', '403']))
})
