import type { Test } from 'tap'
import { type Application, TEXT_FIELDS } from '../../../src/domain/application.ts'
import type { NewSecret } from '../../../src/domain/secret.ts'
import type { Store } from '../../../src/domain/store.ts'
import { application, DIGEST, suite } from '../../support/newcomers.ts'
import { AUDIT, on } from '../../support/on.ts'
import { credential } from '../../support/workload-issuer.ts'
import { START } from '../../support/world.ts'
import {
  changesOf,
  endsOf,
  type Harness,
  IMPORTED,
  idsOf,
  onEmptyStore,
  PAGE,
  register,
  registerSuites,
  SECRET,
  secretIdOf,
  secretsOf,
} from './harness.ts'

/** Applications: found, listed, registered, updated and removed. */
export function applicationConformance(t: Test, harness: Harness): void {
  const test = onEmptyStore(t, harness)

  test('Store: an application is found with every field of its type and no other', async (t, store) => {
    t.equal(await store.findApplication('a'), undefined)
    const texts = Object.fromEntries(TEXT_FIELDS.map((field) => [field, `${field}: Ünï "quoted"\n\t✓`]))
    const settings = {
      ...{ ...texts, labels: { owner: 'wéb', 'a/b': '="✓' }, quota: 7 },
      ...{ sourceAddresses: ['192.0.2.0/24', '::1'], publicLabels: ['a/b'], reportOnly: ['quota'] as const },
    }
    await register(store, application('a', settings))
    t.match(await store.listNames(PAGE), [texts])
    const { key, secrets, ...rest } = (await store.findApplication('a')) as Application
    t.not(key, undefined)
    const fresh = { status: 'active', tokenGeneration: 0, tokensValidFrom: 0, createdAt: START, suites: [] }
    t.strictSame(rest, { clientId: 'a', ...fresh, ...settings, appliedAt: START })
    await register(store, application('b', { status: 'suspended' }))
    t.match(await store.findApplication('b'), { status: 'suspended' })
    t.type(secrets[0]?.id, 'number')
    const times = { createdAt: START, endsAt: null, revokedAt: null }
    t.strictSame(secrets, [{ id: secrets[0]?.id, digest: DIGEST, ...times, federated: null }])
    for (const stranger of ['A', 'a\0', 'a'.repeat(10_000), '\ud800']) {
      t.equal(await store.findApplication(stranger), undefined, 'a client id is compared byte by byte')
      t.equal(await store.findSuite(stranger), undefined)
    }
  })

  test('Store: applications are listed oldest first, their names newest first, by pages, and by their keys', async (t, store) => {
    for (const listing of [store.listApplications, store.listNames]) t.strictSame(await listing(PAGE), [])
    await registerSuites(store, 'store')
    await register(store, 'b', 'a', 'd', 'c')
    await on(store).approve('c', 'store')
    await on(store).setStatus('a', 'suspended')
    const [applications, names] = [await store.listApplications(PAGE), await store.listNames(PAGE)]
    t.strictSame(applications[1], await store.findApplication('a'))
    const { key, clientId, status, ...more } = applications[1] as Application
    const texts = Object.fromEntries(TEXT_FIELDS.map((field) => [field, more[field]]))
    t.strictSame(names[2], { key, clientId, status, ...texts, labels: '{}', lastTokenAt: null, isApproved: 0 })
    await store.addTokenCounts([{ applicationKey: key, hour: 7, issued: 1, refused: 0, lastTokenAt: START }])
    t.match((await store.listNames(PAGE))[2], { clientId: 'a', lastTokenAt: START })
    const approved = await store.listNames({ ...PAGE, suite: 'store' })
    t.strictSame(idsOf(approved.filter(({ isApproved }) => isApproved)), ['c'])
    await on(store).removeApplication('d')
    for (const [listing, listed, order] of [
      [store.listApplications, applications, ['b', 'a', 'd', 'c']],
      [store.listNames, names, ['c', 'd', 'a', 'b']],
    ] as const) {
      const page = async (after: number, limit: number) => idsOf(await listing({ after: listed[after]?.key, limit }))
      t.strictSame(idsOf(listed), order)
      t.strictSame(idsOf(await listing({ limit: 1 })), order.slice(0, 1))
      t.strictSame(await page(order.indexOf('d'), 1), [order[order.indexOf('d') + 1]], 'after one that was removed')
      const others = order.slice(1).filter((id) => id !== 'd')
      t.strictSame(await page(0, 3), others)
      t.strictSame(await page(3, 3), [])
    }
    const ofKeys = await store.listApplicationsOf(applications.map(({ key }) => key).toReversed())
    t.strictSame(ofKeys, await Promise.all(['b', 'a', 'c'].map(store.findApplication)), 'unknown keys are skipped')
    t.strictSame(await store.listApplicationsOf([]), [])
  })

  test('Store: ids are unique, and names if requested; applications are added all or none', async (t, store) => {
    const first = application('a')
    const twin = application('a', { name: 'Another name' })
    const namesake = application('b', { name: first.name, skipNamesake: true })
    const allowed = application('c', { name: first.name })
    t.strictSame(await register(store, first, twin, namesake, allowed), [first, allowed], 'of those added together')
    const stranger = application('d', { name: first.name, skipNamesake: true, developerEmail: 'x@y.example' })
    const other = application('e', { skipNamesake: true })
    t.strictSame(await register(store, twin, namesake, stranger, other), [stranger, other], 'where there are some')
    const [last, itsTwin] = [application('f'), application('f', { name: 'Of a twin' })]
    const late = application('h', { name: 'Of a twin', skipNamesake: true })
    t.strictSame(await register(store, last, itsTwin, late), [last, late], 'a twin that is left out takes no name')
    const broken = application('g', { name: null as unknown as string })
    await t.rejects(register(store, 'i', broken))
    t.strictSame(
      (await store.listApplications(PAGE)).map(({ clientId, name, secrets }) => [clientId, name, secrets.length]),
      [first, allowed, stranger, other, last, late].map(({ clientId, name }) => [clientId, name, 1]),
    )
  })

  test('Store: applications of some names are found, oldest first, and all are counted', async (t, store) => {
    t.equal(await store.countApplications(), 0)
    const name = 'Ünï "quoted" ✓'
    const two = application('two', { name, developerEmail: 'another@partner.example' })
    await register(store, application('c', { name: 'C' }), application('one', { name }), 'b', two)
    const found = await store.findNamesakes([name, 'C', 'nobody'])
    t.strictSame(idsOf(found), ['c', 'one', 'two'])
    t.strictSame(found[1], await store.findApplication('one'))
    t.strictSame(await store.findNamesakes(['application b', 'c']), [], 'names are compared byte by byte')
    t.strictSame(await store.findNamesakes([]), [])
    t.equal(await store.countApplications(), 4)
  })

  test('Store: only the given fields of one application are updated, and its key is never reused', async (t, store) => {
    await register(store, application('a', { secrets: [{ digest: IMPORTED, createdAt: START }] }), 'b')
    const [before, other] = [await store.findApplication('a'), await store.findApplication('b')]
    const updates: Partial<Application>[] = [
      ...TEXT_FIELDS.map((field) => ({ [field]: 'New' })),
      { labels: { owner: 'web' } },
      { note: 'Call', quota: 9 },
      { quota: null, labels: {}, note: '', managedBy: '' },
    ]
    type Step = [step: () => Promise<boolean>, fields: Partial<Application>]
    const steps: Step[] = [
      ...updates.map((changes): Step => [() => on(store).updateApplication('a', changes), changes]),
      [() => on(store).setStatus('a', 'suspended'), { status: 'suspended' }],
    ]
    // Each revoke-all is a new generation of tokens, whatever its time.
    for (const [at, tokensValidFrom] of [START, START, START - 5000].entries())
      steps.push([() => on(store).revokeTokens('a', tokensValidFrom), { tokenGeneration: at + 1, tokensValidFrom }])
    let expected = before
    for (const [step, fields] of steps) {
      const appliedAt = 'managedBy' in fields ? (fields.managedBy === '' ? null : START) : expected?.appliedAt
      expected = { ...(expected as Application), ...fields, appliedAt: appliedAt ?? null }
      t.equal(await step(), true)
      t.strictSame(await store.findApplication('a'), expected)
    }
    t.equal(await on(store).removeApplication('a'), true)
    t.equal(await store.findApplication('a'), undefined)
    t.equal(await store.mostImportedSecrets(), 0)
    t.strictSame(await store.findApplication('b'), other)
    await register(store, 'a')
    t.not((await store.findApplication('a'))?.key, before?.key)
  })

  test('Store: a change of an unknown owner reports that nothing changed, without an event', async (t, store) => {
    await register(store, 'a')
    await registerSuites(store, 'store')
    const state = async () =>
      Promise.all([store.listApplications(PAGE), store.listSuites(PAGE), store.listAuditEvents(PAGE)])
    const before = await state()
    const { register: _, ...changes } = changesOf(store, { clientId: 'nobody', suiteId: 'nobody' })
    const ofNobody = { ...changes, revokeSpareSecret: () => on(store).revokeSpareSecret('nobody', 1, START) }
    for (const [name, change] of Object.entries(ofNobody)) t.notOk(await change(), name)
    t.strictSame(await state(), before)
  })
}

