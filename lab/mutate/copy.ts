import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A copy of the repository as it is now, committed or not, in a folder that is removed when this process exits. */
export function copyOf(repository: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'mutate-'))
  // A test runs the program as another user.
  chmodSync(copy, 0o755)
  process.on('exit', () => rmSync(copy, { recursive: true, force: true }))
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: repository,
    encoding: 'utf8',
  })
  for (const file of new Set(list.split('\0'))) {
    const source = join(repository, file)
    if (file && existsSync(source)) cpSync(source, join(copy, file))
  }
  symlinkSync(join(repository, 'node_modules'), join(copy, 'node_modules'))
  return copy
}
