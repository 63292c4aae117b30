import { globSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'
import { temporaryFolder } from './temporary-folder.ts'

const countOf = (store: string) => globSync(join(import.meta.dirname, `../../migrations/${store}/*.sql`)).length

/** The version of a migrated database. */
export const LATEST = countOf('sqlite')
export const LATEST_POSTGRES = countOf('postgres')

/** A folder of made-up migrations: the SQL of each by the name of its file. */
export function folderOf(t: Test, migrations: Record<string, string>): URL {
  const folder = join(temporaryFolder(t), 'migrations')
  mkdirSync(folder)
  for (const [name, sql] of Object.entries(migrations)) writeFileSync(join(folder, name), sql)
  return pathToFileURL(`${folder}/`)
}
