import { renameSync } from 'node:fs'
import type { Test } from 'tap'
import type { Application } from '../../../src/domain/application.ts'
import { openSqlite } from '../../../src/store/sqlite/store.ts'
import { createAdminWorld } from '../admin.ts'
import { traffic } from '../statistics.ts'
import { migratedDatabase } from '../temporary-database.ts'
import type { Trouble } from './changes.ts'
import { type Answered, exchange, type Sent } from './exchange.ts'

/** Values from the examples in docs/openapi-admin.yaml. */
const clientId = 'fGRB0YkSebqKmtSvwMb7Sfa1sR97KK3Z'
const changeId = '6f1f4a7e-0a52-4f2c-9a36-4c7f0c1d2e3f'
const asked = { remoteAddress: '192.0.2.7', requestId: changeId }

const MOVED_TO = 'postgres://db.example:5432/tokens'

const HOUR = 3_600_000

/** An admin listener with the data that the examples in the description refer to. */
export async function createDescribedAdmin(t: Test, { trouble }: { trouble?: Trouble | undefined } = {}) {
  const { file, env } = migratedDatabase(t)
  // Only in memory is a closed store an error that nobody foresaw; in a file it is unavailable.
  const inMemory = { DATABASE_URL: 'sqlite::memory:' }
  const world = await createAdminWorld(t, trouble === 'store closed' ? inMemory : env)
  const { app, administration, clock, context, store, keys, listen } = world
  const { applications, suites, secrets, operators } = administration

  const noted = { labels: { environment: 'production' }, note: 'Call +49 30 1234567 before you suspend it.' }
  await suites.register({ suiteId: 'store', name: 'Store API', ...noted })
  await suites.register({ suiteId: 'reports', name: 'Reports API' })
  const demo = { name: 'Demo', developerEmail: 'developer@demo.example', clientId, suites: ['store'] }
  const lists = { sourceAddresses: ['192.0.2.0/24'], publicLabels: ['environment'] }
  const reportOnly = ['source_addresses' as const]
  await applications.register({ ...demo, ...noted, quota: 3600, ...lists, reportOnly })
  clock.time += HOUR
  for (const owner of ['store', clientId]) await secrets.rotate(owner, 24 * HOUR)
  const { key: applicationKey } = (await store.findApplication(clientId)) as Application
  const counts = { hour: clock.time / HOUR, issued: 3, refused: 0, lastTokenAt: clock.time + 1000 }
  await store.addTokenCounts([{ applicationKey, ...counts }])
  for (const [id, tokens] of Object.entries({ [clientId]: 3, store: 0 })) {
    await store.addUsage([{ clientId: id, tokens, checks: 2, refusals: 1 }], clock.time)
  }
  clock.time += 60_000
  const requestId = '3ed9e1cb5f4d1ee3cb00'
  const refused = {
    reason: 'wrong secret',
    endpoint: '/v1/oauth/accesstoken',
    suite: null,
    detail: null,
    isKnown: true,
  }
  await store.recordRefusedRequests([{ ...refused, at: clock.time, requestId, clientId, remoteAddress: '192.0.2.7' }])
  const { code } = await operators.makeLoginCode('anna')
  const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
  await context.signIn.logIn(code, { ...asked, userAgent })
  const author = { actor: 'anna', origin: 'API', ...asked } as const
  await context.administration(author).applications.update(clientId, { name: 'Demo application' })
  clock.time += 60_000
  Object.assign(world.statistics, { lastMinute: traffic(1), minutes: world.statistics.minutes.slice(-2) })

  const address = await listen()
  const { port } = new URL(address)
  const ask = (sent: Sent): Promise<Answered> => exchange(Number(port), sent)
  if (trouble === 'store gone') renameSync(file, `${file}.gone`)
  if (trouble === 'store moved') {
    const copied = openSqlite(file, { lockTimeout: 0 })
    await copied.move.begin(MOVED_TO, clock.time)
    await copied.move.complete(MOVED_TO, clock.time, { author, at: clock.time })
    await copied.close()
  }
  if (trouble === 'store closed') await store.close()
  if (trouble === 'no patience') Object.assign(app.server, { headersTimeout: 1, requestTimeout: 1 })
  return { ask, address, keys }
}
