import { existsSync, globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'

/** What the names of a ring's files end in, before `.test.ts`. */
const RINGS: Record<string, string[]> = { fast: [''], all: ['', '.slow'], nightly: ['.nightly'] }

/**
 * Runs the test files of a folder, and of the folders in it that have no `all.ts` of their own, in this process: loading tap
 * and the sources takes longer than most tests. TEST_RING names the ring.
 */
export function runFolder(folder: string): void {
  const ring = RINGS[process.env.TEST_RING ?? 'fast'] ?? []
  const files = globSync('**/*.test.ts', { cwd: folder })
    .filter((file) => entryOf(join(folder, file)) === folder && ring.includes(suffixOf(file)))
    .sort()
  // All are loaded before the first test begins.
  t.test(`${files.length} files`, async () => {
    for (const file of files) await import(join(folder, file))
  })
}

/** The nearest folder above a file that has an `all.ts`. */
function entryOf(file: string): string {
  const folder = dirname(file)
  return existsSync(join(folder, 'all.ts')) ? folder : entryOf(folder)
}

/** `.slow` of `a.slow.test.ts`. */
function suffixOf(file: string): string {
  return /(\.(slow|nightly))?\.test\.ts$/.exec(file)?.[1] ?? ''
}
