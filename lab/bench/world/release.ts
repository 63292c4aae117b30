import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Checkout, openCheckout } from './checkout.ts'
import type { Cleanup } from './server-process.ts'

const ROOT = join(import.meta.dirname, '../../..')

/** The last release, a tag or a commit: the one place that names it. */
const RELEASE = join(import.meta.dirname, '../release.txt')

/** Checks the last release out into a temporary folder, and installs what it needs to run. */
export function checkOutRelease(cleanup: Cleanup): Checkout {
  const release = readFileSync(RELEASE, 'utf8').trim()
  const folder = mkdtempSync(join(tmpdir(), 'token-server-release-'))
  cleanup.add(() => {
    rmSync(folder, { recursive: true, force: true })
    execFileSync('git', ['worktree', 'prune'], { cwd: ROOT })
  })
  execFileSync('git', ['worktree', 'add', '--quiet', '--detach', folder, release], { cwd: ROOT })
  execFileSync('npm', ['ci', '--silent', '--omit=dev', '--ignore-scripts'], { cwd: folder, stdio: 'inherit' })
  return openCheckout(folder, 'other version')
}
