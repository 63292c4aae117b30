import { mkdtempSync, readdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { table } from '../../src/commands/shared/text.ts'
import { parseCommandLine, print, runToEnd, UsageError } from '../trial/command-line.ts'
import type { Cleanup } from '../trial/trial.ts'
import { build, publish } from './build.ts'
import { checkDebian, checkPackage, makeOldData, remove, type Verdict } from './check.ts'
import { checkExecutable } from './executable.ts'
import { checkImage } from './image.ts'
import { has, ROOT, run, sumsOf } from './tools.ts'

const HELP = `Usage: npm run release -- [options]

Builds the files of a release from the last commit into dist/.

  --check         also builds them again and compares, installs each in an empty place, does there what people install it
                  for, and upgrades data of version 0.1.0; with Docker, the image too. A few minutes, as root.
  --skip NAME     leaves out the check of package, debian, image or executable; may be repeated
  --help          print this help

The exit status is 1 if a check failed, and 2 for a wrong option.`

const DIST = join(ROOT, 'dist')

const cleanup: Cleanup = new Set()

async function main(): Promise<void> {
  const { values } = parseCommandLine({
    options: {
      check: { type: 'boolean', default: false },
      skip: { type: 'string', multiple: true, default: [] },
      help: { type: 'boolean', default: false },
    },
  }) as { values: { check: boolean; skip: string[]; help: boolean } }
  if (values.help) return print(HELP)
  if (process.platform !== 'linux' || !['dpkg-deb', 'strip', 'xz'].every(has)) {
    throw new UsageError('It needs Linux, dpkg, binutils and xz.')
  }
  if (run('git', ['status', '--porcelain']) !== '') print('What is not committed is not in the release.')

  const work = mkdtempSync(join(tmpdir(), 'token-server-release-'))
  cleanup.add(() => remove(work))
  const commit = run('git', ['rev-parse', 'HEAD']).trim()
  const release = build(join(work, 'one'), commit)
  publish(release, DIST)
  const sizes = readdirSync(DIST).map((file) => [file, `${(statSync(join(DIST, file)).size / 1e6).toFixed(2)} MB`])
  print(table(['file in dist/', 'size'], sizes))
  if (!values.check) return

  const verdicts: Verdict[] = []
  const sums = sumsOf(release.folder, release.files)
  const again = sumsOf(build(join(work, 'two'), commit).folder, release.files)
  verdicts.push({
    artifact: 'all files',
    done: 'built twice',
    found: again === sums ? 'the same bytes' : `FAILED: ${differing(sums, again)}`,
  })
  verdicts.push(audit())
  const old = await makeOldData(work)
  const checks = {
    package: () => checkPackage(release, work, old),
    debian: () => checkDebian(release, work, old),
    image: () => checkImage(release, work, old),
    executable: () => checkExecutable(release, work, old),
  }
  for (const [name, check] of Object.entries(checks)) {
    if (values.skip.includes(name)) continue
    const failed = ({ message }: Error) => [{ artifact: name, done: 'installed', found: `FAILED: ${message}` }]
    verdicts.push(...(await check().catch(failed)))
  }
  print(
    `\n${table(
      ['', 'what was done', 'what was found'],
      verdicts.map(({ artifact, done, found }) => [artifact, done, found]),
    )}`,
  )
  for (const { found } of verdicts) if (found.includes('\n')) print(found)
  if (verdicts.some(({ found }) => found.startsWith('FAILED'))) process.exitCode = 1
}

/** The files whose sums differ. */
function differing(sums: string, others: string): string {
  return sums
    .split('\n')
    .filter((line) => !others.includes(line))
    .join()
}

/** Asks the registry for known vulnerabilities of what ships. */
function audit(): Verdict {
  const verdict = { artifact: 'dependencies', done: 'npm audit --omit=dev' }
  try {
    return { ...verdict, found: run('npm', ['audit', '--omit=dev', '--loglevel=warn']).trim() }
  } catch (error) {
    const { message } = error as Error
    const cannot = /ENOAUDIT|audit endpoint|404|405|501|ENOTFOUND|ECONNREFUSED/.test(message)
    return { ...verdict, found: cannot ? 'skipped: this registry does not say' : `FAILED: ${message}` }
  }
}

await runToEnd(main, cleanup)