/** Secrets of applications and suites. */
export function secretConformance(t: Test, harness: Harness): void {
  const test = onEmptyStore(t, harness)

  test('Store: a secret is added, and the others keep their ends', async (t, store) => {
    await register(store, 'a', 'b')
    await on(store).rotateSecret('a', SECRET, START + 100, START)
    t.equal(await on(store).addSecret('a', { ...SECRET, digest: IMPORTED }), true)
    const added = { ...SECRET, digest: IMPORTED, endsAt: null }
    t.match(await secretsOf(store, 'a'), [{ endsAt: START + 100 }, { endsAt: null }, added])
    t.equal((await secretsOf(store, 'b')).length, 1)
  })

  for (const owner of ['application', 'suite']) {
    /** Registers the owner, a, and b, that is not to change. The first id is taken where it is that of a suite. */
    const begin = async (store: Store) => {
      if (owner === 'suite') await registerSuites(store, 'a')
      await register(store, 'a', 'b')
    }

    test(`Store: a rotation adds a secret of one ${owner}, ends the others and deletes the oldest`, async (t, store) => {
      await begin(store)
      t.equal(await on(store).rotateSecret('a', SECRET, START + 100, START), true)
      t.match(await secretsOf(store, 'a'), [{ endsAt: START + 100 }, { ...SECRET, endsAt: null, revokedAt: null }])
      t.equal(await on(store).rotateSecret('a', SECRET, START + 200, START + 100), true)
      t.strictSame(await endsOf(store, 'a'), [START + 100, START + 200, null], 'an end never moves away')
      t.equal(await on(store).rotateSecret('a', SECRET, START + 150, START + 101), true)
      t.strictSame(await endsOf(store, 'a'), [START + 150, START + 150, null], 'the first was deleted')
      t.strictSame(await endsOf(store, 'b'), [null])
    })

    test(`Store: one secret of one ${owner} is revoked and ended, whatever is later`, async (t, store) => {
      await begin(store)
      const id = await secretIdOf(store, 'a')
      t.equal(await on(store).revokeSecret('b', id, START), false, "another's secret")
      t.equal(await on(store).revokeSecret('a', id, START), true)
      t.equal(await on(store).revokeSecret('a', id, START + 1), false, 'it is revoked already')
      t.match(await secretsOf(store, 'a'), [{ endsAt: START, revokedAt: START }])
      t.equal(await on(store).revokeSecret('a', id + 100, START), false)
      t.equal(await on(store).rotateSecret('a', SECRET, START, START), true)
      t.match(await secretsOf(store, 'a'), [{ revokedAt: START }, { revokedAt: null }])
      t.equal(await on(store).rotateSecret('a', SECRET, START + 1, START), true)
      t.equal(await on(store).revokeSecret('a', await secretIdOf(store, 'a', 1), START + 2), true)
      t.match((await secretsOf(store, 'a'))[1], { endsAt: START + 1, revokedAt: START + 2 })
      t.strictSame(await endsOf(store, 'b'), [null])
    })
  }

  test('Store: a secret is revoked as a spare one if another is active, or it is inactive', async (t, store) => {
    await register(store, 'a', 'b')
    await on(store).addSecret('a', SECRET)
    const [first, second] = [await secretIdOf(store, 'a'), await secretIdOf(store, 'a', 1)]
    t.equal(await on(store).revokeSpareSecret('b', first, START), false, "another's secret")
    const both = [first, second].map((id) => on(store).revokeSpareSecret('a', id, START))
    t.strictSame(await Promise.all(both), [true, false], 'both at once')
    t.match(await secretsOf(store, 'a'), [{ revokedAt: START }, { revokedAt: null }])
    t.equal(await on(store).revokeSpareSecret('a', first, START + 1), false, 'the first was revoked before')
    t.equal(await on(store).revokeSpareSecret('a', second, START + 1), false)
    await registerSuites(store, 'store')
    const only = await secretIdOf(store, 'store')
    t.equal(await on(store).revokeSpareSecret('store', only, START), false)
    await on(store).addSecret('store', SECRET)
    // Its end is later than now, because the clock was ahead, but it is not active.
    t.equal(await on(store).revokeSpareSecret('store', await secretIdOf(store, 'store', 1), START + 1000), true)
    t.equal(await on(store).revokeSpareSecret('store', only, START), false)
    await on(store).addSecret('store', { ...SECRET, createdAt: START + 1 })
    t.equal(await on(store).revokeSpareSecret('store', only, START), true)
  })

  test('Store: the largest number of unrevoked imported secrets of an application is known', async (t, store) => {
    const imported = { digest: IMPORTED, createdAt: START }
    const steps: [step: () => Promise<unknown>, most: number][] = [
      [() => register(store, 'a'), 0],
      [() => register(store, application('b', { secrets: [imported] }), application('c', { secrets: [imported] })), 1],
      [() => on(store).addSecret('c', imported), 2],
      [async () => on(store).revokeSecret('c', await secretIdOf(store, 'c'), START), 1],
      [async () => on(store).revokeSecret('c', await secretIdOf(store, 'c', 1), START), 1],
      // A revoked one is still told from a wrong one.
      [() => on(store).removeApplication('b'), 1],
      [() => on(store).removeApplication('c'), 0],
    ]
    for (const [step, most] of steps) {
      await step()
      t.equal(await store.mostImportedSecrets(), most, String(step))
    }
  })
}

