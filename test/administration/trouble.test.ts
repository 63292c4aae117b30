import t from 'tap'
import { createAdministration } from '../../src/administration/administration.ts'
import { listRemovals } from '../../src/administration/audit-trail.ts'
import { findTrouble } from '../../src/administration/refusals.ts'
import { type Application, abbreviated } from '../../src/domain/application.ts'
import type { RefusalCount } from '../../src/domain/refusal.ts'
import type { Suite } from '../../src/domain/suite.ts'
import { application } from '../support/newcomers.ts'
import { AUDIT } from '../support/on.ts'
import { refusal, refusedRequest } from '../support/refusal.ts'
import { filling } from '../support/registration.ts'
import { createWorld, createWorldOfSuites, START } from '../support/world.ts'

const HOUR = 60 * 60_000

t.test('Trouble: applications and suites are failing if they are refused now, most often first', async (t) => {
  const { store, clock } = await createWorld(t)
  const now = () => clock.time
  const author = { actor: 'tester', origin: 'command line', remoteAddress: 'machine' } as const
  const administration = filling(createAdministration({ store, now, observe: () => {}, author }))
  const { applications, suites } = administration
  for (const suiteId of ['s1', 's2']) await suites.register({ suiteId, name: `Suite ${suiteId}` })
  for (const clientId of ['often', 'once', 'suspended', 'mended', 'yesterday']) {
    await applications.register({ name: clientId, clientId, suites: clientId === 'mended' ? ['s1'] : [] })
  }
  await applications.approve('often', 's2')
  await applications.suspend('suspended')
  const at = (age: number) => ({ firstAt: clock.time - age - 1, lastAt: clock.time - age })
  const check = { reason: 'unknown token', suite: 's1', remoteAddress: '' }
  await store.recordRefusals([
    refusal('often', { ...at(HOUR), count: 7 }),
    refusal('often', { ...at(1), reason: 'application not approved', suite: 's2', count: 99 }),
    refusal('once', at(0)),
    refusal('suspended', at(0)),
    refusal('mended', { ...at(0), reason: 'application not approved', suite: 's1', count: 3 }),
    refusal('yesterday', { ...at(24 * HOUR), count: 50 }),
    refusal('s2', { ...at(0), count: 2 }),
    refusal('s1', { ...check, ...at(0), count: 5 }),
    refusal('s1', { ...check, ...at(0), endpoint: '/other', count: 6 }),
    refusal('s1', { ...check, ...at(HOUR), reason: 'malformed token', count: 70 }),
  ])
  const { failing, refusedChecks } = await findTrouble({ store, now })
  const remedy = String(failing[0]?.remedy)
  t.match(remedy, /^Its requests are refused, 7 times, .* use "secrets rotate often"/)
  t.strictSame(
    failing.map(({ remedy, recoveredAt, ...rest }) => rest),
    [
      { kind: 'application', id: 'often', name: 'often', reason: 'wrong secret', count: 7, since: START - HOUR - 1 },
      { kind: 'suite', id: 's2', name: 'Suite s2', reason: 'wrong secret', count: 2, since: START - 1 },
      { kind: 'application', id: 'once', name: 'once', reason: 'wrong secret', count: 1, since: START - 1 },
    ],
  )
  t.strictSame(refusedChecks, [{ suite: 's1', reason: 'unknown token', count: 11, since: START - 1 }])
})

