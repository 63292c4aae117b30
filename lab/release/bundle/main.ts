import { cpSync, rmSync } from 'node:fs'
import { type BuildOptions, build } from 'esbuild'

// Bundles the program of the working directory into lib/: what `src` has, and every dependency but the driver of SQLite, whose
// binaries are files of their own. What the program imports later stays in files of its own, too.

export const OPTIONS = {
  bundle: true,
  platform: 'node',
  target: 'node22.18',
  // The first is a part of pg that it does without.
  external: ['pg-native', 'better-sqlite3'],
  // Else the paths in the maps would be those of this machine.
  preserveSymlinks: true,
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  sourcemap: true,
  sourcesContent: false,
} satisfies BuildOptions

rmSync('lib', { recursive: true, force: true })
await build({
  ...OPTIONS,
  entryPoints: { main: 'lab/release/bundle/program.ts' },
  outdir: 'lib',
  format: 'esm',
  splitting: true,
  chunkNames: '[name]-[hash]',
  // The dependencies that are CommonJS load parts of Node.js by it.
  banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
})
cpSync('src/admin/console/assets', 'lib/admin/console/assets', { recursive: true })
