import { spawnSync } from 'node:child_process'
import { globSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { createCounters } from '../../src/telemetry/metrics/counters.ts'
import { createExposition } from '../../src/telemetry/metrics/exposition.ts'
import { needs } from '../support/needs.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { ROOT, read } from './files.ts'

const SYSTEMD = { skip: needs('systemd-analyze') }

/** What systemd calls the exposure of a unit, in tenths: 100 is a program without any restriction. */
const EXPOSURE = { 'token-server.service': 15, 'token-server-backup.service': 10 }

t.test('systemd: the units are right, also with what is for workers and for PostgreSQL', SYSTEMD, async (t) => {
  const units = writeUnits(t)
  for (const unit of globSync(join(units, '*.{service,timer}'))) {
    const args = ['verify', '--man=no', '--recursive-errors=no', unit]
    const env = { ...process.env, SYSTEMD_UNIT_PATH: `${units}:` }
    const { stderr, status } = spawnSync('systemd-analyze', args, { encoding: 'utf8', env })
    const own = stderr.split('\n').filter((line) => line.includes('token-server'))
    t.strictSame({ status, own }, { status: 0, own: [] }, basename(unit))
  }
})

t.test('systemd: what takes over the process could do little', SYSTEMD, async (t) => {
  const units = writeUnits(t)
  for (const [unit, threshold] of Object.entries(EXPOSURE)) {
    const args = ['security', '--no-pager', '--offline=true', `--threshold=${threshold}`, join(units, unit)]
    const { status, stdout } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
    t.equal(status, 0, stdout.split('\n').at(-2) ?? unit)
  }
})

/** The units with the paths of this machine, as systemd finds them: a folder with what is added to each. */
function writeUnits(t: Test): string {
  const folder = temporaryFolder(t)
  for (const file of globSync('*.{service,timer}', { cwd: join(ROOT, 'deploy/systemd') })) {
    const drops = ['workers.conf', 'postgres.conf'].filter(() => file === 'token-server.service')
    const text = [file, ...drops].map((file) => read(`deploy/systemd/${file}`)).join('\n')
    const here = text.replaceAll('/opt/token-server/bin/token-server', join(ROOT, 'bin/token-server.js'))
    writeFileSync(join(folder, file), here)
  }
  return folder
}

const PROMTOOL = { skip: needs('promtool') }

function promtool(args: string[], input = '') {
  const cwd = join(ROOT, 'examples/prometheus')
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd, input, encoding: 'utf8' })
  return { status, said: stdout + stderr }
}

t.test('Prometheus: the configuration is right, and so are its rules', PROMTOOL, async (t) => {
  const { status, said } = promtool(['check', 'config', 'prometheus.yml'])
  t.equal(status, 0, said)
  const rules = read('examples/prometheus/rules.yml').match(/^ *- (alert|record):/gm)
  t.match(said, `${rules?.length} rules found`)
})

t.test('Prometheus: every alert fires when it should, and not before', PROMTOOL, async (t) => {
  const { status, said } = promtool(['test', 'rules', 'rules.test.yml', 'rules.days.test.yml'])
  t.equal(status, 0, said)
})

t.test("Exposition: Prometheus's own tool finds nothing to say against our names", PROMTOOL, async (t) => {
  const { said } = promtool(['check', 'metrics'], await createExposition(createCounters(), async () => ({})).text())
  const ours = said.split('\n').filter((line) => line !== '' && !line.startsWith('nodejs_'))
  t.strictSame(ours, [])
})
