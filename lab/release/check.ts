import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { OLDEST_NODES } from '../../src/version.ts'
import { freePort } from '../../test/support/free-port.ts'
import type { Release } from './build.ts'
import { expectInBill, loadEveryModule } from './contents.ts'
import { afterUpgrade, type Data, expect, type Installed, json, mainJob, register, start } from './job.ts'
import { has, ROOT, run } from './tools.ts'

/** The commit of version 0.1.0, of which installations exist. It had SQLite only. */
const FIRST_RELEASE = 'ef85bb9'

/** Data of an older release: the folder has the file token-server.db. */
export interface Old extends Data {
  folder: string
}

export interface Verdict {
  artifact: string
  done: string
  found: string
}

export const PATHS = '/usr/sbin:/usr/bin:/sbin:/bin'

/** Settings that `init` takes over: the usual ports may be taken. */
export type Ports = Record<'PORT' | 'ADMIN_ADDRESS', string>

/** Runs version 0.1.0 from the history, and leaves its database with an application, a suite and a token. */
export async function makeOldData(work: string): Promise<Old> {
  const clone = join(work, 'first-release')
  run('git', ['clone', '--quiet', '--no-checkout', ROOT, clone])
  run('git', ['checkout', '--quiet', '--detach', FIRST_RELEASE], { cwd: clone })
  run('npm', ['ci', '--silent', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: clone })
  const folder = join(work, 'old')
  mkdirSync(folder)
  const port = await freePort()
  const env = { PATH: PATHS, PORT: String(port), DATABASE_URL: `sqlite:${folder}/token-server.db` }
  const command = [process.execPath, join(clone, 'src/main.ts')]
  const installed = { command, cwd: folder, env, file: (name: string) => join(folder, name) }
  json(installed, 'migrate')
  const credentials = register(installed)
  const server = await start(installed, port)
  const token = await server.token(credentials)
  await server.stop()
  return { folder, token, ...credentials, applications: json(installed, 'applications', 'list') }
}

/** Does the main job on an artifact, then starts it on old data, each in a place of its own. */
export async function tryOut(
  artifact: string,
  install: (ports: Ports, old?: Old) => Installed,
  old: Old,
): Promise<Verdict[]> {
  const did = async (done: string, action: (port: number, ports: Ports) => Promise<unknown>): Promise<Verdict> => {
    const port = await freePort()
    const ports = { PORT: String(port), ADMIN_ADDRESS: `127.0.0.1:${await freePort()}` }
    return attempt(artifact, done, () => action(port, ports))
  }
  return [
    await did('init, register, token, check, revoke, backup, documents', (port, ports) =>
      mainJob(install(ports), port, ports.ADMIN_ADDRESS),
    ),
    await did('upgrade from 0.1.0', (port, ports) => afterUpgrade(install(ports, old), port, old)),
  ]
}

/** The npm package, installed by npm in an empty folder, with nothing but each supported Node.js. */
export async function checkPackage({ folder, version }: Release, work: string, old: Old): Promise<Verdict[]> {
  const tarball = join(folder, `oauth-token-server-${version}.tgz`)
  const install = (node: string) => (ports: Ports, old?: Old) => {
    const cwd = mkdtempSync(join(work, 'package-'))
    run('npm', ['install', '--silent', '--no-audit', '--no-fund', tarball], { cwd })
    const env = { PATH: `${dirname(node)}:${PATHS}`, ...ports }
    if (old) cpSync(join(old.folder, 'token-server.db'), join(cwd, 'data/token-server.db'))
    return { command: [join(cwd, 'node_modules/.bin/token-server')], cwd, env, file: (name: string) => join(cwd, name) }
  }
  const verdicts: Verdict[] = []
  for (const line of OLDEST_NODES.map((version) => version.split('.')[0])) {
    const artifact = `npm package, Node.js ${line}`
    const binaries = `node-linux-${process.arch}`
    const prefix = join(work, `node-${line}`)
    run('npm', ['install', '--silent', '--no-audit', '--no-fund', '--prefix', prefix, `${binaries}@${line}`])
    const node = join(prefix, 'node_modules', binaries, 'bin/node')
    verdicts.push(...(await tryOut(artifact, install(node), old)))
    // How the server stops the parser of HTTP depends on the inside of Node.js.
    verdicts.push(await attempt(artifact, 'tests of the ports', () => run(node, ['test/listener/ports.test.ts'])))
  }
  return verdicts
}

export async function attempt(artifact: string, done: string, action: () => unknown): Promise<Verdict> {
  const found = await Promise.try(action).then(
    () => 'works',
    (error: Error) => `FAILED: ${error.message}`,
  )
  return { artifact, done, found }
}

