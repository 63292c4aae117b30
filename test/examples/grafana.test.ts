import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { EXAMPLES, unknownIn } from './observed.ts'
import { readExpression } from './promql.ts'

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

const read = (file: string) => readFileSync(join(EXAMPLES, 'grafana', file), 'utf8')
const dashboard = JSON.parse(read('dashboard.json'))
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
  const taken = new Set<string>()
  for (const { title, description, fieldConfig, gridPos } of panels) {
    const { x, y, w, h } = gridPos
    t.ok(x + w <= 24, title)
    for (let column = x; column < x + w; column++) {
      for (let line = y; line < y + h; line++) {
        t.notOk(taken.has(`${column} ${line}`), title)
        taken.add(`${column} ${line}`)
      }
    }
    if (fieldConfig === undefined) continue
    t.match(description, /^[A-Z].*\.$/, title)
    t.ok(fieldConfig.defaults.unit, title)
  }
})

t.test('Grafana: the data source and the dashboard are provisioned', async (t) => {
  const { datasources } = parse(read('provisioning/datasources/prometheus.yml'))
  t.match(datasources, [{ type: 'prometheus', url: 'http://prometheus:9090', isDefault: true }])
  const { providers } = parse(read('provisioning/dashboards/token-server.yml'))
  t.match(providers, [{ type: 'file', options: { path: '/var/lib/grafana/dashboards' } }])
})
