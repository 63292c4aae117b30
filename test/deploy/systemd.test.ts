import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { readConfig, settings } from '../../src/config.ts'
import { CLOSE_TIMEOUT_MS } from '../../src/server/signals.ts'
import { needs } from '../support/needs.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const ROOT = join(import.meta.dirname, '../..')
const FOLDER = join(ROOT, 'deploy/systemd')
const read = (file: string) => readFileSync(join(FOLDER, file), 'utf8')

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
    const text = [file, ...drops].map(read).join('\n')
    writeFileSync(
      join(folder, file),
      text.replaceAll('/usr/bin/node', process.execPath).replaceAll('/opt/token-server', ROOT),
    )
  }
  return folder
}

t.test('systemd: the settings are right', async (t) => {
  const pairs = [...read('settings.env').matchAll(/^(\w+)=(.*)$/gm)]
  const units = globSync('*.{service,conf}', { cwd: FOLDER }).map(read)
  for (const unit of units) pairs.push(...unit.matchAll(/^Environment=(\w+)=(.*)$/gm))
  t.ok(pairs.length > 4)
  for (const [, name = '', value = ''] of pairs) {
    t.ok(name in settings, name)
    t.doesNotThrow(() => readConfig({ [name]: value.replaceAll('%S', '/var/lib') }), `${name}=${value}`)
  }
})

t.test('systemd: the server has time to end, and SIGHUP is for several workers only', async (t) => {
  const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(read('token-server.service')) ?? []
  t.ok(Number(seconds) > CLOSE_TIMEOUT_MS / 1000)
  t.notMatch(read('token-server.service'), /^ExecReload/m)
  t.match(read('workers.conf'), /^Environment=WORKERS=auto$[\s\S]*^ExecReload=\/bin\/kill -HUP \$MAINPID$/m)
})

/** What only a server needs: the rest is the same for a backup. */
const OF_A_SERVER = [
  ...['Type', 'ExecStart', 'KillMode', 'TimeoutStopSec', 'Restart', 'RestartSec', 'LimitNOFILE'],
  ...['StateDirectory', 'RuntimeDirectory', 'RuntimeDirectoryMode', 'RestrictAddressFamilies'],
]

t.test('systemd: a backup is as locked in as the server, and has no network', async (t) => {
  const linesOf = (file: string): string[] => read(file).match(/^\w+=.*$/gm) ?? []
  const service = linesOf('token-server.service').filter((line) => !/^(Description|Wants|After|WantedBy)=/.test(line))
  const shared = service.filter((line) => !OF_A_SERVER.includes(line.split('=')[0] as string))
  t.ok(shared.length > 20)
  const backup = linesOf('token-server-backup.service')
  t.strictSame(
    shared.filter((line) => !backup.includes(line)),
    [],
  )
  t.ok(backup.includes('PrivateNetwork=yes'))
})

t.test('systemd: a command runs as the user of the server, with its settings and in its folder', async (t) => {
  const script = read('token-server')
  const asked = [...script.matchAll(/--(?:property|setenv)=([\w=:/.-]+)/g)].map(([, one = '']) => one)
  t.ok(asked.length > 6)
  const unit = read('token-server.service').replaceAll('%S', '/var/lib').replace('Environment=', '').split('\n')
  const missing = asked.filter((one) => !/^(LoadCredential|DATABASE_PASSWORD_FILE)=/.test(one) && !unit.includes(one))
  t.strictSame(missing, [])
})

t.test('systemd: what is copied to the machine is what the image has', async (t) => {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  const [, own = ''] = dockerfile.split(/^FROM .+distroless.+$/m)
  const inImage = [...own.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) => files.split(' '))
  const [, copied = ''] = /^cp -r --parents (.+) \/opt\/token-server$/m.exec(read('README.md')) ?? []
  t.strictSame(copied.split(' ').sort(), [...inImage, 'package-lock.json'].sort())
})
