import t from 'tap'
import { CATALOGUE, type Metric, PREFIX } from '../../../src/telemetry/metrics/catalogue.ts'
import { createEventCounter } from '../../../src/telemetry/metrics/count-events.ts'
import { createExposition } from '../../../src/telemetry/metrics/exposition.ts'
import { createNumbers } from '../../../src/telemetry/metrics/numbers.ts'

t.test('Exposition: every series that events count is there from the start, with 0', async (t) => {
  const { text } = createExposition(createNumbers(), async () => ({}))
  const lines = (await text()).split('\n')
  for (const [name, { type, labels, buckets }] of Object.entries<Metric>(CATALOGUE)) {
    t.ok(lines.some((line) => line.startsWith(`# HELP ${PREFIX}${name} `)))
    t.ok(lines.includes(`# TYPE ${PREFIX}${name} ${type}`))
    const values = Object.values(labels)
    const series = values.reduce((count, { length }) => count * length, 1)
    const width = buckets ? buckets.length + 3 : 1
    const found = lines.filter((line) => new RegExp(`^${PREFIX}${name}(_bucket|_sum|_count)?(\\{.*\\})? 0$`).test(line))
    t.equal(found.length, type === 'gauge' ? 0 : series * width, name)
  }
  t.ok(lines.some((line) => line.startsWith('process_cpu_seconds_total ')))
  t.ok(lines.some((line) => line.startsWith('nodejs_heap_size_used_bytes ')))
})

t.test('Exposition: a histogram has each bucket with those before it, the sum and the count', async (t) => {
  const numbers = createNumbers()
  const observe = createEventCounter(numbers)
  for (const size of [1, 1, 2, 2000]) observe({ type: 'batch written', size, seconds: 0 })
  observe({ type: 'round trip', kind: 'read', seconds: 0.5 })
  const text = await createExposition(numbers, async () => ({})).text()
  const batch = `${PREFIX}write_batch_size`
  t.match(text, `${batch}_bucket{le="1"} 2\n${batch}_bucket{le="2"} 3\n${batch}_bucket{le="5"} 3\n`)
  t.match(text, `${batch}_bucket{le="1000"} 3\n${batch}_bucket{le="+Inf"} 4\n${batch}_sum 2004\n${batch}_count 4\n`)
  t.match(text, `${PREFIX}database_round_trip_duration_seconds_bucket{kind="read",le="1"} 1\n`)
  t.match(text, `${PREFIX}database_round_trip_duration_seconds_count{kind="write"} 0\n`)
})

t.test('Exposition: what is measured is asked for when somebody asks, and once for all who ask then', async (t) => {
  let times = 0
  const { text, type } = createExposition(createNumbers(), async () => {
    times++
    return { connections: [[[], times]], secrets_ending: [[['1d'], 2]] }
  })
  const [first, second] = await Promise.all([text(), text()])
  t.equal(first, second)
  t.match(first, `\n${PREFIX}connections 1\n`)
  t.match(first, `\n${PREFIX}secrets_ending{within="1d"} 2\n`)
  t.match(await text(), `\n${PREFIX}connections 2\n`)
  t.equal(type, 'text/plain; version=0.0.4; charset=utf-8')
})
