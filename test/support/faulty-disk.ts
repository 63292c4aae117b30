import { copyFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Test } from 'tap'
import { preload, register } from './spawn.ts'
import { temporaryDatabase } from './temporary-database.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** The code that makes an fsync of any process that has it fail once, or hang, while a file says so. */
const faulty = (failing: string, hanging: string) => `
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  const { fdatasync } = fs
  fs.fdatasync = function sync(file, done) {
    if (fs.existsSync(${JSON.stringify(hanging)})) return void setTimeout(sync, 20, file, done)
    try {
      fs.unlinkSync(${JSON.stringify(failing)})
    } catch {
      return fdatasync(file, done)
    }
    done(new Error('EIO'))
  }
  syncBuiltinESMExports()`

/** A database on a disk that fails or hangs when it is told to, with an application that may ask for tokens. */
export async function createFaultyDisk(t: Test) {
  const { env, file, folder } = temporaryDatabase(t)
  const [failing, hanging] = [join(folder, 'failing'), join(folder, 'hanging')]
  const credentials = await register(env)
  return {
    env: { ...env, ...preload(faulty(failing, hanging)) },
    file,
    credentials,
    /** The next fsync fails. */
    fail: () => writeFileSync(failing, ''),
    hang: () => writeFileSync(hanging, ''),
    recover: () => rmSync(hanging),
    walSize: () => statSync(`${file}-wal`).size,
    /** How many tokens the file of the database has, without its log. */
    inTheFile() {
      const alone = join(temporaryFolder(t), 'alone.db')
      copyFileSync(file, alone)
      const db = new Database(alone)
      const count = db.prepare('SELECT count(*) FROM tokens').pluck().get() as number
      db.close()
      return count
    },
  }
}
