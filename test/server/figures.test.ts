import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { countLiveTokens, createStoreFigures, shareFigure } from '../../src/server/store-figures.ts'
import { AUDIT } from '../support/audit.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorld, START } from '../support/world.ts'

/** A figure whose questions are answered when a test says so. */
function createFigure(maxAge: number, patience = 10) {
  const clock = { time: 0 }
  const questions: PromiseWithResolvers<number>[] = []
  const ask = shareFigure(
    () => {
      const question = Promise.withResolvers<number>()
      questions.push(question)
      return question.promise
    },
    { maxAge, patience, monotonic: () => clock.time },
  )
  return { ask, clock, questions }
}

t.test('Shared figure: all who ask share a question, and its answer for as long as it is good', async (t) => {
  const { ask, clock, questions } = createFigure(100)
  const both = Promise.all([ask(), ask()])
  questions[0]?.resolve(7)
  t.strictSame(await both, [
    { figure: 7, isFresh: true },
    { figure: 7, isFresh: true },
  ])
  clock.time = 99
  t.strictSame(await ask(), { figure: 7, isFresh: true })
  t.equal(questions.length, 1)
  clock.time = 100
  const next = ask()
  questions[1]?.resolve(8)
  t.strictSame(await next, { figure: 8, isFresh: true })
})

t.test('Shared figure: an answer is good from when it came', async (t) => {
  const { ask, clock, questions } = createFigure(100, 60_000)
  const first = ask()
  clock.time = 50
  questions[0]?.resolve(7)
  await first
  clock.time = 149
  t.strictSame(await ask(), { figure: 7, isFresh: true })
  t.equal(questions.length, 1)
})

t.test('Shared figure: who has an answer waits for nothing more', async (t) => {
  const { ask, questions } = createFigure(100, 60_000)
  const timers = () => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length
  const before = timers()
  const first = ask()
  t.equal(timers(), before + 1)
  questions[0]?.resolve(7)
  await first
  t.equal(timers(), before)
})

t.test('Shared figure: a question that hangs is not waited for, and is not asked again meanwhile', async (t) => {
  const { ask, clock, questions } = createFigure(100)
  t.strictSame(await ask(), { figure: undefined, isFresh: false })
  clock.time = 1000
  t.strictSame(await ask(), { figure: undefined, isFresh: false })
  t.equal(questions.length, 1)
  questions[0]?.resolve(7)
  await turn()
  t.strictSame(await ask(), { figure: 7, isFresh: true })
  t.equal(questions.length, 1)
})

t.test('Shared figure: one that cannot be had is what it was, and not fresh', async (t) => {
  const { ask, clock, questions } = createFigure(100)
  const first = ask()
  questions[0]?.resolve(7)
  await first
  clock.time = 100
  const second = ask()
  questions[1]?.reject(new Error('gone'))
  t.strictSame(await second, { figure: 7, isFresh: false })
  const third = ask()
  questions[2]?.resolve(8)
  t.strictSame(await third, { figure: 8, isFresh: true }, 'it is asked for again at once')
})

const HOUR = 60 * 60 * 1000

t.test('Live tokens: a token lives for an hour, or until it is revoked', async (t) => {
  const { store, token, clock, post, credentials } = await createWorld(t)
  const live = () => countLiveTokens(store, clock.time)
  t.strictSame(await live(), { count: 0, isExact: true })
  await token()
  clock.time += 1000
  const revoked = await token()
  t.strictSame(await live(), { count: 2, isExact: true })
  await post({ ...credentials, token: revoked }, {}, '/v1/oauth/revoke')
  t.strictSame(await live(), { count: 1, isExact: true })
  clock.time = START + HOUR - 1
  t.strictSame(await live(), { count: 1, isExact: true })
  clock.time = START + HOUR
  t.strictSame(await live(), { count: 0, isExact: true })
})

t.test('Live tokens: a very large number is estimated, and marked as an estimate', async (t) => {
  const asked: number[] = []
  const issued = new Map([
    [START / HOUR - 1, 1_000_000],
    [START / HOUR, 200_000],
  ])
  const many = {
    countLiveTokens: async () => undefined,
    countIssued: async (hour: number) => {
      asked.push(hour)
      return issued.get(hour) ?? 0
    },
  }
  t.strictSame(await countLiveTokens(many, START), { count: 1_200_000, isExact: false })
  t.strictSame(await countLiveTokens(many, START + 0.75 * HOUR), { count: 450_000, isExact: false })
  issued.clear()
  t.strictSame(await countLiveTokens(many, START), { count: 100_000, isExact: false }, 'the counts come later')
  t.strictSame([...new Set(asked)], [START / HOUR - 1, START / HOUR])
})

