import { existsSync, globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t from 'tap'

/** What the names of a ring's files end in, before `.test.ts`. */
const RINGS: Record<string, string[]> = { fast: [''], all: ['', '.slow'], nightly: ['.nightly'] }

/** Longer than any test takes, and less than tap grants the folder. */
const HUNG_MS = 300_000

/** The same for a test that loops without yielding, which is killed: it cannot end itself. */
const LOOPING_MS = HUNG_MS + 30_000

/**
 * Runs the test files of a folder, and of the folders in it that have no `all.ts` of their own, in this process: loading tap
 * and the sources takes longer than most tests. TEST_RING names the ring.
 */
export function runFolder(folder: string): void {
  const name = process.env.TEST_RING ?? 'fast'
  const ring = RINGS[name]
  if (!ring) throw new Error(`TEST_RING is ${name}: it must be one of ${Object.keys(RINGS).join(', ')}`)
  const files = globSync('**/*.test.ts', { cwd: folder })
    .filter((file) => entryOf(join(folder, file)) === folder && ring.includes(suffixOf(file)))
    .sort()
  // What tap grants a single file, where it is not tap that runs the folder, is too little.
  if (!process.env.TAP_TIMEOUT) t.setTimeout(2 * HUNG_MS)
  const enter = watchOver()
  endTestsThatHang(enter)
  // All are loaded before the first test begins. Tap does not always name the file of one that cannot be.
  // A hook, not a test, which --grep would skip.
  t.before(async () => {
    for (const file of files.map((file) => join(folder, file))) {
      enter(file)
      await import(file).catch((error) => t.fail(`${file} cannot be loaded: ${error.message}`, { cause: error }))
    }
  })
}

/** Ends the process of a test that hangs, with the place where it is written, which tap does not tell. */
function endTestsThatHang(enter: (place: string) => void): void {
  t.on('subtestStart', (test) => {
    const place = String(test.options.stack)
      .split('\n')
      .find((line) => line.includes('.test.ts'))
    enter(`${test.name}, ${place}`)
    const end = () => test.results ?? t.timeout({ expired: `${test.name}, ${place}` })
    setTimeout(end, HUNG_MS).unref()
  })
}

/** Starts the thread that kills this process when it stays too long at the place that it entered last. */
function watchOver(): (place: string) => void {
  const watchdog = new Worker(join(import.meta.dirname, 'watchdog/main.ts'), { workerData: LOOPING_MS, execArgv: [] })
  watchdog.unref()
  return (place) => watchdog.postMessage(place)
}

/** The nearest folder above a file that has an `all.ts`. */
function entryOf(file: string): string {
  const folder = dirname(file)
  return existsSync(join(folder, 'all.ts')) ? folder : entryOf(folder)
}

/** `.slow` of `a.slow.test.ts`. */
const suffixOf = (file: string) => /(\.(slow|nightly))?\.test\.ts$/.exec(file)?.[1] ?? ''
