import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createStoreFigures } from '../../src/server/store-figures.ts'
import { AUDIT } from '../support/audit.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorld, START } from '../support/world.ts'

const HOUR = 60 * 60 * 1000
const DAY = 24 * HOUR

/** The figures of a real store, at a time that the test decides. */
async function createFigures(t: Test) {
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
  const { measure, isUp } = await createFigures(t)
  t.strictSame(await measure(), NOTHING)
  t.equal(await isUp(), false)
})

t.test('Store figures: one scrape before the store is open does not make the next one wait', async (t) => {
  const { lately, open, store } = await createFigures(t)
  t.strictSame(await lately(), NOTHING)
  open(store)
  const { database } = await store.size()
  t.strictSame((await lately()).database_bytes, [[[], database]])
})

t.test('Store figures: they are those of the store', async (t) => {
  const { measure, open, isUp, store, clock, token, administration, credentials } = await createFigures(t)
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
  const { measure, lately, open, store, clock } = await createFigures(t)
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
    const { measure, open, store, isUp } = await createFigures(t)
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
  const { measure, open, store } = await createFigures(t)
  const refuse = () => Promise.reject(new Error('gone'))
  open({ ...store, ping: refuse, size: refuse })
  t.strictSame(await measure(), NOTHING)
})
