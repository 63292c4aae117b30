import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { passwordFor } from '../../../src/store/postgres/password.ts'
import { locationOf } from '../../support/postgres/location.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

t.test('Password: a PGPASSFILE that others may read is refused for every host, also for several at once', async (t) => {
  const file = join(temporaryFolder(t), 'pgpass')
  writeFileSync(file, '*:*:*:token_server:password\n', { mode: 0o644 })
  process.env.PGPASSFILE = file
  t.teardown(() => delete process.env.PGPASSFILE)
  const location = locationOf('postgres://token_server@a,b,c/d')
  const message = /^PGPASSFILE is not used: WARNING: [^\n]*group or world access[^\n]*$/
  const asked = location.hosts.map((host) => t.rejects(passwordFor(location, host), { name: 'OperatorError', message }))
  await Promise.all(asked)
})
