import { hash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'
import { temporaryFolder } from './temporary-folder.ts'

const filesOf = (store: string) => globSync(join(import.meta.dirname, `../../migrations/${store}/*.sql`)).sort()
const countOf = (store: string) => filesOf(store).length

/** Names a schema: another one after a change of any migration. */
export const schemaHash = (store: string) =>
  hash(
    'sha256',
    filesOf(store)
      .map((file) => readFileSync(file, 'utf8'))
      .join('\0'),
  ).slice(0, 12)

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
