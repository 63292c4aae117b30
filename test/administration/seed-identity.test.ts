import t from 'tap'
import { createWorld } from '../support/world.ts'

const PARTNER = { name: 'Partner', developerEmail: 'a@partner.example' }

t.test('Seed: without a client id, an application is the same if both its name and its developer are', async (t) => {
  const { administration } = await createWorld(t)
  const namesOfNew = async (...applications: (typeof PARTNER)[]) => {
    const added = await administration.seed({ suites: [], applications })
    return added.applications.map(({ name, developerEmail }) => `${name} of ${developerEmail}`)
  }
  t.strictSame(await namesOfNew(PARTNER), ['Partner of a@partner.example'])
  t.strictSame(await namesOfNew(PARTNER), [])
  t.strictSame(await namesOfNew({ ...PARTNER, name: 'Other' }), ['Other of a@partner.example'])
  t.strictSame(await namesOfNew({ ...PARTNER, developerEmail: 'b@partner.example' }), ['Partner of b@partner.example'])
  t.strictSame(await namesOfNew(PARTNER, { name: 'Other', developerEmail: 'b@partner.example' }), [
    'Other of b@partner.example',
  ])
})

t.test('Seed: with a client id, an application is the same if its client id is', async (t) => {
  const { administration } = await createWorld(t)
  const idsOfNew = async (clientId: string) => {
    const added = await administration.seed({ suites: [], applications: [{ ...PARTNER, clientId }] })
    return added.applications.map(({ clientId }) => clientId)
  }
  t.strictSame(await idsOfNew('a'), ['a'])
  t.strictSame(await idsOfNew('a'), [])
  t.strictSame(await idsOfNew('b'), ['b'], 'though its name and its developer are taken')
})

t.test('Seed: an application that exists is left, whatever else the seed says of it', async (t) => {
  const { administration } = await createWorld(t)
  const withId = { ...PARTNER, name: 'With an id', clientId: 'a' }
  await administration.seed({ suites: [], applications: [PARTNER, withId] })
  const before = await administration.list()
  for (const one of [PARTNER, withId]) {
    const again = { ...one, suites: ['a suite that was removed'] }
    t.strictSame((await administration.seed({ suites: [], applications: [again] })).applications, [])
  }
  t.strictSame(await administration.list(), before)
})
