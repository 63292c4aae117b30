import t from 'tap'
import { createAdministration } from '../../src/administration/administration.ts'
import { operatorView } from '../../src/administration/views.ts'
import { OperatorError } from '../../src/domain/operator-error.ts'
import { AUTHOR } from '../support/audit.ts'
import { createWorld, START } from '../support/world.ts'

const DAY = 24 * 60 * 60_000

t.test('Operators: they are added with a role, listed and removed', async (t) => {
  const { administration, changes } = await createWorld(t)
  const { operators } = administration
  t.match(await operators.add('anna', 'admin'), { name: 'anna', role: 'admin', keys: [], sessions: [] })
  await operators.add('ci@build', 'viewer')
  t.match(await operators.list(), [{ name: 'anna' }, { name: 'ci@build', role: 'viewer' }])
  await operators.remove('anna')
  t.match(await operators.list(), [{ name: 'ci@build' }])
  await t.rejects(operators.show('anna'), { message: 'There is no operator with the name anna.' })
  t.match(changes.slice(-3), [
    { type: 'operator added', operator: 'anna', role: 'admin', actor: 'tester' },
    { type: 'operator added', operator: 'ci@build', role: 'viewer' },
    { type: 'operator removed', operator: 'anna' },
  ])
})

t.test('Operators: a name is safe in a URL, in the log and in a command', async (t) => {
  const { operators } = (await createWorld(t)).administration
  for (const name of ['a', '7', 'a.b-c_d@e.example', 'a'.repeat(64)])
    t.match(await operators.add(name, 'viewer'), { name })
  for (const name of ['', '.', '..', '-a', '@a', 'a b', 'a/b', 'ä', 'a\0', 'a\n', 'a'.repeat(65), 'a"', 'a%20']) {
    await t.rejects(operators.add(name, 'viewer'), { name: 'OperatorError', message: /^The name must be/ }, name)
  }
  await t.rejects(operators.add('b', 'root' as 'admin'), { message: 'The role must be admin or viewer.' })
  await t.rejects(operators.add('a', 'admin'), { message: 'There is an operator with the name a already.' })
})

t.test('Operators: a key is shown once, and ends within a year', async (t) => {
  const { administration, clock, changes } = await createWorld(t)
  const { operators } = administration
  await operators.add('anna', 'admin')
  const { adminKey, id, endsAt } = await operators.addKey('anna', 90 * DAY)
  t.match(adminKey, /^otsa_\w{49}$/)
  t.equal(endsAt, START + 90 * DAY)
  const view = () => operators.show('anna').then(operatorView)
  t.match(await view(), { keys: [{ id, state: 'active', last_used_at: null, revoked_at: null }] })
  t.notMatch(JSON.stringify(await view()), adminKey)
  await operators.addKey('anna', 365 * DAY)
  for (const lifetime of [0, -1, NaN, 365 * DAY + 1, Infinity]) {
    await t.rejects(operators.addKey('anna', lifetime), OperatorError)
  }
  await t.rejects(operators.addKey('bert', DAY), { message: 'There is no operator with the name bert.' })
  clock.time = endsAt
  t.match(await view(), { keys: [{ id, state: 'expired' }, { state: 'active' }] })
  t.match(changes.at(-1), { type: 'operator key added', operator: 'anna', keyId: 2, endsAt: /Z$/ })
  t.notMatch(JSON.stringify(changes), adminKey)
})

t.test('Operators: revoking a key again changes nothing', async (t) => {
  const { administration, clock, changes } = await createWorld(t)
  const { operators } = administration
  await operators.add('anna', 'admin')
  const { id } = await operators.addKey('anna', DAY)
  clock.time += 5
  t.equal(await operators.revokeKey('anna', id), true)
  clock.time += 5
  t.equal(await operators.revokeKey('anna', id), false)
  t.match(await operators.show('anna').then(operatorView), {
    keys: [{ state: 'revoked', revoked_at: new Date(START + 5).toISOString() }],
  })
  t.equal(changes.filter(({ type }) => type === 'operator key revoked').length, 1)
  await t.rejects(operators.revokeKey('anna', id + 1), { message: `The operator anna has no key ${id + 1}.` })
  await t.rejects(operators.revokeKey('bert', id), { message: /no operator/ })
  await t.rejects(operators.endSession('anna', 1), { message: 'The operator anna has no session 1.' })
  await t.rejects(operators.endSession('bert', 1), { message: /no operator/ })
  await t.rejects(operators.makeLoginCode('bert'), { message: /no operator/ })
  await t.rejects(operators.remove('bert'), { message: /no operator/ })
})

t.test('Operators: a request from the network cannot create credentials, but can revoke them', async (t) => {
  const { administration, store, clock } = await createWorld(t)
  const { operators } = administration
  await operators.add('anna', 'admin')
  const { id } = await operators.addKey('anna', DAY)
  for (const origin of ['API', 'console'] as const) {
    const author = { ...AUTHOR, actor: 'anna', origin }
    const { operators: remote } = createAdministration({ store, now: () => clock.time, observe: () => {}, author })
    const expected = { message: 'Operators, their keys and login links are added by the command line only.' }
    await t.rejects(remote.add('bert', 'admin'), expected)
    await t.rejects(remote.addKey('anna', DAY), expected)
    await t.rejects(remote.makeLoginCode('anna'), expected)
    t.match(await remote.list(), [{ name: 'anna', keys: [{ id }] }])
    t.equal(await remote.revokeKey('anna', id), origin === 'API')
  }
})

t.test('Operators: of two concurrent removals, one reports that there is no such operator', async (t) => {
  const { administration, changes } = await createWorld(t)
  const { operators } = administration
  await operators.add('anna', 'admin')
  const results = await Promise.allSettled([operators.remove('anna'), operators.remove('anna')])
  t.match(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  t.equal(changes.filter(({ type }) => type === 'operator removed').length, 1)
})
