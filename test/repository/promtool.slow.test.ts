import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createExposition } from '../../src/telemetry/metrics/exposition.ts'
import { createNumbers } from '../../src/telemetry/metrics/numbers.ts'
import { needs } from '../support/needs.ts'

const skip = needs('promtool')
const cwd = join(import.meta.dirname, '../../examples/prometheus')

function promtool(args: string[], input = '') {
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd, input, encoding: 'utf8' })
  return { status, said: stdout + stderr }
}

t.test('Prometheus: the configuration is right, and so are its rules', { skip }, async (t) => {
  const { status, said } = promtool(['check', 'config', 'prometheus.yml'])
  t.equal(status, 0, said)
  const rules = readFileSync(join(cwd, 'rules.yml'), 'utf8').match(/^ *- (alert|record):/gm)
  t.match(said, `${rules?.length} rules found`)
})

t.test('Prometheus: every alert fires when it should, and not before', { skip }, async (t) => {
  const { status, said } = promtool(['test', 'rules', 'rules.test.yml', 'rules.days.test.yml'])
  t.equal(status, 0, said)
})

t.test("Exposition: Prometheus's own tool finds nothing to say against our names", { skip }, async (t) => {
  const { said } = promtool(['check', 'metrics'], await createExposition(createNumbers(), async () => ({})).text())
  t.strictSame(
    said.split('\n').filter((line) => line !== '' && !line.startsWith('nodejs_')),
    [],
  )
})
