import { createHash } from 'node:crypto'
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { nodeLicences, recordedNode } from './node.ts'
import { run } from './tools.ts'

/** What Debian calls the processors for which there are a Node.js and a driver of SQLite. */
const ARCHITECTURES: NodeJS.Dict<string> = { x64: 'amd64', arm64: 'arm64' }

const MAINTAINER = 'The maintainers of token-server <maintainers@token-server.example>'

const LIBRARY = 'usr/lib/token-server'
const UNITS = 'lib/systemd/system'
const DOCUMENTS = 'usr/share/doc/token-server'

/** Where each shell looks for them. */
const COMPLETIONS = {
  bash: 'bash-completion/completions/token-server',
  zsh: 'zsh/vendor-completions/_token-server',
  fish: 'fish/vendor_completions.d/token-server.fish',
}

interface DebianOptions {
  clone: string
  tarball: string
  version: string
  out: string
  /** The folder for what is in the package. */
  root: string
  env: NodeJS.ProcessEnv
}

/** Builds the package for Debian: the package for npm with one binary of the driver, Node.js, the unit, and the command. */
export function buildDebian({ clone, tarball, version, out, root, env }: DebianOptions): void {
  const architecture = ARCHITECTURES[process.arch]
  if (!architecture) throw new Error(`There is no package of Debian for ${process.arch}.`)
  const folder = (path: string) => {
    mkdirSync(join(root, path), { recursive: true })
    return join(root, path)
  }
  const place = (path: string) => join(folder(dirname(path)), basename(path))

  const driver = `prebuilds/linux-${process.arch}.node`
  const args = ['--extract', '--gzip', '--strip-components=1', '--exclude=package/prebuilds', '--file', tarball]
  run('tar', [...args, '--directory', folder(LIBRARY)])
  cpSync(join(clone, driver), place(`${LIBRARY}/${driver}`))
  run('strip', ['--strip-unneeded', join(root, LIBRARY, driver)])
  for (const path of ['.env.example', 'LICENSE', 'deploy', 'seeds']) {
    rmSync(join(root, LIBRARY, path), { recursive: true })
  }
  cpSync(recordedNode(), place(`${LIBRARY}/node`), { dereference: true })
  run('strip', [join(root, LIBRARY, 'node')])
  const bin = join(root, LIBRARY, 'bin/token-server.js')
  writeFileSync(bin, startedBy(`/${LIBRARY}/node`, readFileSync(bin, 'utf8')))

  for (const unit of globSync('*.{service,timer}', { cwd: join(clone, 'deploy/systemd') })) {
    const text = readFileSync(join(clone, 'deploy/systemd', unit), 'utf8')
    writeFileSync(place(`${UNITS}/${unit}`), unitText(text))
  }
  const templates = join(clone, 'lab/release/debian')
  cpSync(join(templates, 'token-server'), place('usr/sbin/token-server'))
  cpSync(join(templates, 'lintian-overrides'), place('usr/share/lintian/overrides/token-server'))
  // What people read is where Debian has it, where a system may leave it out. The console shows those that stay here, too.
  const shown = ['docs', 'README.md', 'CHANGELOG.md', 'SECURITY.md']
  for (const path of [...shown, 'examples', 'THIRD-PARTY.md']) {
    cpSync(join(root, LIBRARY, path), place(`${DOCUMENTS}/${path}`), { recursive: true })
    if (!shown.includes(path)) rmSync(join(root, LIBRARY, path), { recursive: true })
  }
  cpSync(nodeLicences(), place(`${DOCUMENTS}/LICENSE.node`))
  writeFileSync(place(`${DOCUMENTS}/copyright`), copyright(clone))
  writeFileSync(
    place(`${DOCUMENTS}/changelog.gz`),
    gzipSync(changelog(version, Number(env.SOURCE_DATE_EPOCH)), { level: 9 }),
  )
  for (const [shell, path] of Object.entries(COMPLETIONS)) {
    writeFileSync(
      place(`usr/share/${path}`),
      run(process.execPath, ['src/main.ts', 'completion', shell], { cwd: clone }),
    )
  }
  const manual = run(process.execPath, ['lab/release/manual/main.ts'], { cwd: clone, env })
  writeFileSync(place('usr/share/man/man8/token-server.8.gz'), gzipSync(manual, { level: 9 }))
  for (const path of ['.env.example', 'deploy', 'seeds']) {
    cpSync(join(clone, path), place(`${DOCUMENTS}/${path}`), { recursive: true })
  }

  run(
    'sh',
    [
      '-c',
      `find . -type d -exec chmod 755 {} + && find . -type f -exec chmod 644 {} + &&
    chmod 755 usr/sbin/token-server ${LIBRARY}/node ${LIBRARY}/bin/token-server.js`,
    ],
    { cwd: root },
  )
  const size = Number(run('du', ['-sk', '--apparent-size', root]).split('\t')[0])
  const control = readFileSync(join(templates, 'control'), 'utf8')
    .replace('@MAINTAINER@', MAINTAINER)
    .replace('@VERSION@', version)
    .replace('@ARCHITECTURE@', architecture)
    .replace('@SIZE@', String(size))
  const sums = filesOf(root).map((file) => `${md5(join(root, file))}  ${file}\n`)
  writeFileSync(place('DEBIAN/control'), control)
  writeFileSync(place('DEBIAN/md5sums'), sums.join(''))
  for (const script of ['postinst', 'prerm', 'postrm']) {
    cpSync(join(templates, script), place(`DEBIAN/${script}`))
    chmodSync(join(root, 'DEBIAN', script), 0o755)
  }
  const file = join(out, `token-server_${version}_${architecture}.deb`)
  run('dpkg-deb', ['--root-owner-group', '-Zxz', '-z1', '--build', root, file], { env })
}

/** A script that another Node.js starts, with the same environment and options. */
function startedBy(node: string, script: string): string {
  const started = script.replace(/(?<=^#!.*) node (?=-)/, ` ${node} `)
  if (started === script) throw new Error('The first line of bin/token-server.js names no node.')
  return started
}

/** The unit of deploy/systemd with the paths of the package, and with the user that it makes. */
function unitText(text: string): string {
  return text
    .replaceAll('/opt/token-server/bin/token-server', `/${LIBRARY}/bin/token-server.js`)
    .replace('DynamicUser=yes\n', '')
    .replace('EnvironmentFile=-', 'EnvironmentFile=')
    .replace(/^Description=.*\n(?![\s\S]*^\[Timer\])/m, '$&ConditionPathExists=/etc/token-server/settings.env\n')
}

function copyright(clone: string): string {
  const licence = readFileSync(join(clone, 'LICENSE'), 'utf8').trim()
  const others = 'The licences of what it runs with are in THIRD-PARTY.md and LICENSE.node beside this file.'
  return `token-server\n\n${licence}\n\n${others}\n`
}

/** `seconds`: since the epoch. */
function changelog(version: string, seconds: number): string {
  const date = new Date(seconds * 1000).toUTCString().replace('GMT', '+0000')
  const change = '  * CHANGELOG.md has the changes.'
  return `token-server (${version}) stable; urgency=medium\n\n${change}\n\n -- ${MAINTAINER}  ${date}\n`
}

/** Every file below a folder, in the order of their names. */
function filesOf(root: string): string[] {
  return run('find', ['.', '-type', 'f', '-printf', '%P\n'], { cwd: root }).trim().split('\n').sort()
}

const md5 = (file: string) => createHash('md5').update(readFileSync(file)).digest('hex')
