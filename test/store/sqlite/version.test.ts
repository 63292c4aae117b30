import t from 'tap'
import { assertSqliteVersion } from '../../../src/store/sqlite/connection.ts'

t.test('SQLite: a version that can lose commits is refused', async (t) => {
  for (const version of ['3.51.3', '3.51.10', '3.52.0', '4.0.0']) t.doesNotThrow(() => assertSqliteVersion(version))
  for (const version of ['3.51.2', '3.50.7', '3.7.0', '2.99.99']) {
    t.throws(() => assertSqliteVersion(version), {
      name: 'OperatorError',
      message: new RegExp(`is ${version}, .* npm ci`),
    })
  }
})
