import { hash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'
import { temporaryFolder } from './temporary-folder.ts'

const filesOf = (store: string, pattern = '[0-9]*.sql') =>
  globSync(join(import.meta.dirname, `../../migrations/${store}/${pattern}`)).sort()

/** Names a schema: another one after a change of any migration or of the views. */
export function schemaHash(store: string): string {
  const texts = filesOf(store, '*.sql').map((file) => readFileSync(file, 'utf8'))
  return hash('sha256', texts.join('\0')).slice(0, 12)
}

/** The version of a migrated database. */
export const LATEST = filesOf('sqlite').length
export const LATEST_POSTGRES = filesOf('postgres').length

/** A folder of the migrations before the one with this name. */
export function folderBefore(t: Test, store: string, name: string): URL {
  const files = filesOf(store)
  const at = files.findIndex((file) => file.endsWith(name))
  const earlier = files.slice(0, at)
  return folderOf(t, Object.fromEntries(earlier.map((file) => [basename(file), readFileSync(file, 'utf8')])))
}

/** A folder of made-up migrations, without views unless they are given: the SQL of each by the name of its file. */
export function folderOf(t: Test, migrations: Record<string, string>): URL {
  const folder = join(temporaryFolder(t), 'migrations')
  mkdirSync(folder)
  for (const [name, sql] of Object.entries({ 'views.sql': '', ...migrations })) writeFileSync(join(folder, name), sql)
  return pathToFileURL(`${folder}/`)
}
