import { cpSync, globSync, rmSync } from 'node:fs'
import { basename } from 'node:path'
import { build } from 'esbuild'
import { FONTS, OPTIONS } from './options.ts'

// Bundles the program of the working directory into lib/. What it imports later stays in files of its own.

for (const folder of ['lib', 'prebuilds']) rmSync(folder, { recursive: true, force: true })
await build({
  ...OPTIONS,
  entryPoints: { main: 'lab/release/bundle/program.ts' },
  outdir: 'lib',
  format: 'esm',
  splitting: true,
  chunkNames: '[name]-[hash]',
  // Dependencies that are CommonJS load parts of Node.js with `require`, and the driver of SQLite its binary from ../prebuilds.
  banner: {
    js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url),__dirname=import.meta.dirname;",
  },
})
for (const platform of ['linux', 'linuxmusl', 'darwin']) {
  for (const processor of ['x64', 'arm64']) {
    const binary = `prebuilds/${platform}-${processor}.node`
    cpSync(`node_modules/better-sqlite3/${binary}`, binary)
  }
}
cpSync('src/admin/console/assets', 'lib/admin/console/assets', { recursive: true })
for (const font of globSync(FONTS)) cpSync(font, `lib/admin/console/assets/${basename(font)}`)
