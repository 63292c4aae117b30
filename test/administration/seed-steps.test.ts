import t, { type Test } from 'tap'
import { createAdministration } from '../../src/administration/administration.ts'
import type { Seeds } from '../../src/administration/seed-plan.ts'
import type { Store } from '../../src/domain/store.ts'
import { AUTHOR } from '../support/audit.ts'
import { createWorld } from '../support/world.ts'

const STORE = { suiteId: 'store', name: 'Store API' }
const PARTNER = { name: 'Partner', developerEmail: 'a@partner.example' }

/** A world, and the seed of another process on its store; `store` may be changed. */
async function setting(t: Test, change: (store: Store) => Partial<Store> = () => ({})) {
  const world = await createWorld(t)
  const store = { ...world.store, ...change(world.store) }
  const { seed } = createAdministration({ store, now: Date.now, observe: () => {}, author: AUTHOR })
  const first = async (seeds: Seeds) => (await seed.register(await seed.plan('seed.json', seeds)).next()).value
  return { ...world, seed, first }
}

const some = (count: number, name = (n: number) => `Application ${n}`) =>
  Array.from({ length: count }, (_, n) => ({ name: name(n), developerEmail: `${n}@partner.example` }))

t.test('Seed: many are registered in several transactions, and each is shown once it is registered', async (t) => {
  const { seed, store } = await setting(t)
  const sizes = []
  for await (const { applications } of seed.register(
    await seed.plan('seed.json', { suites: [], applications: some(1001) }),
  )) {
    sizes.push(applications.length)
    for (const { clientId } of applications) t.ok(await store.findApplication(clientId))
  }
  t.strictSame(sizes, [500, 500, 1])
})

t.test('Seed: a secret is valid from when it was shown, and not before', async (t) => {
  const { seed, post, administration } = await setting(t)
  const steps = seed.register(await seed.plan('seed.json', { suites: [STORE], applications: [PARTNER] }))
  const suite = (await steps.next()).value?.suites[0]
  t.match(suite, STORE)
  const statusOfSuite = async () => {
    const basic = `Basic ${btoa(`store:${suite?.clientSecret}`)}`
    return (await post({ token: 'x' }, { authorization: basic }, '/v1/oauth/introspect')).statusCode
  }
  t.equal(await statusOfSuite(), 401)
  const one = (await steps.next()).value?.applications[0]
  t.equal(await statusOfSuite(), 200)
  const form = {
    grant_type: 'client_credentials',
    client_id: one?.clientId as string,
    client_secret: one?.clientSecret as string,
  }
  t.equal((await post(form)).statusCode, 401)
  t.equal((await steps.next()).done, true)
  t.equal((await post(form)).statusCode, 200)
  t.match(await administration.listSecrets(form.client_id), [{ endsAt: null }])
})

t.test(
  'Seed: what a run has registered and not shown gets a new secret by the next run, and is then left',
  async (t) => {
    const { seed, first, administration, post, changes } = await setting(t)
    const file = { suites: [STORE], applications: [PARTNER, { ...PARTNER, name: 'Other', clientId: 'other' }] }
    await first({ ...file, applications: [] })
    const unseen = (await seed.register(await seed.plan('seed.json', { ...file, suites: [] })).next()).value
      ?.applications
    t.equal(unseen?.length, 2)

    const again = await administration.seed(file)
    t.match(again, { suites: [STORE], applications: [PARTNER, { clientId: 'other' }] })
    t.not(again.applications[0]?.clientSecret, unseen?.[0]?.clientSecret)
    t.equal(again.applications[0]?.clientId, unseen?.[0]?.clientId)
    for (const { clientId, clientSecret } of again.applications) {
      const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret as string }
      t.equal((await post(form)).statusCode, 200)
    }
    t.match(changes.slice(-3), [
      { type: 'secret added', clientId: 'store' },
      { type: 'secret added', clientId: again.applications[0]?.clientId },
      { type: 'secret added', clientId: 'other' },
    ])
    t.strictSame(await administration.seed(file), { suites: [], applications: [] })
  },
)

t.test('Seed: an imported secret is valid at once, for nobody has to be shown it', async (t) => {
  const { first, post } = await setting(t)
  await first({ suites: [], applications: [{ ...PARTNER, clientId: 'a', clientSecret: 'imported-secret' }] })
  const form = { grant_type: 'client_credentials', client_id: 'a', client_secret: 'imported-secret' }
  t.equal((await post(form)).statusCode, 200)
})

t.test('Seed: who is removed or registered by another process after the plan is not shown', async (t) => {
  const { seed, first, administration } = await setting(t)
  const file = { suites: [STORE], applications: [{ ...PARTNER, clientId: 'a' }] }
  await first({ ...file, applications: [] })
  await first({ ...file, suites: [] })
  const removed = await seed.plan('seed.json', file)
  await administration.remove('a')
  await administration.removeSuite('store')
  const raced = await seed.plan('seed.json', file)
  for (const plan of [removed, raced]) {
    if (plan === raced) await administration.seed(file)
    for await (const step of seed.register(plan)) t.match(step, { suites: [], applications: [], existing: 1 })
  }
})

t.test('Seed: after a signal no step begins', async (t) => {
  const { seed, administration } = await setting(t)
  const stopped = new AbortController()
  for await (const _ of seed.register(
    await seed.plan('seed.json', { suites: [], applications: some(501) }),
    stopped.signal,
  )) {
    stopped.abort()
  }
  t.equal((await administration.list()).length, 501)
})

t.test('Seed: applications of one name are read once, however many there are', async (t) => {
  let rows = 0
  const { seed } = await setting(t, (store) => ({
    async findNamesakes(names) {
      const found = await store.findNamesakes(names)
      rows += found.length
      return found
    },
    listApplications: () => t.fail('the whole registry is read') as never,
  }))
  const file = { suites: [], applications: some(1200, () => 'The same name') }
  for await (const _ of seed.register(await seed.plan('seed.json', file)));
  rows = 0
  t.match(await seed.plan('seed.json', file), { existing: 1200, missing: { applications: [] } })
  t.equal(rows, 1200)
})
