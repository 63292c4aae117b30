import { execFileSync, spawnSync } from 'node:child_process'
import { chownSync, globSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readConfig, settings } from '../../src/config.ts'
import { CLOSE_TIMEOUT_MS } from '../../src/server/signals.ts'
import { MAIN } from '../support/spawn.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { ROOT, read as readFile } from './files.ts'

const FOLDER = 'deploy/systemd'
const read = (file: string) => readFile(join(FOLDER, file))

t.test('systemd: the settings are right', async (t) => {
  const pairs = [...read('settings.env').matchAll(/^(\w+)=(.*)$/gm)]
  const units = globSync('*.{service,conf}', { cwd: join(ROOT, FOLDER) }).map(read)
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

t.test('Start: no signal opens the inspector of Node.js, through which any local user could run code', async (t) => {
  for (const file of ['Dockerfile', 'bin/token-server.js']) {
    t.match(readFile(file), /^(ENTRYPOINT|#!).*--max-semi-space-size.*--disable-sigusr1/m, file)
  }
  const shown = readFile('Dockerfile')
  t.match(shown, /^RUN .*sed -i '1s\|\.\*\|#!\S+ --disable-sigusr1\|' bin\/token-server\.js/m, 'docker exec')
  const starts = readFile(join(FOLDER, 'token-server.service')).match(/^ExecStart=.*$/gm)
  t.strictSame(starts, ['ExecStart=/opt/token-server/bin/token-server serve'], 'the first line of that file counts')
})

t.test('Start: the parser of a connection is not in the heap of glibc, which would keep its memory', async (t) => {
  const [variable] = /\bMALLOC_\w+=\d+/.exec(readFile('bin/token-server.js').split('\n', 1)[0] as string) ?? []
  t.match(readFile('Dockerfile'), `ENV ${variable}\n`)
  const [name, value] = String(variable).split('=') as [string, string]
  const grown = (env: NodeJS.ProcessEnv) => {
    const { stdout } = spawnSync(process.execPath, ['test/repository/heap/main.ts'], { env, encoding: 'utf8' })
    return Number(stdout)
  }
  if (process.platform !== 'linux') return
  const [usual, set] = [grown({}), grown({ [name]: value })]
  t.ok(set < usual - 2, `for each connection ${usual} KiB, and ${set} with ${variable}`)
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
  const missing = shared.filter((line) => !backup.includes(line))
  t.strictSame(missing, [])
  t.ok(backup.includes('PrivateNetwork=yes'))
})

t.test('systemd: a command runs as the user of the server, with its settings and in its folder', async (t) => {
  const script = read('token-server')
  const asked = [...script.matchAll(/--(?:property|setenv)=([\w=:/.-]+)/g)].map(([, one = '']) => one)
  t.ok(asked.length > 6)
  const unit = read('token-server.service').replaceAll('%S', '/var/lib').replace('Environment=', '').split('\n')
  const ofCommand = /^(LoadCredential|DATABASE_PASSWORD_FILE|SUDO_USER)=/
  const missing = asked.filter((one) => !ofCommand.test(one) && !unit.includes(one))
  t.strictSame(missing, [])
})

const COMMAND = readFile('lab/release/debian/token-server')

t.test('Debian: a command has the database of the unit, unless the settings name another', async (t) => {
  const folder = temporaryFolder(t)
  const settingsFile = join(folder, 'settings.env')
  for (const [name, text] of Object.entries({ id: 'echo 0', setpriv: 'echo "$DATABASE_URL $*"' })) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  }
  const toFile = COMMAND.replace('/etc/token-server/settings.env', settingsFile)
  const script = toFile.replace('cd /var/lib/token-server', `cd ${folder}`)
  const env = { PATH: `${folder}:${process.env.PATH}`, DATABASE_URL: 'sqlite:left-over.db' }
  const ran = (...args: string[]) =>
    execFileSync('sh', ['-c', script, 'token-server', ...args], { env, encoding: 'utf8' })
  const [, ofUnit = ''] = /^Environment=DATABASE_URL=(.*)$/m.exec(read('token-server.service')) ?? []
  const byDefault = ofUnit.replace('%S', '/var/lib')
  const missing = ran('migrate')
  t.ok(missing.startsWith(`${byDefault} `), missing)
  t.notMatch(missing, 'env-file', 'Node.js does not warn of a missing file')
  t.ok(ran('init').startsWith(`${env.DATABASE_URL} `), 'what the shell sets becomes a setting')
  writeFileSync(settingsFile, '# DATABASE_URL=sqlite:./x.db\n')
  t.ok(ran('migrate').startsWith(`${byDefault} `))
  writeFileSync(settingsFile, 'DATABASE_URL=postgres://a@b/c\n')
  for (const command of ['migrate', 'init'])
    t.match(ran(command), new RegExp(`^ .*--env-file=${settingsFile} .*${command}`))
})

t.test('Debian: the command drops each setting of the shell, and no other variable', async (t) => {
  const [, dropped = ''] = /^ *unset ((?:[A-Z_]+|\\\n| )+)$/m.exec(COMMAND) ?? []
  t.strictSame(dropped.split(/[\s\\]+/), Object.keys(settings))
})

const NOBODY = 65534
const ROOT_ONLY = { skip: process.getuid?.() !== 0 && 'needs root, as the command itself' }

t.test('Debian: a setting that is left in the shell of root changes no other database', ROOT_ONLY, async (t) => {
  const folder = temporaryFolder(t)
  const data = join(folder, 'data')
  mkdirSync(data)
  for (const path of [folder, data]) chownSync(path, NOBODY, NOBODY)
  const script = COMMAND.replaceAll('/etc/token-server', folder)
    .replaceAll('/var/lib/token-server', data)
    .replaceAll('=token-server ', `=${NOBODY} `)
    .replace('--init-groups', '--clear-groups')
    .replace('/usr/lib/token-server/node', process.execPath)
    .replace('/usr/lib/token-server/lib/main.js', MAIN)
  const env = { PATH: process.env.PATH, DATABASE_URL: `sqlite:${folder}/rehearsal.db` }
  writeFileSync(join(folder, 'settings.env'), `DATABASE_URL=sqlite:${data}/real.db\n`)
  execFileSync('sh', ['-c', script, 'token-server', 'migrate'], { env, stdio: 'pipe' })
  t.strictSame(globSync('**/*.db', { cwd: folder }), ['data/real.db'])
})
