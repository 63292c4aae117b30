import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { VERSION } from '../../src/version.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { ROOT } from './files.ts'

t.test('Bundle: it runs without the packages in it, and a stack trace names the sources', (t) => {
  const folder = temporaryFolder(t)
  for (const path of ['src', 'lab/release/bundle', 'migrations', 'package.json'])
    cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const run = (...args: string[]) => spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  t.equal(run('lab/release/bundle/main.ts').stderr, '')
  rmSync(join(folder, 'node_modules'))
  t.ok(
    readdirSync(join(folder, 'lib')).filter((name) => name.endsWith('.js')).length > 50,
    'commands load what they need',
  )

  const assets = readdirSync(join(folder, 'lib/admin/console/assets'))
  t.equal(assets.filter((name) => name.endsWith('.woff2')).length, 4, 'the fonts are files of the console')

  const platforms = ['darwin', 'linux', 'linuxmusl'].flatMap((system) => [`${system}-arm64.node`, `${system}-x64.node`])
  t.strictSame(readdirSync(join(folder, 'prebuilds')).sort(), platforms, 'the driver of SQLite has its binaries')
  t.equal(run('lib/main.js', 'migrate').stderr, '', 'it finds the one for this machine')

  const { stdout } = run('lib/main.js', 'version', '--json')
  t.equal(JSON.parse(stdout).version, VERSION)
  const broken = 'data:text/javascript,process.getuid = () => { throw new TypeError("broken") }'
  const { stderr } = run('--import', broken, 'lib/main.js', 'init', '--yes')
  t.match(stderr, /TypeError: broken\n/)
  t.match(stderr, / at commandUser \(src\/commands\/shared\/administer\.ts:\d+:\d+\)\n/)
  t.end()
})
