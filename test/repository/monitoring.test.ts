import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Registry } from '@prometheus-io/client'
import t from 'tap'
import { parse } from 'yaml'
import { CATALOGUE, type Metric, PREFIX } from '../../src/telemetry/metrics/catalogue.ts'
import { collectProcessMetrics } from '../../src/telemetry/metrics/process-metrics.ts'
import { finds, readExpression } from './promql.ts'

const EXAMPLES = join(import.meta.dirname, '../../examples')

interface Rule {
  record?: string
  alert?: string
  expr: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
}

const read = (file: string) => readFileSync(join(EXAMPLES, file), 'utf8')

const RULES: Rule[] = parse(read('prometheus/rules.yml')).groups.flatMap(({ rules }: { rules: Rule[] }) => rules)

/** What the tests of the rules ask, and what they expect. */
const RULE_TESTS: { expr: string; exp_samples: { labels: string }[] }[] = ['rules.test.yml', 'rules.days.test.yml']
  .flatMap((file) => parse(read(`prometheus/${file}`)).tests)
  .flatMap((test) => test.promql_expr_test)

/** The labels of each series that there may be, with their values; null: any value. */
type Known = Map<string, Map<string, readonly string[] | null>>

/** The labels that Prometheus itself gives to all series of a node. */
const OF_A_NODE = [
  ['job', null],
  ['instance', null],
] as const

function knownSeries(): Known {
  const known: Known = new Map([['up', new Map(OF_A_NODE)]])
  for (const [name, { type, labels, buckets = [] }] of Object.entries<Metric>(CATALOGUE)) {
    const own = Object.entries(labels).map(([label, values]) => [label, values.length > 0 ? values : null] as const)
    const all = [...OF_A_NODE, ...own]
    if (type !== 'histogram') known.set(PREFIX + name, new Map(all))
    else {
      const bounds = [...buckets.map(String), '+Inf']
      known.set(`${PREFIX}${name}_bucket`, new Map([...all, ['le', bounds]]))
      for (const part of ['sum', 'count']) known.set(`${PREFIX}${name}_${part}`, new Map(all))
    }
  }
  for (const name of processMetrics()) known.set(name, new Map([...OF_A_NODE, ['kind', null]]))
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
  known.set('ALERTS', new Map([...OF_A_NODE, ...ofAlerts.map((label) => [label, null] as const)]))
  return known
}

/** What the library says of the process that answers the scrape. */
function processMetrics(): string[] {
  const register = new Registry()
  collectProcessMetrics(register)
  const names = register.getMetricsAsArray().map(({ name }) => name)
  return names.flatMap((name) => [name, `${name}_sum`, `${name}_count`])
}

const KNOWN = knownSeries()

/** What an expression names and no server has: metrics, labels and values of labels; also of labels that a text shows. */
function unknownIn(expression: string, shown: readonly string[] = []): string[] {
  const { selectors, labels } = readExpression(expression)
  const known = selectors.map(({ metric }) => KNOWN.get(metric))
  const problems = selectors.flatMap(({ metric, matchers }, index) => {
    const its = known[index]
    if (its === undefined) return [metric]
    return matchers
      .filter((matcher) => !matcher.value.startsWith('$'))
      .filter((matcher) => {
        const values = its.get(matcher.label)
        return values === undefined || (values !== null && !finds(matcher, values))
      })
      .map(({ label, operator, value }) => `${metric}{${label}${operator}${value}}`)
  })
  const unknown = [...labels, ...shown].filter((label) => !known.some((its) => its?.has(label)))
  return [...problems, ...unknown]
}

const ALERTS = RULES.filter(({ alert }) => alert !== undefined)

t.test('Prometheus: every alert has a test where it fires, and one where it does not', async (t) => {
  for (const { alert, labels } of ALERTS) {
    const severity = `{severity="${labels?.severity}"}`
    const fired = RULE_TESTS.filter(({ expr }) => expr.includes(`alertname="${alert}"`)).map(({ exp_samples }) =>
      exp_samples.some((sample) => sample.labels === severity),
    )
    t.strictSame(new Set(fired), new Set([true, false]), `${alert} ${severity}`)
  }
})

