import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Mutation } from './mutations.ts'

/** How long a test may take with a mutation: this many times as long as without, plus this many milliseconds. */
const TIMEOUT_FACTOR = 5
const EXTRA_MS = 10_000

/** A test file that passes, how many milliseconds it takes, and what of each source file it runs. */
export interface PassedTest {
  file: string
  time: number
  coverage: Map<string, Range[]>
}

/** A piece of a source file and how often it ran. Pieces are nested; the count of the innermost one is the right one. */
interface Range {
  startOffset: number
  endOffset: number
  count: number
}

const LEFT_OUT = /^test\/(process\/(?!backup|fsync|two-workers).*\.slow|interop\/|admin\/browser\/)|\.nightly\.test/

/** The test files below some folders, except those that take long or need other programs. */
export function testFiles(repository: string, folders: string[]): string[] {
  return folders
    .flatMap((folder) => globSync(`test/${folder}/**/*.test.ts`, { cwd: repository }))
    .filter((file) => !LEFT_OUT.test(file))
    .sort()
}

/** Runs a test file on unchanged sources. Undefined: it fails. */
export async function measure(copy: string, file: string): Promise<PassedTest | undefined> {
  const folder = join(copy, '.v8-coverage', file)
  const began = Date.now()
  const passed = await passes(copy, file, 120_000, { NODE_V8_COVERAGE: folder })
  if (!passed) return undefined
  const coverage = readCoverage(folder, `${pathToFileURL(copy)}/`)
  rmSync(folder, { recursive: true })
  return { file, time: Date.now() - began, coverage }
}

function readCoverage(folder: string, root: string): PassedTest['coverage'] {
  const coverage: PassedTest['coverage'] = new Map()
  for (const name of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8'))
    for (const { url, functions } of result) {
      if (!url.startsWith(`${root}src/`)) continue
      const file = url.slice(root.length)
      const ranges = functions.flatMap(({ ranges }: { ranges: Range[] }) => ranges)
      coverage.set(file, [...(coverage.get(file) ?? []), ...ranges])
    }
  }
  return coverage
}

/** Whether a test runs the place of a mutation. */
export function covers({ coverage }: PassedTest, { file, start }: Mutation): boolean {
  const around = (coverage.get(file) ?? []).filter(
    ({ startOffset, endOffset }) => startOffset <= start && start < endOffset,
  )
  const size = ({ startOffset, endOffset }: Range) => endOffset - startOffset
  const innermost = Math.min(...around.map(size))
  return around.some((range) => size(range) === innermost && range.count > 0)
}

/** Whether a test still passes with the mutation in the copy. */
export function stillPasses(copy: string, { file, time }: PassedTest): Promise<boolean> {
  return passes(copy, file, time * TIMEOUT_FACTOR + EXTRA_MS, { NODE_COMPILE_CACHE: join(copy, '.compile-cache') })
}

async function passes(copy: string, file: string, timeout: number, env: NodeJS.ProcessEnv): Promise<boolean> {
  const test = spawn(process.execPath, [file], {
    cwd: copy,
    // TAP: all tests share one PostgreSQL server. Only the timeout below ends a test.
    env: { ...process.env, TAP: '1', TAP_BAIL: '1', TAP_TIMEOUT: '0', ...env },
    stdio: 'ignore',
    // In a process group of its own, so that the processes that it started end with it.
    detached: true,
  })
  const timer = setTimeout(() => process.kill(-(test.pid as number), 'SIGKILL'), timeout)
  const [status] = await once(test, 'exit')
  clearTimeout(timer)
  return status === 0
}
