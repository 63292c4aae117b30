import t, { type Test } from 'tap'
import { createAdministration } from '../../src/administration/administration.ts'
import type { Registration } from '../../src/administration/applications.ts'
import type { Seeds } from '../../src/administration/seed-plan.ts'
import type { Store } from '../../src/domain/store.ts'
import { AUTHOR } from '../support/audit.ts'
import { createWorld } from '../support/world.ts'

const STORE = { suiteId: 'store', name: 'Store API' }
const PARTNER = { name: 'Partner', developerEmail: 'a@partner.example' }
const NONE = { suites: [], applications: [] }

/** A world, and the seed of another process on its store; `store` may be changed. */
async function setting(t: Test, change: (store: Store) => Partial<Store> = () => ({})) {
  const world = await createWorld(t)
  const { post } = world
  const store = { ...world.store, ...change(world.store) }
  const { seed } = createAdministration({ store, now: Date.now, observe: () => {}, author: AUTHOR })

  /** Plans a seed and begins to register it. */
  const begin = async (seeds: Seeds, signal?: AbortSignal) => seed.register(await seed.plan('seed.json', seeds), signal)
  const first = async (seeds: Seeds) => (await (await begin(seeds)).next()).value

  /** The status of a token request. */
  async function statusOf({ clientId, clientSecret }: { clientId?: string; clientSecret?: string | undefined } = {}) {
    const form = { grant_type: 'client_credentials', client_id: `${clientId}`, client_secret: `${clientSecret}` }
    return (await post(form)).statusCode
  }
  return { ...world, seed, begin, first, statusOf }
}

const some = (count: number, name = (n: number) => `Application ${n}`) =>
  Array.from({ length: count }, (_, n) => ({ name: name(n), developerEmail: `${n}@partner.example` }))

t.test('Seed: what is missing is registered, what exists is left, again and again', async (t) => {
  const { administration } = await createWorld(t)
  const file = [PARTNER, { ...PARTNER, name: 'Second', clientId: 'second', clientSecret: 'imported-secret' }]
  t.match(await administration.seed({ suites: [STORE], applications: file }), {
    suites: [{ ...STORE, clientSecret: /^\w{40}$/ }],
    applications: [
      { clientId: String, clientSecret: String, name: 'Partner' },
      { clientId: 'second', clientSecret: undefined, name: 'Second' },
    ],
  })
  const before = await administration.list()
  t.strictSame(before[1]?.suites, ['store'])
  t.strictSame(await administration.seed({ suites: [STORE], applications: file }), NONE)
  const others = [{ name: 'Renamed', clientId: 'second' }, { suites: ['a suite that was removed'] }]
  for (const other of others) {
    t.strictSame(await administration.seed({ suites: [], applications: [{ ...PARTNER, ...other }] }), NONE)
  }
  t.strictSame(await administration.list(), before)
})

t.test('Seed: two at once register each application once', async (t) => {
  const { administration } = await createWorld(t)
  const file = { suites: [STORE], applications: [PARTNER] }
  const results = await Promise.all([administration.seed(file), administration.seed(file)])
  t.match(
    results.flatMap(({ applications, suites }) => [...applications, ...suites]),
    { length: 2 },
  )
  t.equal((await administration.list()).length, 2)
})

t.test('Seed: an application is the same if its client id is or, without one, its name and developer', async (t) => {
  const { administration } = await createWorld(t)
  const other = { ...PARTNER, name: 'Other' }
  const b = { ...PARTNER, developerEmail: 'b@partner.example' }
  const steps: [file: Registration[], added: Registration[]][] = [
    [[PARTNER], [PARTNER]],
    [[PARTNER], []],
    [[other], [other]],
    [[b], [b]],
    [[PARTNER, { ...b, name: 'Other' }], [{ ...b, name: 'Other' }]],
    [[{ ...PARTNER, clientId: 'a' }], [{ ...PARTNER, clientId: 'a' }]],
    [[{ ...PARTNER, clientId: 'a' }], []],
    [[{ ...PARTNER, clientId: 'b' }], [{ ...PARTNER, clientId: 'b' }]],
  ]
  for (const [applications, added] of steps) {
    const seeded = await administration.seed({ suites: [], applications })
    t.match(seeded.applications, added)
    t.equal(seeded.applications.length, added.length)
  }
})

