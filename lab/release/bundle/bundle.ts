import { rmSync } from 'node:fs'
import { build, type Plugin } from 'esbuild'

/**
 * Bundles an entry point: what `src` has, and every dependency but the driver of SQLite, whose binaries are files of their own. What
 * the program imports later stays in files of its own, too. Empties the folder first.
 */
export async function bundle(entryPoint: string, outdir: string, plugins: Plugin[] = []): Promise<void> {
  rmSync(outdir, { recursive: true, force: true })
  await build({
    entryPoints: { main: entryPoint },
    outdir,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node22.18',
    splitting: true,
    chunkNames: '[name]-[hash]',
    // pg does without pg-native.
    external: ['pg-native', 'better-sqlite3'],
    plugins,
    // Otherwise the source maps would have the paths of this machine.
    preserveSymlinks: true,
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    sourcemap: true,
    sourcesContent: false,
    // Dependencies that are CommonJS load parts of Node.js with it.
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
  })
}