t.test('Trouble: a correct secret from elsewhere is one for a day, tokens from a source address or not', async (t) => {
  const { store, clock, administration } = await createWorld(t)
  const now = () => clock.time
  const sources = { sourceAddresses: ['10.0.0.0/8'] }
  await administration.register({ name: 'Refused', clientId: 'refused', ...sources })
  await administration.register({ name: 'Asked', clientId: 'asked', ...sources, reportOnly: ['source_addresses'] })
  const reason = 'address not allowed'
  const reported = { reason: 'address not allowed (report only)' }
  const application = await store.findApplication('refused')
  const use = { applicationKey: (application as Application).key, hour: 1, issued: 1, refused: 0 }
  await store.addTokenCounts([{ ...use, lastTokenAt: START + 1 }])
  await store.recordRefusals([
    refusal('refused', { reason, count: 2 }),
    refusal('refused', { reason, remoteAddress: '10.0.0.1', count: 3 }),
    refusal('asked', { ...reported, count: 7, firstAt: START - 1 }),
    refusal('asked', { ...reported, remoteAddress: '192.0.2.2' }),
  ])
  const found = async () => {
    const { failing, reported } = await findTrouble({ store, now })
    return { failing, reported }
  }
  const addresses = (list: string) => new RegExp(`its source addresses do not include ${list}\\. .* --source`)
  t.match(await found(), {
    failing: [{ id: 'refused', reason, count: 5, since: START, remedy: addresses('192\\.0\\.2\\.1') }],
    reported: [
      {
        ...{ id: 'asked', name: 'Asked', ...reported, count: 8, since: START - 1 },
        remedy: addresses('192\\.0\\.2\\.1, 192\\.0\\.2\\.2'),
      },
    ],
  })
  await administration.update('refused', { reportOnly: ['source_addresses'] })
  t.strictSame((await found()).failing, [], 'it is only reported now')
  await administration.update('refused', { reportOnly: [] })
  await administration.suspend('asked')
  t.strictSame((await found()).reported, [])
  await administration.resume('asked')
  clock.time += 24 * HOUR + 1
  t.strictSame(await found(), { failing: [], reported: [] })
  for (const [id, health] of Object.entries({ asked: 'doubtful', refused: 'well' }))
    t.equal((await administration.why(id)).health, health, id)
})

t.test('Trouble: a remedy, which is posted to chats, has no text that a caller chose', async (t) => {
  const { store, clock, administration } = await createWorld(t)
  for (const clientId of ['ids', 'jwts']) await administration.register({ name: clientId, clientId })
  const url = 'https://evil.example/login'
  await store.recordRefusals([
    refusal('ids', { reason: 'field missing', requestId: url, count: 3 }),
    refusal('jwts', { reason: 'federated token mismatch', detail: `iss is "${url}"`, count: 3 }),
  ])
  const { failing } = await findTrouble({ store, now: () => clock.time })
  t.equal(failing.length, 2)
  t.notMatch(JSON.stringify(failing), 'evil.example')
})

t.test('Trouble: however many are only reported, those that are refused are found', async (t) => {
  const { store, clock, administration } = await createWorld(t)
  await administration.register({ name: 'Refused', clientId: 'refused' })
  const ids = Array.from({ length: 101 }, (_, n) => `a${n}`)
  const applications = ids.map((id) => application(id, { reportOnly: ['quota'], quota: 1 }))
  await store.register({ suites: [], applications }, AUDIT)
  const reason = 'token quota exceeded (report only)'
  await store.recordRefusals([
    refusal('refused', { lastAt: START - 1 }),
    ...ids.map((id) => refusal(id, { reason, lastAt: START })),
  ])
  const { failing, reported, isPartial } = await findTrouble({ store, now: () => clock.time })
  t.match(failing, [{ id: 'refused' }])
  t.strictSame([reported.length, isPartial], [99, true])
  await administration.remove('a0')
  await administration.remove('a1')
  t.equal((await findTrouble({ store, now: () => clock.time })).isPartial, false)
})