t.test('Prometheus: every rule names series, labels and values that a server has', async (t) => {
  for (const { record, alert, expr, annotations = {} } of RULES) {
    const shown = [...JSON.stringify(annotations).matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label as string)
    t.strictSame(unknownIn(expr, shown), [], record ?? alert ?? 'neither')
  }
})

t.test(
  'Prometheus: every alert says how urgent it is, what happens, what to do first and where its runbook is',
  async (t) => {
    const runbooks = read('../docs/operations.md')
    for (const { alert = '', labels = {}, annotations = {} } of ALERTS) {
      t.match(labels.severity, /^(page|ticket)$/, alert)
      t.match(annotations, { summary: /.{20}/, description: /.{20}/ }, alert)
      t.equal(annotations.runbook, `docs/operations.md#${alert.toLowerCase()}`)
      t.match(runbooks, `\n### ${alert}\n`)
    }
  },
)

t.test('Prometheus: the test of expressions sees what they name', async (t) => {
  const expression = `sum by (job, le) (rate(a_b_bucket{c="d", e=~"f|g"}[5m])) # h
    / on (job) group_left (i) job:j:k1h offset 1d > 1e3 and absent(l) unless "m" == 2h`
  t.strictSame(readExpression(expression), {
    selectors: [
      {
        metric: 'a_b_bucket',
        matchers: [
          { label: 'c', operator: '=', value: 'd' },
          { label: 'e', operator: '=~', value: 'f|g' },
        ],
      },
      { metric: 'job:j:k1h', matchers: [] },
      { metric: 'l', matchers: [] },
    ],
    labels: ['job', 'le', 'job', 'i'],
  })
  t.ok(finds({ label: 'a', operator: '=~', value: 'b|c' }, ['c']))
  t.notOk(finds({ label: 'a', operator: '!=', value: 'b' }, ['bc']))
  t.strictSame(unknownIn('token_server_store_down'), ['token_server_store_down'])
  t.strictSame(unknownIn('sum by (reason) (token_server_store_up)'), ['reason'])
  t.strictSame(unknownIn('token_server_http_requests_total{status="499"}'), [
    'token_server_http_requests_total{status=499}',
  ])
  t.strictSame(unknownIn('token_server_http_requests_total{code="200"}'), [
    'token_server_http_requests_total{code=200}',
  ])
  t.strictSame(unknownIn('token_server_commit_duration_seconds_bucket{le="0.3"}').length, 1)
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

const dashboard = JSON.parse(read('grafana/dashboard.json'))
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
  t.strictSame(
    variables.map(({ name }: { name: string }) => name),
    ['job', 'instance'],
  )
  for (const { title, targets = [], ...panel } of shown) {
    t.strictSame(panel.datasource, datasource, title)
    for (const target of targets) {
      t.strictSame(target.datasource, datasource, title)
      const { selectors } = readExpression(target.expr)
      for (const { metric, matchers } of selectors.filter(({ metric }) => metric !== 'ALERTS')) {
        const chosen = matchers
          .filter(({ value }) => value.startsWith('$'))
          .map(({ label, value }) => `${label} ${value}`)
        t.strictSame(chosen, ['job $job', 'instance $instance'], `${title}: ${metric}`)
      }
    }
  }
})

t.test('Grafana: every panel has a title of its own, a description, a unit and a place of its own', async (t) => {
  const titles = new Set(panels.map(({ title }) => title))
  t.equal(titles.size, panels.length)
  t.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
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
  const { datasources } = parse(read('grafana/provisioning/datasources/prometheus.yml'))
  t.match(datasources, [{ type: 'prometheus', url: 'http://prometheus:9090', isDefault: true }])
  const { providers } = parse(read('grafana/provisioning/dashboards/token-server.yml'))
  t.match(providers, [{ type: 'file', options: { path: '/var/lib/grafana/dashboards' } }])
})
