import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { createWorldOfSuites } from '../support/suites.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const WAITING = 1024
const MORE = 20

t.test(
  'Overload: so many token requests wait for the store; more are refused at once, and checks are answered',
  async (t) => {
    const file = join(temporaryFolder(t), 'store.db')
    const { app, post, token, verify, introspect } = await createWorldOfSuites(t, {
      databaseUrl: `sqlite:${file}`,
      lockTimeout: 20_000,
    })
    const accessToken = await token()
    const db = new Database(file)
    t.teardown(() => db.close())

    db.exec('BEGIN IMMEDIATE')
    const statuses: number[] = []
    const requests = Array.from({ length: WAITING + MORE }, async () => statuses.push((await post()).statusCode))
    await until(() => statuses.length >= MORE)
    t.strictSame(statuses, Array(MORE).fill(503))
    t.strictSame([(await verify(accessToken)).statusCode, (await introspect(accessToken)).json().active], [200, true])
    t.equal((await app.inject('/health/live')).statusCode, 200)
    t.equal(statuses.length, MORE, 'and the others wait still')
    db.exec('COMMIT')
    await Promise.all(requests)
    t.equal(statuses.filter((status) => status === 200).length, WAITING)
  },
)
