import fs, { copyFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Test } from 'tap'
import { mintToken } from '../../../src/domain/token.ts'
import { openStore } from '../../../src/store/open.ts'
import { openDatabase } from '../../../src/store/sqlite/connection.ts'
import { disk } from '../../support/hanging-disk.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { keyOf, START } from '../../support/world.ts'

/** A path for a new database of the test. */
export const newFile = (t: Test) => join(temporaryFolder(t), 'store.db')

export const newToken = () => mintToken(keyOf(1), START).stored

export const open = (file: string, options = {}) =>
  openStore({ kind: 'sqlite', file }, { lockTimeout: 200, ...options })

/** A store in a file, until the test ends. */
export async function openFile(t: Test, file = newFile(t), options = {}) {
  const store = await open(file, options)
  t.teardown(() => {
    disk.recover()
    return store.close()
  })
  return store
}

/** The message for a file that cannot be opened. */
export async function refusal(file: string, options = {}): Promise<string> {
  return open(file, { lockTimeout: 0, ...options }).then(
    (store) => store.close().then(() => 'it opened'),
    (error: Error) => error.message,
  )
}

/** Each of these is refused with this error. */
export async function allRefused(
  t: Test,
  calls: (() => Promise<unknown>)[],
  error: { name: string; message?: RegExp },
) {
  for (const call of calls) await t.rejects(call, error)
}

/** A connection of another program to a database, until the test ends. */
export function connect(t: Test, file: string, options: Database.Options = {}) {
  const db = new Database(file, options)
  t.teardown(() => db.close())
  return db
}

/** A database with its tables, and no store, until the test ends. */
export function openTables(t: Test, file = ':memory:') {
  const db = openDatabase(file, (db) => db)
  t.teardown(() => db.close())
  return db
}

/** A copy of a database in use, as the death of its only process leaves it. */
export function leftOf(t: Test, file: string): string {
  const left = newFile(t)
  for (const suffix of ['', '-wal', '-shm']) copyFileSync(file + suffix, left + suffix)
  return left
}

/** Until an action ends, a function of `node:fs` is another one. SQLite does not use it. */
export async function replacing(name: keyof typeof fs, by: unknown, action: () => unknown): Promise<void> {
  const real = fs[name]
  const set = (value: unknown) => {
    Object.assign(fs, { [name]: value })
    syncBuiltinESMExports()
  }
  set(by)
  try {
    await action()
  } finally {
    set(real)
  }
}
