import t from 'tap'
import { createAdministration } from '../../src/administration/administration.ts'
import { findTrouble } from '../../src/administration/trouble.ts'
import { refusal } from '../support/refusal.ts'
import { createWorld, START } from '../support/world.ts'

const HOUR = 60 * 60_000

t.test('Trouble: applications and suites are failing if they are refused now, most often first', async (t) => {
  const { store, clock } = await createWorld(t)
  const now = () => clock.time
  const author = { actor: 'tester', origin: 'command line', remoteAddress: 'machine' } as const
  const administration = createAdministration({ store, now, observe: () => {}, author })
  const { applications, suites } = administration
  for (const suiteId of ['s1', 's2']) await suites.register({ suiteId, name: `Suite ${suiteId}` })
  for (const clientId of ['often', 'once', 'suspended', 'mended', 'yesterday']) {
    const values = { name: clientId, developerEmail: 'a@b.example' }
    await applications.register({ ...values, clientId, suites: clientId === 'mended' ? ['s1'] : [] })
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
  const { failing, refusedChecks } = await findTrouble(administration, { store, now })
  t.strictSame(failing, [
    { kind: 'application', id: 'often', name: 'often', reason: 'wrong secret', count: 7, since: START - HOUR - 1 },
    { kind: 'suite', id: 's2', name: 'Suite s2', reason: 'wrong secret', count: 2, since: START - 1 },
    { kind: 'application', id: 'once', name: 'once', reason: 'wrong secret', count: 1, since: START - 1 },
  ])
  t.strictSame(refusedChecks, [{ suite: 's1', reason: 'unknown token', count: 11, since: START - 1 }])
})
