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
  const removals = await Promise.allSettled([operators.remove('anna'), operators.remove('anna')])
  t.strictSame(removals.map(({ status }) => status).sort(), ['fulfilled', 'rejected'], 'once')
  t.match(await operators.list(), [{ name: 'ci@build' }])
  t.match(changes.slice(-3), [
    { type: 'operator added', operator: 'anna', role: 'admin', actor: 'tester' },
    { type: 'operator added', operator: 'ci@build', role: 'viewer' },
    { type: 'operator removed', operator: 'anna' },
  ])
})

t.test('Operators: whom and what there is not is said to be unknown', async (t) => {
  const { operators } = (await createWorld(t)).administration
  const { id } = await operators.add('anna', 'admin').then(() => operators.addKey('anna', DAY))
  const message = 'There is no operator with the name bert.'
  await t.rejects(operators.show('bert'), { message })
  await t.rejects(operators.remove('bert'), { message })
  await t.rejects(operators.addKey('bert', DAY), { message })
  await t.rejects(operators.revokeKey('bert', id), { message })
  await t.rejects(operators.endSession('bert', 1), { message })
  await t.rejects(operators.makeLoginCode('bert'), { message })
  await t.rejects(operators.revokeKey('anna', id + 1), { message: `The operator anna has no key ${id + 1}.` })
  await t.rejects(operators.endSession('anna', 1), { message: 'The operator anna has no session 1.' })
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

t.test('Operators: a key is shown once, ends within a year, and is revoked once', async (t) => {
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
  clock.time = endsAt
  t.match(await view(), { keys: [{ id, state: 'expired' }, { state: 'active' }] })
  t.equal(await operators.revokeKey('anna', id + 1), true)
  clock.time += 5
  t.equal(await operators.revokeKey('anna', id + 1), false)
  const revoked_at = new Date(endsAt).toISOString()
  t.match(await view(), { keys: [{ state: 'expired' }, { state: 'revoked', revoked_at }] })
  t.match(changes.slice(-2), [
    { type: 'operator key added', operator: 'anna', keyId: 2, endsAt: /Z$/ },
    { type: 'operator key revoked', keyId: 2 },
  ])
  t.notMatch(JSON.stringify(changes), adminKey)
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