/** Suites, and the applications that are approved for them. */
export function suiteConformance(t: Test, harness: Harness): void {
  const test = onEmptyStore(t, harness)

  test('Store: a suite is found as it was added, listed, updated and removed', async (t, store) => {
    t.equal(await store.findSuite('store'), undefined)
    t.strictSame(await store.listSuites(PAGE), [])
    const texts = { url: 'https://a.example', labels: { owner: 'web' }, note: 'Två', managedBy: 'a.yaml' }
    const newcomers = { suites: [{ ...suite('store'), ...texts }, suite('product-information')], applications: [] }
    t.strictSame(await store.register(newcomers, AUDIT), newcomers)
    const found = await store.findSuite('store')
    const times = { createdAt: START, endsAt: null, revokedAt: null }
    const secret = { id: found?.secrets[0]?.id, digest: DIGEST, ...times, federated: null }
    const stored = {
      suiteId: 'store',
      name: 'Suite store',
      ...texts,
      createdAt: START,
      appliedAt: START,
      secrets: [secret],
    }
    t.strictSame(found, { key: found?.key, ...stored })
    t.not(found?.key, undefined)
    const listed = await store.listSuites(PAGE)
    t.strictSame(listed, [found, await store.findSuite('product-information')])
    t.strictSame(await store.listSuites({ limit: 1 }), [listed[0]])
    t.strictSame(await store.listSuites({ after: listed[0]?.key, limit: 1 }), [listed[1]])
    t.equal(await on(store).updateSuite('store', { name: 'New' }), true)
    t.strictSame(await store.listSuites(PAGE), [{ ...found, name: 'New' }, listed[1]])
    t.equal(await on(store).updateSuite('store', { labels: {}, note: 'New' }), true)
    t.match(await store.findSuite('store'), { name: 'New', labels: { owner: undefined }, note: 'New' })
    t.equal(await on(store).removeSuite('store'), true)
    t.equal(await store.findSuite('store'), undefined)
  })

  test('Store: suites are known by their URLs, and no two have the same', async (t, store) => {
    const urls = async () => Object.fromEntries(await store.suiteUrls())
    const at = (suiteId: string, url: string) => ({ ...suite(suiteId), url })
    t.strictSame(await urls(), {})
    await store.register({ suites: [suite('a'), at('b', 'https://b.example'), suite('c')], applications: [] }, AUDIT)
    t.strictSame(await urls(), { 'https://b.example': 'b' })
    await on(store).updateSuite('a', { url: 'https://a.example' })
    t.strictSame(await urls(), { 'https://a.example': 'a', 'https://b.example': 'b' })
    const both = /^The suites c and a cannot have the same URL\.$/
    const taken = { name: 'OperatorError', kind: 'invalid', fields: [{ field: 'url' }], message: both }
    await t.rejects(on(store).updateSuite('c', { url: 'https://a.example' }), taken)
    t.match(await store.findSuite('c'), { url: '' })
    const twice = { suites: [at('d', 'https://d.example'), at('e', 'https://d.example')], applications: [] }
    await t.rejects(store.register(twice, AUDIT), { message: /^The suites e and d / })
    t.equal(await store.findSuite('d'), undefined)
    await on(store).updateSuite('a', { url: '' })
    await on(store).removeSuite('b')
    t.strictSame(await urls(), {})
  })

  test('Store: what manages an application or a suite has a time, which its own changes alone renew', async (t, store) => {
    await store.register({ suites: [suite('s')], applications: [application('a')] }, AUDIT)
    const at = async () => [(await store.findApplication('a'))?.appliedAt, (await store.findSuite('s'))?.appliedAt]
    const change = async (time: number, values: { managedBy?: string; note?: string }, suites?: string[]) => {
      const audit = { ...AUDIT, at: time }
      const { changed } = await store.change(
        { type: 'application updated', clientId: 'a', values, ...(suites && { suites }) },
        audit,
      )
      await store.change({ type: 'suite updated', suite: 's', values }, audit)
      return changed
    }
    t.strictSame(await at(), [null, null])
    t.equal(await change(START + 1, { managedBy: 'a.yaml' }), true)
    t.strictSame(await at(), [START + 1, START + 1])
    t.equal(await change(START + 2, { managedBy: 'a.yaml' }), false, 'nothing differs')
    await change(START + 3, { note: 'by hand' })
    t.strictSame(await at(), [START + 1, START + 1])
    t.equal(await change(START + 4, { managedBy: 'a.yaml' }, ['s']), true, 'only an approval differs')
    t.strictSame(await at(), [START + 4, START + 1])
    await change(START + 5, { managedBy: '' })
    t.strictSame(await at(), [null, null])
  })

  test('Store: an application has exactly the federated credentials that are set', async (t, store) => {
    await register(store, 'a', 'b')
    const [one, two, three] = ['one', 'two', 'three'].map((subject) => credential('https://a.example', { subject }))
    const ending = { ...(two as NewSecret), endsAt: START + 500 }
    const set = async (at: number, ...federated: (NewSecret | undefined)[]) => {
      const wanted = federated as NewSecret[]
      const change = { type: 'application updated', clientId: 'a', values: {}, federated: wanted } as const
      return (await store.change(change, { ...AUDIT, at })).changed
    }
    const state = async () =>
      (await secretsOf(store, 'a')).map(({ federated, endsAt, revokedAt }) => [federated?.subject, endsAt, revokedAt])
    const secret = [undefined, null, null]
    await on(store).addSecret('b', one as NewSecret)
    t.equal(await set(START + 1, one, two), true)
    t.strictSame(await state(), [secret, ['one', null, null], ['two', null, null]])
    t.equal(await set(START + 2, two, one), false)
    t.equal(await set(START + 3, three, one, ending), true, 'another end is another credential')
    const ended = ['two', START + 3, START + 3]
    const all = [secret, ['one', null, null], ended, ['three', null, null], ['two', START + 500, null]]
    t.strictSame(await state(), all)
    t.equal(await set(START + 600, one, three, ending), false, 'also after its end')
    t.equal(await set(START + 700), true)
    const times = (await state()).map(([, endsAt, revokedAt]) => [endsAt, revokedAt])
    const now = [START + 700, START + 700]
    t.strictSame(times, [[null, null], now, [START + 3, START + 3], now, [START + 500, START + 700]])
    t.equal((await secretsOf(store, 'b'))[1]?.revokedAt, null)
  })

  test('RFC 6749 §2.2: an id is unique, among applications and suites together', async (t, store) => {
    await store.register({ suites: [suite('a')], applications: [application('b')] }, AUDIT)
    const again = { suites: [suite('a'), suite('b')], applications: [application('a')] }
    t.strictSame(await store.register(again, AUDIT), { suites: [], applications: [] })
    for (const id of ['a', 'b']) t.equal((await secretsOf(store, id)).length, 1)
  })

  test('Store: an application is approved for the suites it names, or for all', async (t, store) => {
    const suites = [suite('store'), suite('product-information')]
    const one = application('one', { suites: ['store', 'nowhere'] })
    const applications = [application('none'), one, application('all', { suites: 'all' })]
    await store.register({ suites, applications }, AUDIT)
    const suitesOf = async () =>
      Promise.all(['none', 'one', 'all'].map(async (id) => (await store.findApplication(id))?.suites))
    t.strictSame(await suitesOf(), [[], ['store'], ['store', 'product-information']])
    await on(store).approve('none', 'store')
    await on(store).approve('none', 'store')
    await on(store).approve('none', 'nowhere')
    await on(store).approve('nobody', 'store')
    await on(store).withdraw('all', 'store')
    await on(store).withdraw('all', 'nowhere')
    t.strictSame(await suitesOf(), [['store'], ['store'], ['product-information']])
    await on(store).removeSuite('store')
    t.strictSame(await suitesOf(), [[], [], ['product-information']])
  })

  test('Store: the applications of a suite are listed page by page, and counted', async (t, store) => {
    const suites = [suite('store'), suite('product-information')]
    const idOf = (id: string) => (id === 'b' ? 'product-information' : 'store')
    const applications = ['a', 'b', 'c', 'd'].map((id) => application(id, { suites: [idOf(id)] }))
    await store.register({ suites, applications }, AUDIT)
    const first = await store.listApprovedApplications('store', { limit: 2 })
    t.strictSame(first, [await store.findApplication('a'), await store.findApplication('c')])
    t.strictSame(idsOf(await store.listApprovedApplications('store', { after: first[1]?.key, limit: 2 })), ['d'])
    t.strictSame(await store.listApprovedApplications('nowhere', PAGE), [])
    t.strictSame(await store.countApproved(['product-information', 'nowhere', 'store'], 100), [1, 0, 3])
    t.strictSame(await store.countApproved(['store', 'product-information'], 2), [2, 1], 'at most the limit')
    t.strictSame(await store.countApproved([], 2), [])
  })
}
