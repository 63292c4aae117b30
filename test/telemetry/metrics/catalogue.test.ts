import t from 'tap'
import { REFUSALS } from '../../../src/http/wire/refusals.ts'
import { CATALOGUE, ENDPOINTS, type Metric, PREFIX, STATUSES } from '../../../src/telemetry/metrics/catalogue.ts'
import { createWorld } from '../../support/world.ts'

t.test("Metrics: names follow Prometheus's conventions", async (t) => {
  for (const [name, { type, help, labels }] of Object.entries<Metric>(CATALOGUE)) {
    t.match(PREFIX + name, /^[a-z][a-z_]*[a-z]$/)
    t.equal(name.endsWith('_total'), type === 'counter', `${name}: counters end with _total, and nothing else does`)
    t.match(help, /^[A-Z].*\.$/, name)
    t.notOk(
      'job' in labels || 'instance' in labels || 'le' in labels,
      `${name}: no label has a name of Prometheus's own`,
    )
  }
})

t.test('Metrics: endpoints are the routes of the public port, and other', async (t) => {
  const { app } = await createWorld(t)
  await app.ready()
  for (const endpoint of ENDPOINTS) {
    if (endpoint !== 'other')
      t.ok(app.findRoute({ url: endpoint, method: endpoint.includes('oauth/') ? 'POST' : 'GET' }), endpoint)
  }
  const routes = app.printRoutes({ commonPrefix: false }).matchAll(/(\S+) \([A-Z]/g)
  t.strictSame(new Set([...routes].map(([, path]) => path)).size, ENDPOINTS.length - 1)
})

t.test('Metrics: statuses are those that refusals have, and those of checks', async (t) => {
  const refused = Object.values(REFUSALS).map(({ status }) => String(status))
  t.strictSame(new Set(STATUSES), new Set([...refused, '200', '403']))
})
