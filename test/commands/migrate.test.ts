import t from 'tap'
import { LATEST } from '../support/migrations.ts'
import { run, runJson } from '../support/run.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

t.test('Migrate: it reports the version before and after', async (t) => {
  const options = temporaryDatabase(t)
  t.strictSame(await runJson(['migrate'], options), { from: 0, to: LATEST })
  t.strictSame(await runJson(['migrate'], options), { from: LATEST, to: LATEST })
  t.match((await run(['migrate'], options)).out, new RegExp(`is already at version ${LATEST}\\.`))
  t.match((await run(['migrate'], temporaryDatabase(t))).out, new RegExp(`from version 0 to ${LATEST}`))
})
