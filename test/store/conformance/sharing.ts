import type { Test } from 'tap'
import { IdempotencyKeyTaken } from '../../../src/domain/audit-event.ts'
import type { Operator } from '../../../src/domain/operator.ts'
import type { Store } from '../../../src/domain/store.ts'
import { mintToken } from '../../../src/domain/token.ts'
import { application, suite } from '../../support/newcomers.ts'
import { AUDIT, on } from '../../support/on.ts'
import { refusal } from '../../support/refusal.ts'
import { countTokens } from '../../support/usage.ts'
import { START } from '../../support/world.ts'
import {
  addOperator,
  changesOf,
  findStored,
  type Harness,
  IMPORTED,
  idsOf,
  newKey,
  onTwoHandles,
  PAGE,
  register,
  registerSuites,
  SECRET,
  secretIdOf,
  secretsOf,
  session,
} from './harness.ts'

/** What two ask for at once and one gets. Resolves to how many were told that they got it, and how often it is stored. */
type Race = (stores: [Store, Store], round: number) => Promise<[told: number, stored: number]>

const RACES: Record<string, Race> = {
  async 'a login code begins one session'(stores, n) {
    await on(stores[0]).addOperator({ name: 'anna', role: 'admin', createdAt: START })
    await on(stores[0]).addLoginCode('anna', { digest: `${n}`, createdAt: START, endsAt: START + 10 })
    const begin = (store: Store, side: number) => on(store).beginSession('anna', `${n}`, session(`${n} ${side}`))
    const ids = await Promise.all(stores.map(begin))
    const { sessions } = (await stores[1].findOperator('anna')) as Operator
    return [ids.filter((id) => id !== undefined).length, sessions.length - n]
  },
  async 'a hand-over link adds one secret'(stores, n) {
    await register(stores[0], `a${n}`)
    await on(stores[0]).makeHandOver(`a${n}`, { digest: `${n}`, endsAt: START + 10 })
    const ids = await Promise.all(stores.map((store) => on(store).useHandOver(`a${n}`, `${n}`, SECRET)))
    return [ids.filter((id) => id !== undefined).length, (await secretsOf(stores[1], `a${n}`)).length - 1]
  },
  async 'a change with one idempotency record is made once'(stores, n) {
    await register(stores[0], `a${n}`)
    const audit = { ...AUDIT, idempotency: { digest: `${n}`, sealed: '' } }
    const rotate = (store: Store) => on(store).rotateSecret(`a${n}`, SECRET, START + 9, 0, audit)
    const results = await Promise.allSettled(stores.map(rotate))
    const refused = results.filter((one) => one.status === 'rejected' && one.reason instanceof IdempotencyKeyTaken)
    return [results.length - refused.length, (await secretsOf(stores[1], `a${n}`)).length - 1]
  },
  async 'an id is given to one application or suite'(stores, n) {
    const ofSuite = { suites: [suite(`a${n}`)], applications: [] }
    const asSuite = async (store: Store) => (await store.register(ofSuite, AUDIT)).suites
    const given = await Promise.all(stores.flatMap((store) => [register(store, `a${n}`), asSuite(store)]))
    const stored = (await stores[0].countApplications()) + (await stores[1].listSuites(PAGE)).length
    return [given.flat().length, stored - n]
  },
  async 'a name that must be unique is given to one application'(stores, n) {
    const namesake = (side: number) => application(`${side}-${n}`, { name: `name ${n}`, skipNamesake: true })
    const added = await Promise.all(stores.map((store, side) => register(store, namesake(side))))
    return [added.flat().length, (await stores[1].countApplications()) - n]
  },
}

