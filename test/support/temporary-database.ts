import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import root, { type Test } from 'tap'
import { openDatabase } from '../../src/store/sqlite/connection.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** Where a database of the test's own will be, and the environment that names it to a command. */
export function temporaryDatabase(t: Test) {
  const folder = temporaryFolder(t)
  const file = join(folder, 'store.db')
  return { folder, file, env: { DATABASE_URL: `sqlite:${file}` } }
}

let template: string | undefined

/** The same with an empty store in it, a copy of one: all migrations take much longer than a test's requests. */
export function migratedDatabase(t: Test) {
  const database = temporaryDatabase(t)
  template ??= createTemplate()
  copyFileSync(template, database.file)
  return database
}

function createTemplate(): string {
  const { file } = temporaryDatabase(root)
  openDatabase(file, (db) => db.close())
  return file
}
