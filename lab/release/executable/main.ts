import { chmodSync, copyFileSync, globSync, rmSync, writeFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { DOCUMENTS, FONTS, OPTIONS } from '../bundle/options.ts'
import { run } from '../tools.ts'

// Makes the executable of the working directory: `node lab/release/executable/main.ts NODE PLATFORM FILE`, with the program of
// Node.js for that platform: linux-x64, linux-arm64 or, for a Node.js that was built with musl, linuxmusl-x64.

const [node, platform, file] = process.argv.slice(2) as [string, string, string]
// A fixed one, because its path is in the executable.
const FOLDER = 'lib/executable'
const inFolder = (name: string) => `${FOLDER}/${name}`

const replace: Plugin = {
  name: 'what differs in the executable',
  setup(build) {
    const by = (name: string) => ({ path: resolve('lab/release/executable', name) })
    build.onResolve({ filter: /\/program-files\.ts$/ }, () => by('program-files.ts'))
    build.onResolve({ filter: /^better-sqlite3$/ }, () => by('driver.ts'))
  },
}
// Node.js runs one script there, which cannot import others.
rmSync(FOLDER, { recursive: true, force: true })
await build({
  ...OPTIONS,
  entryPoints: ['lab/release/executable/program.ts'],
  outfile: inFolder('main.js'),
  format: 'cjs',
  supported: { 'dynamic-import': false },
  plugins: [replace],
})

// By the paths that the program uses.
const files = globSync(['package.json', 'migrations/*/*.sql', ...DOCUMENTS])
const assets = Object.fromEntries([
  ...files.map((path) => [path, path]),
  ...globSync(['src/admin/console/assets/*', FONTS]).map((path) => [
    `lib/admin/console/assets/${basename(path)}`,
    path,
  ]),
  ['lib/main.js.map', inFolder('main.js.map')],
  ['better-sqlite3.node', `node_modules/better-sqlite3/prebuilds/${platform}.node`],
])
const options = {
  main: inFolder('main.js'),
  output: inFolder('blob'),
  disableExperimentalSEAWarning: true,
  // Half the time of a start is that of compiling. The cache fits this Node.js only.
  useCodeCache: node === process.execPath,
  // The options of bin/token-server.js.
  execArgv: ['--max-semi-space-size=8', '--disable-sigusr1'],
  execArgvExtension: 'none',
  assets: Object.fromEntries(Object.entries(assets).sort(([a], [b]) => (a < b ? -1 : 1))),
}
writeFileSync(inFolder('sea.json'), JSON.stringify(options))
const cwd = process.cwd()
// With another seed, the compiled code would be other bytes each time.
run(process.execPath, ['--random-seed=1', '--experimental-sea-config', inFolder('sea.json')], { cwd })

copyFileSync(node, file)
chmodSync(file, 0o755)
if (platform.endsWith(process.arch)) run('strip', [file])
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
run('node_modules/.bin/postject', [file, 'NODE_SEA_BLOB', inFolder('blob'), '--sentinel-fuse', fuse], { cwd })
rmSync(FOLDER, { recursive: true })
