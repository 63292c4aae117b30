import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { temporaryFolder } from './temporary-folder.ts'

const ROOT = join(import.meta.dirname, '../..')

/**
 * Another release of the program: this one with another version and further migrations, by their paths from `migrations`.
 * Returns its main.ts.
 */
export function makeRelease(t: Test, version: string, migrations: Record<string, string>): string {
  const folder = temporaryFolder(t)
  for (const name of ['src', 'migrations']) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, version }))
  for (const [path, sql] of Object.entries(migrations)) writeFileSync(join(folder, 'migrations', path), sql)
  return join(folder, 'src/main.ts')
}
