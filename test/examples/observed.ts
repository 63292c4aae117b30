import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Registry } from '@prometheus-io/client'
import { parse } from 'yaml'
import { CATALOGUE, type Metric, PREFIX } from '../../src/telemetry/metrics/catalogue.ts'
import { collectProcessMetrics } from '../../src/telemetry/metrics/exposition.ts'
import { finds, readExpression } from './promql.ts'

export const EXAMPLES = join(import.meta.dirname, '../../examples')

interface Rule {
  record?: string
  alert?: string
  expr: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
}

const read = (file: string) => parse(readFileSync(join(EXAMPLES, 'prometheus', file), 'utf8'))

export const RULES: Rule[] = read('rules.yml').groups.flatMap(({ rules }: { rules: Rule[] }) => rules)

/** What the tests of the rules ask, and what they expect. */
export const RULE_TESTS: { expr: string; exp_samples: { labels: string }[] }[] = [
  'rules.test.yml',
  'rules.days.test.yml',
]
  .flatMap((file) => read(file).tests)
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
export function unknownIn(expression: string, shown: readonly string[] = []): string[] {
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