/** A request that begins after a change was answered sees that change, whichever process made it. */
export function sharingConformance(t: Test, harness: Harness): void {
  const onTwo = onTwoHandles(t, harness)
  const test: typeof onTwo = (rule, run) => onTwo(`Two handles: ${rule}`, run)

  test('a change to the registry by one is seen by the other at once', async (t, one, other) => {
    const stateOf = async (store: Store) => [
      await Promise.all(['a', 'newcomer'].map(store.findApplication)),
      await store.findSuite('store'),
      await store.mostImportedSecrets(),
      await store.suiteUrls(),
      await store.listApplications(PAGE),
    ]
    const check = async (name: string, change: () => Promise<unknown>) => {
      const before = await stateOf(other)
      await change()
      const seen = await stateOf(other)
      t.notSame(seen, before, name)
      t.strictSame(seen, await stateOf(one), name)
    }
    const applications = [application('a', { secrets: [{ digest: IMPORTED, createdAt: START }] })]
    await check('the first', () => one.register({ suites: [suite('store')], applications }, AUDIT))
    const changes = {
      addSpareSecret: () => on(one).addSecret('a', SECRET),
      revokeSpareSecret: async () => on(one).revokeSpareSecret('a', await secretIdOf(one, 'a', 1), START + 2),
      ...changesOf(one, { secretId: await secretIdOf(one, 'a') }),
    }
    for (const [name, change] of Object.entries(changes)) await check(name, change)
    t.strictSame(idsOf(await other.listApplications(PAGE)), ['newcomer'])
  })

  test('a token, its revocation and the removal of its application are seen by a busy other handle, each time', async (t, one, other) => {
    const key = await newKey(one)
    let isRunning = true
    const busy = (async () => {
      while (isRunning) {
        await other.findApplication('owner')
        await new Promise(setImmediate)
      }
    })()
    const tokens = Array.from({ length: 30 }, (_, n) => mintToken(key, START + n).stored)
    for (const token of tokens) {
      t.equal(await other.findToken(token.id), undefined)
      await one.addToken(token)
      t.strictSame(await findStored(other, token.id), token)
      await one.revokeToken(token.id, START)
      t.strictSame(await findStored(other, token.id), { ...token, revokedAt: START })
    }
    isRunning = false
    await busy
    await on(one).removeApplication('owner')
    for (const { id } of tokens) t.match(await other.findToken(id), { application: undefined })
  })

  test('a read that begins between turns sees it too, whatever was read before', async (t, one, other) => {
    await registerSuites(one, 'store', 'other')
    await register(one, 'a')
    for (let n = 0; n < 10; n++) {
      await other.findSuite('store')
      const gone = Promise.withResolvers<unknown>()
      // Reads from several places of one turn, of which some begin before the change and one after it.
      setImmediate(() => void other.findSuite('other'))
      void other.findApplication('a')
      setImmediate(() => {
        setTimeout(async () => {
          await on(one).removeSuite('store')
          gone.resolve(await other.findSuite('store'))
        }, 0)
        void other.findSuite('store')
      })
      t.equal(await gone.promise, undefined)
      await registerSuites(one, 'store')
    }
  })

  test('refusals of both are one list, also where both record at once', async (t, one, other) => {
    await register(one, 'a')
    for (let round = 0; round < 10; round++) {
      const refusals = Array.from({ length: 10 }, (_, n) =>
        refusal(n % 2 ? 'a' : 'x', { isKnown: n % 2 === 1, remoteAddress: `${n}` }),
      )
      await Promise.all([one.recordRefusals(refusals), other.recordRefusals(refusals.toReversed())])
    }
    for (const clientId of ['a', 'x']) {
      const counts = (await one.listRefusals(clientId)).map(({ count }) => count)
      t.strictSame(counts, Array(5).fill(20))
    }
  })

  test('an operator refused by one is refused by the other from the next request on', async (t, one, other) => {
    const { keyId, sessionId } = await addOperator(one, 'anna')
    t.match(await other.findAdminKey('key anna'), { operator: { keys: [{ revokedAt: null }] } })
    await on(one).revokeAdminKey('anna', keyId, START + 5)
    t.match(await other.findAdminKey('key anna'), { operator: { keys: [{ revokedAt: START + 5 }] } })
    t.not(await other.findSession('session anna'), undefined)
    await on(one).endSession('anna', sessionId)
    t.equal(await other.findSession('session anna'), undefined)
    await on(one).removeOperator('anna')
    t.equal(await other.findAdminKey('key anna'), undefined)
    t.equal(await other.findLoginCode('code anna'), undefined)
  })

  test('both write at once, and nothing is lost', async (t, one, other) => {
    const key = await newKey(one)
    const tokens = Array.from({ length: 200 }, (_, n) => mintToken(key, START + n).stored)
    const writes = tokens.map((token, n) => (n % 2 ? one : other).addToken(token))
    const registrations = Array.from({ length: 20 }, (_, n) => register(n % 2 ? one : other, `a${n}`))
    await Promise.all([...writes, ...registrations])
    t.strictSame(await Promise.all(tokens.map(({ id }) => findStored(one, id))), tokens)
    t.equal((await other.listApplications(PAGE)).length, 21)
  })

  for (const [rule, race] of Object.entries(RACES)) {
    test(`of two at once, ${rule}`, async (t, one, other) => {
      for (let n = 0; n < 10; n++) t.strictSame(await race([one, other], n), [1, 1])
    })
  }

  test('counts that both add at once, in any order, are all in the sum', async (t, one, other) => {
    const keys = [await newKey(one, 'a'), await newKey(one, 'b')]
    const counts = keys.map((key) => ({ applicationKey: key, hour: 5, issued: 1, refused: 0, lastTokenAt: null }))
    const adding = Array.from({ length: 40 }, (_, n) =>
      (n % 2 ? one : other).addTokenCounts(n % 4 > 1 ? counts : counts.toReversed()),
    )
    await Promise.all(adding)
    for (const key of keys) t.equal(await countTokens(one, key, 5), 40)
  })

  test('changes of one subject that both make at once are a chain of audit events', async (t, one, other) => {
    await register(one, 'a')
    const names = Array.from({ length: 30 }, (_, n) => `Name ${n}`)
    await Promise.all(names.map((name, n) => on(n % 2 ? one : other).updateApplication('a', { name })))
    const events = (await other.listAuditEvents({ ...PAGE, subject: 'a' })).toReversed().slice(1)
    t.equal(events.length, names.length)
    t.strictSame(
      events.map(({ before }) => before),
      [{ name: 'Application a' }, ...events.map(({ after }) => after)].slice(0, -1),
      'each starts where the one before ended',
    )
    t.equal((await one.findApplication('a'))?.name, events.at(-1)?.after?.name)

    await Promise.all([one, other, one, other].map((store) => on(store).setStatus('a', 'suspended')))
    const suspensions = (await one.listAuditEvents(PAGE)).filter(({ action }) => action === 'application suspended')
    t.equal(suspensions.length, 1, 'the second time nothing changes')
  })
}
