import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { PROMTOOL } from '../support/promtool.ts'
import { EXAMPLES, RULE_TESTS, RULES, unknownIn } from './observed.ts'
import { finds, readExpression } from './promql.ts'

const cwd = join(EXAMPLES, 'prometheus')
const ALERTS = RULES.filter(({ alert }) => alert !== undefined)

function promtool(...args: string[]) {
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd, encoding: 'utf8' })
  return { status, said: stdout + stderr }
}

t.test('Prometheus: the configuration is right, and so are its rules', PROMTOOL, async (t) => {
  const { status, said } = promtool('check', 'config', 'prometheus.yml')
  t.equal(status, 0, said)
  t.match(said, `${RULES.length} rules found`)
})

t.test('Prometheus: every alert fires when it should, and not before', PROMTOOL, async (t) => {
  const { status, said } = promtool('test', 'rules', 'rules.test.yml', 'rules.days.test.yml')
  t.equal(status, 0, said)
})

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
    const runbooks = readFileSync(join(EXAMPLES, '../docs/operations.md'), 'utf8')
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
