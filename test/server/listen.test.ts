import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { readConfig } from '../../src/config.ts'
import type { Event } from '../../src/domain/events.ts'
import { listenAndServe } from '../../src/server/listen.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorld } from '../support/world.ts'

t.test('Listening: what was used and refused and could not be stored at the end is told', async (t) => {
  const databaseUrl = `sqlite:${join(temporaryFolder(t), 'store.db')}`
  const { store, credentials } = await createWorld(t, { databaseUrl })
  const db = new Database(databaseUrl.replace('sqlite:', ''))
  t.teardown(() => db.close())
  for (const table of ['refusals', 'token_counts']) {
    db.exec(`CREATE TRIGGER ${table}_fails BEFORE INSERT ON ${table} BEGIN SELECT RAISE(ABORT, 'full'); END`)
  }
  const events: Event[] = []
  const telemetry = {
    observe: (event: Event) => void events.push(event),
    observeDetails: undefined,
    measure: undefined,
  }
  const { app, address } = await listenAndServe(store, telemetry, readConfig({ PORT: '0' }))
  t.teardown(() => app.close())
  const ask = async (form: Record<string, string>) =>
    (await fetch(`${address}/v1/oauth/accesstoken`, { method: 'POST', body: new URLSearchParams(form) })).status
  t.strictSame([await ask(credentials), await ask({ ...credentials, client_secret: 'wrong' })], [200, 401])
  await app.close()
  const err = { name: 'StoreUnavailable' }
  for (const type of ['usage not recorded', 'refusals not recorded']) {
    t.match(
      events.filter((event) => event.type === type),
      [{ err }],
      type,
    )
  }
})
