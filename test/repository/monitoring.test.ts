import { Registry } from '@prometheus-io/client'
import t from 'tap'
import { parse } from 'yaml'
import { CATALOGUE, type Metric, PREFIX } from '../../src/telemetry/metrics/catalogue.ts'
import { collectProcessMetrics } from '../../src/telemetry/metrics/exposition.ts'
import { read } from './files.ts'
import { finds, readExpression } from './promql.ts'

interface Rule {
  record?: string
  alert?: string
  expr: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
}

const groups: { rules: Rule[] }[] = parse(read('examples/prometheus/rules.yml')).groups
const RULES = groups.flatMap(({ rules }) => rules)

/** What the tests of the rules ask, and what they expect. */
const RULE_TESTS: { expr: string; exp_samples: { labels: string }[] }[] = ['rules.test.yml', 'rules.days.test.yml']
  .flatMap((file) => parse(read(`examples/prometheus/${file}`)).tests)
  .flatMap((test) => test.promql_expr_test)

/** The labels of each series that there may be, with their values; null: any value. */
type Known = Map<string, Map<string, readonly string[] | null>>

function knownSeries(): Known {
  const known: Known = new Map()
  /** With the labels that Prometheus itself gives to all series of a node. */
  const add = (name: string, labels: Record<string, readonly string[] | null> = {}) =>
    known.set(name, new Map(Object.entries({ job: null, instance: null, ...labels })))
  add('up')
  for (const [metric, { type, labels, buckets = [] }] of Object.entries<Metric>(CATALOGUE)) {
    const name = PREFIX + metric
    const own = Object.entries(labels).map(([label, values]) => [label, values.length > 0 ? values : null])
    const all = Object.fromEntries(own)
    for (const part of type === 'histogram' ? ['_sum', '_count'] : ['']) add(name + part, all)
    if (type === 'histogram') add(`${name}_bucket`, { ...all, le: [...buckets.map(String), '+Inf'] })
  }
  // What the library says of the process that answers the scrape.
  const register = new Registry()
  collectProcessMetrics(register)
  for (const { name } of register.getMetricsAsArray()) {
    for (const part of ['', '_sum', '_count']) add(name + part, { kind: null })
  }
  for (const { record, expr, labels = {} } of RULES) {
    if (record === undefined) continue
    const given = readExpression(expr).labels
    const kept = new Map(known.get(record))
    for (const [label, value] of Object.entries(labels)) kept.set(label, [...(kept.get(label) ?? []), value])
    for (const { metric } of readExpression(expr).selectors) {
      for (const [label, values] of known.get(metric) ?? []) {
        if (given.length === 0 || given.includes(label)) kept.set(label, values)
      }
    }
    known.set(record, kept)
  }
  const ofAlerts = ['alertname', 'alertstate', 'severity', 'kind', 'reason', 'result', 'task', 'within']
  add('ALERTS', Object.fromEntries(ofAlerts.map((label) => [label, null])))
  return known
}

const KNOWN = knownSeries()

/** What an expression names and no server has: metrics, labels and values of labels; also of labels that a text shows. */
function unknownIn(expression: string, shown: readonly string[] = []): string[] {
  const { selectors, labels } = readExpression(expression)
  const known = selectors.map(({ metric }) => KNOWN.get(metric))
  const problems = selectors.flatMap(({ metric, matchers }, index) => {
    const its = known[index]
    if (its === undefined) return [metric]
    const wrong = matchers.filter((matcher) => {
      const values = its.get(matcher.label)
      return !matcher.value.startsWith('$') && (values === undefined || (values !== null && !finds(matcher, values)))
    })
    return wrong.map(({ label, operator, value }) => `${metric}{${label}${operator}${value}}`)
  })
  const unknown = [...labels, ...shown].filter((label) => !known.some((its) => its?.has(label)))
  return [...problems, ...unknown]
}

const ALERTS = RULES.filter(({ alert }) => alert !== undefined)

t.test('Prometheus: every alert has a test where it fires, and one where it does not', async (t) => {
  for (const { alert, labels } of ALERTS) {
    const severity = `{severity="${labels?.severity}"}`
    const tests = RULE_TESTS.filter(({ expr }) => expr.includes(`alertname="${alert}"`))
    const fired = tests.map(({ exp_samples }) => exp_samples.some(({ labels }) => labels === severity))
    t.strictSame(new Set(fired), new Set([true, false]), `${alert} ${severity}`)
  }
})

t.test('Prometheus: every rule names series, labels and values that a server has', async (t) => {
  for (const { record, alert, expr, annotations = {} } of RULES) {
    const shown = [...JSON.stringify(annotations).matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label as string)
    t.strictSame(unknownIn(expr, shown), [], record ?? alert ?? 'neither')
  }
})

