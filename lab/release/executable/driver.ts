import { getRawAsset } from 'node:sea'
import { loadModule } from './native-module.ts'

// In the executable, in place of better-sqlite3.

const NAME = 'better-sqlite3.node'

let addon: unknown

const Database = require('../../../node_modules/better-sqlite3/lib/database.js')(() => (addon ??= load()), false)
Database.SqliteError = require('../../../node_modules/better-sqlite3/lib/sqlite-error.js')
export default Database

function load(): unknown {
  // `doctor` changes nothing.
  const isKept = process.argv[2] !== 'doctor'
  return loadModule({ name: NAME, binary: Buffer.from(getRawAsset(NAME)) }, isKept)
}