t.test(
  'Trouble: who worked an hour or more after a refusal, and is refused again, has recovered in between',
  async (t) => {
    const { store, credentials } = await createWorldOfSuites(t)
    const { client_id: id } = credentials
    const [{ key }, suite] = [await store.findApplication(id), await store.findSuite('store')] as [Application, Suite]
    const times = { firstAt: START - 10 * HOUR, lastAt: START }
    await store.recordRefusals([refusal(id, times), refusal('store', times)])
    const found = async (client: string) => {
      const { failing } = await findTrouble({ store, now: () => START })
      return failing.find((one) => one.id === client)?.recoveredAt
    }
    const refused = (clientId: string, at: number) =>
      store.recordRefusedRequests([refusedRequest('r', { clientId, at })])
    const token = (lastTokenAt: number) =>
      store.addTokenCounts([{ applicationKey: key, hour: 1, issued: 1, refused: 0, lastTokenAt }])
    t.equal(await found(id), undefined, 'it has never worked')
    await token(START - 10 * HOUR)
    t.equal(await found(id), undefined, 'nor since it was refused')
    await refused(id, START - 3 * HOUR)
    await token(START - 2 * HOUR - 1)
    t.equal(await found(id), undefined, 'another instance may have it')
    await token(START - 2 * HOUR)
    t.equal(await found(id), START - 2 * HOUR)
    await refused(id, START - 2 * HOUR)
    t.equal(await found(id), START - 2 * HOUR, 'whatever was refused since')
    const secretId = suite.secrets[0]?.id as number
    await store.recordSecretUses([{ secretId, lastUsedAt: START - HOUR }])
    t.equal(await found('store'), START - HOUR, 'a suite when its secret was used')
  },
)

t.test('Trouble: a removed application that still calls is named, with who removed it and when', async (t) => {
  const { store, clock } = await createWorld(t)
  const now = () => clock.time
  const operator = 'https://login.example#7'
  await store.change({ type: 'operator added', operator, role: 'admin', email: 'anna@company.example' }, AUDIT)
  const author = { actor: operator, origin: 'console', remoteAddress: '192.0.2.1' } as const
  const administration = filling(createAdministration({ store, now, observe: () => {}, author }))
  const { register, remove } = administration.applications
  for (const clientId of ['orders', 'silent!', 'again', 'before'])
    await register({ clientId, name: `Name of ${clientId}`, suites: [] })
  for (const clientId of ['orders', 'silent!', 'again', 'before']) await remove(clientId)
  await register({ clientId: 'again', name: 'Again', suites: [] })
  const unknown = (clientId: string, more: Partial<RefusalCount>) =>
    refusal(abbreviated(clientId), { isKnown: false, reason: 'unknown client', ...more })
  await store.recordRefusals([
    unknown('orders', { firstAt: START + 1, lastAt: START + 2, count: 7 }),
    unknown('orders', { firstAt: START + 3, lastAt: START + 3, remoteAddress: '192.0.2.9' }),
    unknown('again', { lastAt: START + 1 }),
    unknown('before', { lastAt: START }),
    unknown('nobody!!', { lastAt: START + 1 }),
  ])
  const found = async () => (await findTrouble({ store, now })).removed
  const orders = { clientId: 'orders', name: 'Name of orders', by: 'anna@company.example (login.example)', at: START }
  t.match(await found(), { length: 1, 0: { ...orders, count: 8, since: START + 1 } })
  clock.time += 24 * HOUR + 3
  t.strictSame(await found(), [], 'it has stopped a day ago')
})

t.test('Trouble: a removed application is found however many applications one later request has changed', async (t) => {
  const { store } = await createWorld(t)
  const author = { actor: 'tester', origin: 'API', remoteAddress: '192.0.2.1', requestId: 'approvals' } as const
  const { applications, suites } = filling(createAdministration({ store, now: () => START, observe: () => {}, author }))
  await suites.register({ suiteId: 'store', name: 'Store API' })
  const ids = Array.from({ length: 101 }, (_, n) => `a${n}`)
  await store.register({ suites: [], applications: ['leaver', ...ids].map((id) => application(id)) }, AUDIT)
  await applications.remove('leaver')
  await suites.changeApprovals('store', ids, true)
  t.match(await listRemovals(store), [{ clientId: 'leaver' }])
})
