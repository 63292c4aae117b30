import t, { type Test } from 'tap'
import { createAdministration } from '../../src/administration/administration.ts'
import type { Registration } from '../../src/administration/applications.ts'
import type { SeedStep } from '../../src/administration/seed.ts'
import type { Store } from '../../src/domain/store.ts'
import { AUTHOR } from '../support/on.ts'
import { aRegistration } from '../support/registration.ts'
import { createWorld, type Seeds, wantedOf } from '../support/world.ts'

const STORE = { suiteId: 'store', name: 'Store API' }
const PARTNER = aRegistration({ name: 'Partner', developerEmail: 'a@partner.example' })
const NONE = { suites: [], applications: [] }

/** A world, and the seed of another process on its store; `store` may be changed. */
async function setting(t: Test, change: (store: Store) => Partial<Store> = () => ({})) {
  const world = await createWorld(t)
  const { post } = world
  const store = { ...world.store, ...change(world.store) }
  const { seed } = createAdministration({ store, now: Date.now, observe: () => {}, author: AUTHOR })

  const plan = (seeds: Seeds) => seed.plan(wantedOf(seeds))
  const stepsOf = async (seeds: Seeds) => seed.steps((await plan(seeds)).added)

  /** The status of a token request. */
  async function statusOf({ clientId, clientSecret }: { clientId?: string; clientSecret?: string | undefined } = {}) {
    const form = { grant_type: 'client_credentials', client_id: `${clientId}`, client_secret: `${clientSecret}` }
    return (await post(form)).statusCode
  }
  return { ...world, plan, stepsOf, statusOf }
}

const some = (count: number, name = (n: number) => `Application ${n}`) =>
  Array.from({ length: count }, (_, n) => aRegistration({ name: name(n), developerEmail: `${n}@partner.example` }))

t.test('Seed: what is missing is registered, what exists is left, again and again', async (t) => {
  const { administration } = await createWorld(t)
  const partner = { ...PARTNER, suites: 'all' as const }
  const file = [partner, { ...partner, name: 'Second', clientId: 'second', clientSecret: 'imported-secret' }]
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
  t.equal(results.flatMap(({ applications, suites }) => [...applications, ...suites]).length, 2)
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

t.test('Seed: an application of the same name is reported unless the file has it, too', async (t) => {
  const { plan, administration } = await setting(t)
  const known = { ...PARTNER, clientId: 'a' }
  const both = await plan({ suites: [], applications: [known, PARTNER] })
  t.match(both, { added: { length: 1 }, existing: 1 }, 'one without an id is the one before it')
  await administration.seed({ suites: [], applications: [known] })
  const other = { ...PARTNER, developerEmail: 'other@partner.example' }
  const namesakes = async (...applications: Registration[]) =>
    (await plan({ suites: [], applications })).namesakes.map(({ application }) => application.client_id)
  t.strictSame(await namesakes(other), ['a'])
  for (const file of [[other, { ...known, name: 'Renamed' }], [other, PARTNER], [{ ...other, clientId: 'b' }]]) {
    t.strictSame(await namesakes(...file), [])
  }
})

t.test('Seed: many are registered in several transactions', async (t) => {
  const { stepsOf, administration } = await setting(t)
  const registered = []
  for await (const { register } of await stepsOf({ suites: [STORE], applications: some(501) })) {
    t.strictSame(await register(), [])
    registered.push((await administration.list()).length)
  }
  t.strictSame(registered, [1, 501, 502], 'the first one is of the world')
})

t.test('Seed: nothing is registered before that is said, and then with the credentials that were shown', async (t) => {
  const { stepsOf, post, administration, statusOf } = await setting(t)
  const imported = { ...PARTNER, clientId: 'a', clientSecret: 'imported-secret' }
  const steps = await stepsOf({ suites: [STORE], applications: [PARTNER, imported] })
  const { suites, register: registerSuite } = (await steps.next()).value as SeedStep
  t.match(suites, [STORE])
  const statusOfSuite = async () => {
    const basic = `Basic ${btoa(`store:${suites[0]?.clientSecret}`)}`
    return (await post({ token: 'x' }, { authorization: basic }, '/v1/oauth/introspect')).statusCode
  }
  t.equal(await statusOfSuite(), 401)
  await registerSuite()
  t.equal(await statusOfSuite(), 200)
  const { applications, register } = (await steps.next()).value as SeedStep
  const all = [applications[0], imported]
  for (const one of all) t.equal(await statusOf(one), 401)
  await register()
  for (const one of all) t.equal(await statusOf(one), 200)
  t.match(await administration.listSecrets(String(applications[0]?.clientId)), [{ endsAt: null }])
  t.equal((await steps.next()).done, true)
})

t.test('Seed: ids that others register after the plan are refused, and named', async (t) => {
  const { plan, stepsOf, administration } = await setting(t)
  const file = { suites: [STORE], applications: [{ ...PARTNER, clientId: 'a' }] }
  const steps = await stepsOf(file)
  await administration.seed(file)
  const refused = []
  for await (const { register } of steps) refused.push(...(await register()))
  t.strictSame(refused, ['store', 'a'])
  t.strictSame((await plan(file)).added, [])
})

t.test('Seed: applications of one name are read once, however many there are', async (t) => {
  let rows = 0
  const { plan, stepsOf } = await setting(t, (store) => ({
    async findNamesakes(names) {
      const found = await store.findNamesakes(names)
      rows += found.length
      return found
    },
    listApplications: () => t.fail('the whole registry is read') as never,
  }))
  const file = { suites: [], applications: some(501, () => 'The same name') }
  for await (const { register } of await stepsOf(file)) await register()
  rows = 0
  t.match(await plan(file), { existing: 501, added: { length: 0 } })
  t.equal(rows, 501)
})