const DAY = 24 * HOUR

/** The figures of a real store, at a time that the test decides. */
async function createStore(t: Test) {
  const world = await createWorld(t, { databaseUrl: `sqlite:${join(temporaryFolder(t), 'store.db')}` })
  const { clock } = world
  const figures = createStoreFigures({ now: () => clock.time, monotonic: () => clock.monotonic })
  /** The numbers as they are now, and not some seconds ago. */
  async function measure() {
    clock.monotonic += 15_000
    return figures.measure()
  }
  return { ...world, ...figures, measure, lately: figures.measure }
}

const NOTHING = {
  store_up: [[[], 0]],
  database_bytes: [[[], 0]],
  wal_bytes: [[[], 0]],
  oldest_expired_token_seconds: [[[], 0]],
  secrets_ending: [
    [['1d'], 0],
    [['7d'], 0],
  ],
  last_backup_timestamp_seconds: [[[], 0]],
  clock_offset_seconds: [[[], 0]],
}

t.test('Store figures: before the store is open there are all, and it is not up', async (t) => {
  const { measure, isUp } = await createStore(t)
  t.strictSame(await measure(), NOTHING)
  t.equal(await isUp(), false)
})

t.test('Store figures: one scrape before the store is open does not make the next one wait', async (t) => {
  const { lately, open, store } = await createStore(t)
  t.strictSame(await lately(), NOTHING)
  open(store)
  const { database } = await store.size()
  t.strictSame((await lately()).database_bytes, [[[], database]])
})

t.test('Store figures: they are those of the store', async (t) => {
  const { measure, open, isUp, store, clock, token, administration, credentials } = await createStore(t)
  open(store)
  t.equal(await isUp(), true)
  const { database, log } = await store.size()
  t.strictSame(await measure(), {
    ...NOTHING,
    store_up: [[[], 1]],
    database_bytes: [[[], database]],
    wal_bytes: [[[], log]],
  })

  await token()
  clock.time += HOUR + 7000
  t.strictSame((await measure()).oldest_expired_token_seconds, [[[], 7]])

  const [secret] = await administration.listSecrets(credentials.client_id)
  await administration.rotateSecret(credentials.client_id, 2 * DAY)
  t.strictSame((await measure()).secrets_ending, NOTHING.secrets_ending, 'there is a successor')
  t.ok(secret)
  const [, successor] = await administration.listSecrets(credentials.client_id)
  await store.revokeSecret(credentials.client_id, Number(successor?.id), clock.time, AUDIT)
  t.strictSame((await measure()).secrets_ending, [
    [['1d'], 0],
    [['7d'], 1],
  ])
})

t.test('Store figures: the store is asked for what costs a query at most every 15 seconds', async (t) => {
  const { measure, lately, open, store, clock } = await createStore(t)
  let times = 0
  open({
    ...store,
    lastBackupAt: async () => {
      times++
      return START
    },
  })
  t.strictSame((await measure()).last_backup_timestamp_seconds, [[[], START / 1000]])
  clock.monotonic += 14_999
  await lately()
  t.equal(times, 1)
  clock.monotonic += 1
  await Promise.all([lately(), lately()])
  t.equal(times, 2)
})

t.test(
  'Store figures: a store that hangs is waited for no longer than a second, and its figures are what they were',
  async (t) => {
    const { measure, open, store, isUp } = await createStore(t)
    const { promise, resolve } = Promise.withResolvers<void>()
    let isHanging = false
    const hang = async () => void (isHanging && (await promise))
    open({
      ...store,
      ping: () => hang().then(store.ping),
      size: () => hang().then(store.size),
      clockOffset: () => -1500,
    })
    const before = await measure()
    t.strictSame([before.store_up, before.clock_offset_seconds], [[[[], 1]], [[[], -1.5]]])
    isHanging = true
    t.strictSame(await measure(), { ...before, store_up: [[[], 0]] })
    t.equal(await isUp(), false)
    resolve()
    isHanging = false
    t.equal(await isUp(), true)
  },
)

t.test('Store figures: a store that refuses is not up', async (t) => {
  const { measure, open, store } = await createStore(t)
  const refuse = () => Promise.reject(new Error('gone'))
  open({ ...store, ping: refuse, size: refuse })
  t.strictSame(await measure(), NOTHING)
})
