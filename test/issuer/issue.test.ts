import t, { type Test } from 'tap'
import type { Application } from '../../src/domain/application.ts'
import type { Event } from '../../src/domain/events.ts'
import { hourOf } from '../../src/domain/usage.ts'
import { createIssuer } from '../../src/issuer/issuer.ts'
import { createTokenCounts } from '../../src/issuer/token-counts.ts'
import { openStore } from '../../src/store/open.ts'
import { failures } from '../support/failures.ts'
import { countTokens, lastTokenAt } from '../support/usage.ts'
import { createWorldWithFile, keyOf, START } from '../support/world.ts'

const HOUR = 3_600_000

/** The counts of several processes with one store, and an application. */
async function createProcesses(t: Test, { tokens = Infinity, isReportOnly = false } = {}) {
  const { store, credentials, file, other } = await createWorldWithFile(t)
  const application = (await store.findApplication(credentials.client_id)) as Application
  const { key } = application
  const told: Event[] = []

  async function start() {
    const store = await openStore({ kind: 'sqlite', file }, { lockTimeout: 0 })
    t.teardown(() => store.close())
    const counts = createTokenCounts({ store, tokenQuota: { tokens, isReportOnly } })
    /** Counts tokens until one is refused. Resolves to how many were not. */
    async function issue(wanted: number, at = START, to = application): Promise<number> {
      for (let n = 0; n < wanted; n++) {
        const counter = counts.find(to.key, at) ?? (await counts.open(to, at))
        try {
          counts.count(counter, to, at)
          counter.lastTokenAt = at
        } catch {
          return n
        }
      }
      return wanted
    }
    return { counts, issue, flush: (at = START) => counts.flush(at, (event) => told.push(event)) }
  }
  const stored = (hour = hourOf(START)) => countTokens(store, key, hour)
  return { start, told, stored, store, other, application }
}

t.test('RFC 6749 §5.1: expires_in is the lifetime that is left when the token is on disk', async (t) => {
  const { store, application } = await createProcesses(t)
  let time = START
  const issueIn = (milliseconds: number) =>
    createIssuer({
      store,
      failures: failures(),
      observe: () => {},
      publicUrl: '',
      now: () => (time += milliseconds),
    }).issue(application)
  t.match(await issueIn(10_000), { issuedAt: START + 10_000, expiresIn: 3589 })
  t.match(await issueIn(9_999), { expiresIn: 3590 })
  t.match(await issueIn(2 * HOUR), { expiresIn: 0 })
})

t.test('Usage: what several processes count is added up', async (t) => {
  const { start, stored, store, application } = await createProcesses(t)
  const [one, other] = [await start(), await start()]
  await one.issue(2)
  await other.issue(3, START + 7)
  t.equal(await stored(), 0, 'a request does not wait for it')
  await one.flush()
  await other.flush()
  t.equal(await stored(), 5)
  await one.flush()
  await one.issue(1)
  await one.flush()
  t.equal(await stored(), 6)
  t.equal(await lastTokenAt(store, application.key), START + 7)
})

t.test('Usage: a token that the store refused does not count as the last one', async (t) => {
  const { issuer, token, administration, credentials, clock, other } = await createWorldWithFile(t)
  await token()
  other.exec("CREATE TRIGGER fails BEFORE INSERT ON tokens BEGIN SELECT RAISE(ABORT, 'full'); END")
  clock.time = START + 7
  t.notOk(await token())
  await issuer.flushUsage(() => {})
  t.match(await administration.show(credentials.client_id), { lastTokenAt: START })
})

t.test('Usage: the time of the last token is stored, even if its count was stored before', async (t) => {
  const { start, stored, store, application } = await createProcesses(t)
  const { counts, flush } = await start()
  const [counter, same] = await Promise.all([counts.open(application, START), counts.open(application, START)])
  t.equal(counter, same, 'tokens that are asked for in one moment share one counter')
  counts.count(counter, application, START)
  await flush()
  t.equal(await lastTokenAt(store, application.key), undefined)
  counter.lastTokenAt = START
  await flush()
  t.equal(await lastTokenAt(store, application.key), START)
  t.equal(await stored(), 1)
})

