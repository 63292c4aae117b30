import t from 'tap'
import { startDatabases } from '../support/postgres/postgres.ts'
import { expectAll, fails, shell } from '../support/shell.ts'
import { shiftClock } from '../support/shift-clock.ts'
import { register } from '../support/spawn.ts'

for (const [name, hours] of Object.entries({ behind: -2, ahead: 2 })) {
  t.test(`Secrets: a machine whose clock is ${name} rotates none with an overlap, but at once`, async (t) => {
    const { createDatabase } = await startDatabases()
    const env = { DATABASE_URL: await createDatabase() }
    const { client_id: id } = await register(env)
    shiftClock(t, hours * 3_600_000)
    const refused = fails(/^this machine's clock and that of postgres:\S+ are 7[12]\d{5} ms apart: set both by NTP\n$/)
    const active = { state: 'active', ends_at: null }
    await expectAll(t, shell(env), [
      [`secrets rotate ${id} --overlap 1h`, refused],
      [`secrets list ${id}`, { json: { ...[active], length: 1 } }],
      [`secrets rotate ${id} --overlap 0`, /^client_id/],
      [`secrets list ${id}`, { json: { ...[{ state: 'revoked' }, active], length: 2 } }],
    ])
  })
}