t.test('Seed: many are registered in several transactions, each shown once registered; a signal ends it', async (t) => {
  const { begin, store, administration } = await setting(t)
  const shown = []
  for await (const { applications } of await begin({ suites: [], applications: some(501) })) {
    const found = await Promise.all(applications.map(({ clientId }) => store.findApplication(clientId)))
    shown.push(found.filter((one) => one !== undefined).length)
  }
  t.strictSame(shown, [500, 1])
  const stopped = new AbortController()
  const others = { suites: [], applications: some(501, (n) => `Other ${n}`) }
  for await (const _ of await begin(others, stopped.signal)) stopped.abort()
  t.equal((await administration.list()).length, 1 + 501 + 500)
})

t.test('Seed: a generated secret is valid from when it was shown, an imported one at once', async (t) => {
  const { begin, first, post, administration, statusOf } = await setting(t)
  const steps = await begin({ suites: [STORE], applications: [PARTNER] })
  const suite = (await steps.next()).value?.suites[0]
  t.match(suite, STORE)
  const statusOfSuite = async () => {
    const basic = `Basic ${btoa(`store:${suite?.clientSecret}`)}`
    return (await post({ token: 'x' }, { authorization: basic }, '/v1/oauth/introspect')).statusCode
  }
  t.equal(await statusOfSuite(), 401)
  const one = (await steps.next()).value?.applications[0]
  t.equal(await statusOfSuite(), 200)
  t.equal(await statusOf(one), 401)
  t.equal((await steps.next()).done, true)
  t.equal(await statusOf(one), 200)
  t.match(await administration.listSecrets(String(one?.clientId)), [{ endsAt: null }])

  const imported = { clientId: 'a', clientSecret: 'imported-secret' }
  await first({ suites: [], applications: [{ ...PARTNER, ...imported }] })
  t.equal(await statusOf(imported), 200)
})

t.test('Seed: what a run did not show gets a new secret by the next run, and is then left', async (t) => {
  const { first, administration, statusOf, changes } = await setting(t)
  const file = { suites: [STORE], applications: [PARTNER, { ...PARTNER, name: 'Other', clientId: 'other' }] }
  await first({ ...file, applications: [] })
  const unseen = (await first({ ...file, suites: [] }))?.applications
  t.equal(unseen?.length, 2)

  const again = await administration.seed(file)
  const [one] = again.applications
  t.match(again, { suites: [STORE], applications: [PARTNER, { clientId: 'other' }] })
  t.not(one?.clientSecret, unseen?.[0]?.clientSecret)
  t.equal(one?.clientId, unseen?.[0]?.clientId)
  for (const application of again.applications) t.equal(await statusOf(application), 200)
  t.match(
    changes.slice(-3),
    ['store', one?.clientId, 'other'].map((clientId) => ({ type: 'secret added', clientId })),
  )
  t.strictSame(await administration.seed(file), NONE)
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
    for await (const step of seed.register(plan)) t.match(step, { ...NONE, existing: 1 })
  }
})

t.test('Seed: applications of one name are read once, however many there are', async (t) => {
  let rows = 0
  const { seed, begin } = await setting(t, (store) => ({
    async findNamesakes(names) {
      const found = await store.findNamesakes(names)
      rows += found.length
      return found
    },
    listApplications: () => t.fail('the whole registry is read') as never,
  }))
  const file = { suites: [], applications: some(501, () => 'The same name') }
  for await (const _ of await begin(file));
  rows = 0
  t.match(await seed.plan('seed.json', file), { existing: 501, missing: { applications: [] } })
  t.equal(rows, 501)
})
