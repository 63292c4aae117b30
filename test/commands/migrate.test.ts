import t from 'tap'
import { run, runJson } from '../support/run.ts'
import { SQLITE, startPostgresStore } from '../support/stores.ts'

for (const { name, latest, createEnv } of [SQLITE, await startPostgresStore()]) {
  t.test(`Migrate on ${name}: it reports the version before and after`, async (t) => {
    const options = { env: await createEnv(t) }
    t.strictSame(await runJson(['migrate'], options), { from: 0, to: latest })
    t.strictSame(await runJson(['migrate'], options), { from: latest, to: latest })
    t.match((await run(['migrate'], options)).out, new RegExp(`is already at version ${latest}\\.`))
    t.match((await run(['migrate'], { env: await createEnv(t) })).out, new RegExp(`from version 0 to ${latest}`))
  })
}
