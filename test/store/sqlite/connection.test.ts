import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { connect } from '../../../src/store/sqlite/connection.ts'
import { temporaryFolder } from '../../support/world.ts'

t.test('SQLite: a connection to a database that is not there fails, and makes none', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  t.throws(() => connect(file), { code: 'SQLITE_CANTOPEN' })
  t.equal(existsSync(file), false)
})
