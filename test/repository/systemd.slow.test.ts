import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { needs } from '../support/needs.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const ROOT = join(import.meta.dirname, '../..')
const FOLDER = join(ROOT, 'deploy/systemd')

/** What systemd calls the exposure of a unit, in tenths: 100 is a program without any restriction. */
const EXPOSURE = { 'token-server.service': 15, 'token-server-backup.service': 10 }

const skip = needs('systemd-analyze')

t.test('systemd: the units are right, also with what is for workers and for PostgreSQL', { skip }, async (t) => {
  const units = writeUnits(t)
  for (const unit of globSync(join(units, '*.{service,timer}'))) {
    const { stderr, status } = spawnSync('systemd-analyze', ['verify', '--man=no', '--recursive-errors=no', unit], {
      encoding: 'utf8',
      env: { ...process.env, SYSTEMD_UNIT_PATH: `${units}:` },
    })
    const own = stderr.split('\n').filter((line) => line.includes('token-server'))
    t.strictSame({ status, own }, { status: 0, own: [] }, basename(unit))
  }
})

t.test('systemd: what takes over the process could do little', { skip }, async (t) => {
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
  for (const file of globSync('*.{service,timer}', { cwd: FOLDER })) {
    const drops = ['workers.conf', 'postgres.conf'].filter(() => file === 'token-server.service')
    const text = [file, ...drops].map((file) => readFileSync(join(FOLDER, file), 'utf8')).join('\n')
    writeFileSync(
      join(folder, file),
      text.replaceAll('/usr/bin/node', process.execPath).replaceAll('/opt/token-server', ROOT),
    )
  }
  return folder
}