t.test('Prometheus: every alert says how urgent it is, what happens and where its runbook is', async (t) => {
  const runbooks = read('docs/operations/monitoring.md')
  for (const { alert = '', labels = {}, annotations = {} } of ALERTS) {
    t.match(labels.severity, /^(page|ticket)$/, alert)
    t.match(annotations, { summary: /.{20}/, description: /.{20}/ }, alert)
    t.equal(annotations.runbook, `docs/operations/monitoring.md#${alert.toLowerCase()}`)
    t.match(runbooks, `\n### ${alert}\n`)
  }
})

t.test('Prometheus: the test of expressions sees what they name', async (t) => {
  const expression = `sum by (job, le) (rate(a_b_bucket{c="d", e=~"f|g"}[5m])) # h
    / on (job) group_left (i) job:j:k1h offset 1d > 1e3 and absent(l) unless "m" == 2h`
  const { selectors, labels } = readExpression(expression)
  const named = selectors.map(({ metric, matchers }) => [metric, ...matchers.flatMap(Object.values)])
  t.strictSame(named, [['a_b_bucket', 'c', '=', 'd', 'e', '=~', 'f|g'], ['job:j:k1h'], ['l']])
  t.strictSame(labels, ['job', 'le', 'job', 'i'])
  t.ok(finds({ label: 'a', operator: '=~', value: 'b|c' }, ['c']))
  t.notOk(finds({ label: 'a', operator: '!=', value: 'b' }, ['bc']))
  for (const [wrong, unknown] of [
    ['token_server_store_down', 'token_server_store_down'],
    ['sum by (reason) (token_server_store_up)', 'reason'],
    ['token_server_http_requests_total{status="499"}', 'token_server_http_requests_total{status=499}'],
    ['token_server_http_requests_total{code="200"}', 'token_server_http_requests_total{code=200}'],
    ['token_server_commit_duration_seconds_bucket{le="0.3"}', 'token_server_commit_duration_seconds_bucket{le=0.3}'],
  ] as const) {
    t.strictSame(unknownIn(wrong), [unknown])
  }
})

interface Panel {
  id: number
  type: string
  title: string
  description?: string
  datasource?: unknown
  gridPos: { x: number; y: number; w: number; h: number }
  targets?: { expr: string; legendFormat: string; datasource: unknown }[]
  fieldConfig?: { defaults: { unit?: string } }
}

const dashboard = JSON.parse(read('examples/grafana/dashboard.json'))
const panels: Panel[] = dashboard.panels
const shown = panels.filter(({ type }) => type !== 'row')
// biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's own placeholder.
const datasource = { type: 'prometheus', uid: '${datasource}' }

t.test('Grafana: every query names series, labels and values that a server has', async (t) => {
  for (const { title, targets = [] } of shown) {
    t.ok(targets.length > 0, title)
    for (const { expr, legendFormat } of targets) {
      const labels = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label as string)
      t.strictSame(unknownIn(expr, labels), [], title)
    }
  }
  for (const { expr } of dashboard.annotations.list) t.strictSame(unknownIn(expr), [])
})

t.test('Grafana: every query is about the chosen jobs and nodes of the chosen data source', async (t) => {
  const [source, ...variables] = dashboard.templating.list
  t.match(source, { name: 'datasource', type: 'datasource', query: 'prometheus' })
  const names = variables.map(({ name }: { name: string }) => name)
  t.strictSame(names, ['job', 'instance'])
  for (const { title, targets = [], ...panel } of shown) {
    t.strictSame(panel.datasource, datasource, title)
    for (const target of targets) {
      t.strictSame(target.datasource, datasource, title)
      for (const { metric, matchers } of readExpression(target.expr).selectors) {
        if (metric === 'ALERTS') continue
        const chosen = matchers.map(({ label, value }) => `${label} ${value}`).filter((one) => one.includes(' $'))
        t.strictSame(chosen, ['job $job', 'instance $instance'], `${title}: ${metric}`)
      }
    }
  }
})

t.test('Grafana: every panel has a title of its own, a description, a unit and a place of its own', async (t) => {
  for (const key of ['title', 'id'] as const)
    t.equal(new Set(panels.map((panel) => panel[key])).size, panels.length, key)
  const places: string[] = []
  for (const { title, description, fieldConfig, gridPos } of panels) {
    const { x, y, w, h } = gridPos
    t.ok(x + w <= 24, title)
    for (let column = x; column < x + w; column++) {
      for (let line = y; line < y + h; line++) places.push(`${column} ${line}`)
    }
    if (fieldConfig === undefined) continue
    t.match(description, /^[A-Z].*\.$/, title)
    t.ok(fieldConfig.defaults.unit, title)
  }
  t.equal(new Set(places).size, places.length)
})

t.test('Grafana: the data source and the dashboard are provisioned', async (t) => {
  const { datasources } = parse(read('examples/grafana/provisioning/datasources/prometheus.yml'))
  t.match(datasources, [{ type: 'prometheus', url: 'http://prometheus:9090', isDefault: true }])
  const { providers } = parse(read('examples/grafana/provisioning/dashboards/token-server.yml'))
  t.match(providers, [{ type: 'file', options: { path: '/var/lib/grafana/dashboards' } }])
})
