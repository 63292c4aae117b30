import t, { type Test } from 'tap'
import { readConfig } from '../../src/config.ts'
import { OperatorError } from '../../src/domain/operator-error.ts'
import { startOps } from '../../src/server/ops.ts'
import { createServerFigures } from '../../src/server/server-figures.ts'
import { createNumbers } from '../../src/telemetry/metrics/numbers.ts'
import { VERSION } from '../../src/version.ts'
import { parseMetrics, scrape } from '../support/scrape.ts'
import { createWorld } from '../support/world.ts'

async function start(t: Test, OPS_ADDRESS: string, serving = () => 1) {
  const numbers = createNumbers()
  const figures = createServerFigures(numbers, { expected: 2, serving })
  const { address, close } = await startOps(readConfig({ OPS_ADDRESS }), { figures, observe: () => {} })
  t.teardown(close)
  return { address: String(address), numbers, watch: figures.ofStore.open, join: figures.fleet.join }
}

const SAMPLE = {
  requestsInFlight: 1,
  connections: 2,
  scryptRunning: 3,
  scryptWaiting: 4,
  cpuSeconds: 5,
  residentBytes: 6,
  lagSeconds: 7,
}

t.test('Ops: it is live at once, and ready when requests are served and the store can be used', async (t) => {
  const { store } = await createWorld(t)
  let serving = 0
  const { address, watch } = await start(t, '127.0.0.1:0', () => serving)
  const health = async (path: string) => {
    const answer = await fetch(`${address}/health/${path}`)
    return [answer.status, await answer.json()]
  }
  t.strictSame(await health('live'), [200, { status: 'ok' }])
  t.strictSame(await health('ready'), [503, { status: 'unavailable' }])
  serving = 1
  t.strictSame(await health('ready'), [503, { status: 'unavailable' }])
  watch(store)
  t.strictSame(await health('ready'), [200, { status: 'ok' }])
  serving = 0
  t.strictSame(await health('ready'), [503, { status: 'unavailable' }])
})

t.test(
  'Ops: metrics have the store, the server, and each process that answers requests under its number',
  async (t) => {
    const { store } = await createWorld(t)
    const { address, watch, join, numbers } = await start(t, '127.0.0.1:0')
    watch(store)
    const [first, second] = [join(), join()]
    first.take({ counted: [], sample: SAMPLE })
    second.take({ counted: [], sample: { ...SAMPLE, residentBytes: 60 } })
    numbers.add(0, 1)
    const metrics = Object.fromEntries(await scrape(address))
    t.match(metrics, {
      store_up: 1,
      workers: 1,
      workers_expected: 2,
      http_requests_in_flight: 2,
      connections: 4,
      scrypt_running: 6,
      scrypt_waiting: 8,
      'worker_cpu_seconds_total{worker="1"}': 5,
      'worker_resident_memory_bytes{worker="2"}': 60,
      'worker_event_loop_lag_seconds{worker="2"}': 7,
      [`build_info{version="${VERSION}",node="${process.versions.node}",store="sqlite"}`]: 1,
    })
    second.leave()
    const later = await scrape(address)
    t.equal(later.get('connections'), 2)
    t.notOk(later.has('worker_resident_memory_bytes{worker="2"}'))
    t.equal(later.get('worker_cpu_seconds_total{worker="2"}'), 5)
  },
)

t.test('Ops: metrics are in the format that Prometheus asks for, beside the reference of the endpoints', async (t) => {
  const { address } = await start(t, '127.0.0.1:0')
  const answer = await fetch(`${address}/metrics`)
  t.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  t.ok(parseMetrics(await answer.text()).size > 300)
  for (const path of ['/docs', '/openapi.yaml']) t.equal((await fetch(address + path)).status, 200, path)
})

t.test('Ops: an address that is taken is an error of the operator', async (t) => {
  const { address } = await start(t, '127.0.0.1:0')
  await t.rejects(start(t, address.replace('http://', '')), OperatorError)
})

t.test('Ops: if it is off, or nothing is counted, nothing listens', async (t) => {
  const figures = createServerFigures(createNumbers(), { expected: 1, serving: () => 1 })
  for (const ops of [
    await startOps(readConfig({}), { figures, observe: () => {} }),
    await startOps(readConfig({ OPS_ADDRESS: '127.0.0.1:0' }), { figures: undefined, observe: () => {} }),
  ]) {
    t.equal(ops.address, undefined)
    await ops.close()
  }
})
