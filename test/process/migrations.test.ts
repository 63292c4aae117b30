import t from 'tap'
import { LATEST } from '../support/migrations.ts'
import { command } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

t.test('Migrations: of several processes that start at once, one migrates and all go on', async (t) => {
  const { env } = temporaryDatabase(t)
  const results = await Promise.all(Array.from({ length: 5 }, () => command(t, ['migrate', '--json'], env)))
  t.strictSame(
    results.map(({ status, err }) => [status, err]),
    Array(5).fill([0, '']),
  )
  const from = results.map(({ out }) => JSON.parse(out).from as number)
  t.strictSame(
    from.sort((a, b) => a - b),
    [0, LATEST, LATEST, LATEST, LATEST],
  )
})