/** A place with Debian as debootstrap makes it, and the package installed in it by dpkg. */
export async function checkDebian({ folder, version }: Release, work: string, old: Old): Promise<Verdict[]> {
  const [artifact, missing] = ['Debian package', ['debootstrap', 'chroot'].filter((name) => !has(name))]
  if (process.getuid?.() !== 0) missing.push('right to make one: run it as root')
  if (missing.length > 0) return [{ artifact, done: 'installed', found: `skipped: no ${missing.join()}` }]
  const file = readFile(folder, /\.deb$/)
  const base = join(work, 'debian')
  run('debootstrap', ['--variant=minbase', '--include=adduser', 'bookworm', base])
  const next = join(work, 'next.deb')
  makeNext(file, work, next)

  let roots = 0
  const install = (ports: Ports, old?: Old): Installed => {
    const root = join(work, `debian-${++roots}`)
    run('cp', ['-a', '--reflink=auto', base, root])
    installFile(root, file)
    const env = { PATH: PATHS, ...ports }
    if (old) {
      cpSync(join(old.folder, 'token-server.db'), join(root, 'var/lib/token-server/token-server.db'))
      writeFileSync(
        join(root, 'etc/token-server/settings.env'),
        'DATABASE_URL=sqlite:/var/lib/token-server/token-server.db\n',
      )
      run('chroot', [root, 'chown', '-R', 'token-server:', '/var/lib/token-server', '/etc/token-server'])
    }
    const command = ['chroot', root, '/usr/sbin/token-server']
    return { command, serve: asTheService(root), env, file: (name) => `/var/lib/token-server/${name}` }
  }
  const verdicts = await tryOut(artifact, install, old)
  // The root in which the main job was done.
  const root = join(work, 'debian-1')
  const bill = JSON.parse(readFileSync(readFile(folder, /\.cdx\.json$/), 'utf8'))
  const library = 'usr/lib/token-server'
  verdicts.push(
    await attempt(artifact, 'every module loads', () =>
      run('chroot', [root, `/${library}/node`, ...loadEveryModule(`/${library}`)]),
    ),
    await attempt(artifact, 'all is in the bill of materials', () => expectInBill(bill, join(root, library))),
  )
  verdicts.push(await attempt(artifact, `upgrade to ${version}+next, remove, purge`, () => lifeCycle(root, next)))
  if (has('lintian')) verdicts.push(await attempt(artifact, 'lintian: no errors, no warnings', () => lint(file)))
  return verdicts
}

/** What systemd runs: the unit's command as the unit's user, with the settings and in the folder that it names. */
function asTheService(root: string): string[] {
  const unit = readFileSync(join(root, 'lib/systemd/system/token-server.service'), 'utf8')
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1]?.replaceAll('%S', '/var/lib') ?? ''
  const script = `set -a; . ${value('EnvironmentFile')}; cd ${value('WorkingDirectory')}; exec ${value('ExecStart')}`
  const user = value('User')
  return ['chroot', root, 'setpriv', `--reuid=${user}`, `--regid=${user}`, '--init-groups', 'sh', '-c', script]
}

function dpkg(root: string, action: string, what: string): void {
  run('chroot', [root, 'dpkg', action, what], { env: { PATH: PATHS, DEBIAN_FRONTEND: 'noninteractive' } })
}

function installFile(root: string, file: string): void {
  cpSync(file, join(root, 'tmp/installed.deb'))
  dpkg(root, '--install', '/tmp/installed.deb')
  rmSync(join(root, 'tmp/installed.deb'))
}

/** The same package as if it were the next version. */
function makeNext(file: string, work: string, next: string): void {
  const tree = join(work, 'next')
  run('dpkg-deb', ['--raw-extract', file, tree])
  const control = join(tree, 'DEBIAN/control')
  writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*$/m, '$&+next'))
  run('dpkg-deb', ['--root-owner-group', '-Zgzip', '-z1', '--build', tree, next])
}

function lifeCycle(root: string, next: string): void {
  const kept = [
    'etc/token-server/settings.env',
    'var/lib/token-server/token-server.db',
    'var/lib/token-server/backup.db',
  ]
  const before = kept.map((path) => run('sha256sum', [join(root, path)]))
  const isKept = () => kept.every((path, index) => run('sha256sum', [join(root, path)]) === before[index])
  const settings = statSync(join(root, kept[0] as string))
  expect((settings.mode & 0o777) === 0o600, 'Others may read the settings.')
  installFile(root, next)
  // Left over in the shell: the settings count.
  const env = { PATH: PATHS, DATABASE_URL: 'sqlite:/tmp/rehearsal.db' }
  expect(
    run('chroot', [root, '/usr/sbin/token-server', 'applications', 'list'], { env }).includes('Store front'),
    'The upgrade lost data.',
  )
  expect(isKept(), 'The upgrade changed files.')
  dpkg(root, '--remove', 'token-server')
  expect(!existsSync(join(root, 'usr/lib/token-server')), 'The program is still there.')
  expect(isKept(), 'The removal changed files.')
  dpkg(root, '--purge', 'token-server')
  const left = run('find', [root, '-xdev', '-name', '*token-server*', '-not', '-path', '*/proc/*']).trim()
  expect(left === '', `The purge left ${left}.`)
}

function lint(file: string): void {
  run('lintian', ['--allow-root', '--fail-on=error,warning', '--tag-display-limit=0', file])
}

function readFile(folder: string, pattern: RegExp): string {
  const [file] = run('ls', [folder])
    .split('\n')
    .filter((name) => pattern.test(name))
  return join(folder, file as string)
}

/** Deletes a folder that may have what other users wrote. */
export function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
}