t.test('Quota: processes exceed it together by no more than they issue between two flushes', async (t) => {
  const { start, stored } = await createProcesses(t, { tokens: 10 })
  const [one, other] = [await start(), await start()]
  await one.issue(4)
  await other.issue(4)
  for (const process of [one, other, one]) await process.flush()
  t.equal(await one.issue(1), 1)
  await one.flush()
  t.equal(await one.issue(10), 1)
  t.equal(await other.issue(10), 2, 'it knows of eight')
  for (const process of [one, other]) await process.flush()
  t.equal(await stored(), 12)
  for (const process of [one, other, await start()]) t.equal(await process.issue(1), 0, 'nor one that begins now')
})

t.test('Quota: that of an application counts instead of TOKEN_QUOTA, at once and after a restart', async (t) => {
  for (const tokens of [Infinity, 2]) {
    const { start, application } = await createProcesses(t, { tokens })
    const limited = { ...application, quota: 4 }
    const { issue, flush } = await start()
    t.equal(await issue(9, START, limited), 4)
    await flush()
    const { issue: issueLater } = await start()
    t.equal(await issueLater(9, START, limited), 0)
    t.equal(await issueLater(9, START, { ...application, quota: 7 }), 3)
    t.equal(await issueLater(9, START, application), tokens === Infinity ? 9 : 0)
  }
})

t.test('Usage: many tokens in an hour are reported once among all processes', async (t) => {
  const { start, told, application } = await createProcesses(t)
  const [one, other] = [await start(), await start()]
  await one.issue(200)
  await other.issue(160)
  for (const process of [one, other]) await process.flush()
  t.strictSame(told, [], '360 are one every ten seconds')
  await one.issue(1)
  await other.issue(500)
  for (const process of [one, other]) await process.flush()
  await one.issue(500)
  await one.flush()
  const about = { type: 'many tokens issued', clientId: application.clientId }
  t.strictSame(told, [{ ...about, hour: '2027-01-15T08:00:00.000Z' }])
  await one.issue(361, START + HOUR)
  await one.flush(START + HOUR)
  t.strictSame(told.slice(1), [{ ...about, hour: '2027-01-15T09:00:00.000Z' }])
})

t.test('Usage: counts that could not be stored are stored later, except for hours long past', async (t) => {
  const { start, stored, other } = await createProcesses(t)
  const one = await start()
  other.exec('BEGIN IMMEDIATE')
  await one.issue(2)
  await t.rejects(one.flush(), { name: 'StoreUnavailable' })
  await one.issue(1)
  await one.issue(4, START + HOUR)
  await t.rejects(one.flush(START + HOUR), { name: 'StoreUnavailable' })
  await one.issue(5, START + 2 * HOUR)
  await t.rejects(one.flush(START + 2 * HOUR), { name: 'StoreUnavailable' })
  other.exec('COMMIT')
  await one.flush(START + 2 * HOUR)
  const first = hourOf(START)
  t.strictSame([await stored(first), await stored(first + 1), await stored(first + 2)], [0, 4, 5])
})

t.test('Usage: many applications are stored in steps, and those of past hours are forgotten', async (t) => {
  const { store, application } = await createProcesses(t)
  const steps: number[] = []
  const addTokenCounts: typeof store.addTokenCounts = async (counts) => {
    steps.push(counts.length)
    return [...counts]
  }
  const counts = createTokenCounts({ store: { ...store, addTokenCounts } })
  for (let n = 0; n < 1001; n++) {
    const one = { ...application, key: keyOf(n) }
    counts.count(await counts.open(one, START), one, START)
  }
  await counts.flush(START, () => {})
  t.ok(steps.length > 1)
  const all = steps.reduce((sum, step) => sum + step, 0)
  t.equal(all, 1001)
  t.ok(counts.find(keyOf(0), START))
  await counts.flush(START + HOUR, () => {})
  t.notOk(counts.find(keyOf(0), START))
})
