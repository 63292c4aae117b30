import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Application, ApplicationKey, NewApplication } from '../../src/domain/application.ts'
import { IdempotencyKeyTaken } from '../../src/domain/idempotency.ts'
import type { Operator } from '../../src/domain/operator.ts'
import type { RefusalCount } from '../../src/domain/refusal.ts'
import { type NewSecret, NOT_SHOWN_YET } from '../../src/domain/secret.ts'
import { type Nodes, type Store, StoreUnavailable } from '../../src/domain/store.ts'
import { firstTokenIdAt, mintToken, type StoredToken } from '../../src/domain/token.ts'
import { hourOf } from '../../src/domain/usage.ts'
import { AUDIT } from '../support/audit.ts'
import { isReady } from '../support/is-ready.ts'
import { application, DIGEST, suite } from '../support/newcomers.ts'
import { refusal } from '../support/refusal.ts'
import { serverNode } from '../support/server-node.ts'
import { until } from '../support/until.ts'
import { START } from '../support/world.ts'
import { auditConformance } from './audit-conformance.ts'

/** What a store's own test gives the suite. Whatever is opened is closed with the test. */
export interface Harness {
  /** An empty store. */
  open: (t: Test) => Promise<Store>
  /** Two handles on the same, empty data, as two processes have them; left out where there can be one only. */
  openTwo?: (t: Test) => Promise<[Store, Store]>
  /** An empty store, with a switch for whether its database can be used; left out where that cannot be done. */
  openFragile?: (t: Test) => Promise<{
    store: Store
    breakDown: () => void | Promise<void>
    recover: () => void | Promise<void>
  }>
  /** An empty store whose audit events can be made to fail; undefined if the store has no way to do that. */
  openWithoutAudit?: (t: Test) => Promise<{
    store: Store
    refuse: () => void | Promise<void>
    accept: () => void | Promise<void>
  }>
  /** An empty store, with a switch for whether its disk answers; left out where that cannot be done. */
  openHanging?: (t: Test) => Promise<{ store: Store; hang: () => void; recover: () => void }>
}

const IMPORTED = '$scrypt$ln=14,r=8,p=5$AAAA$AAAA'
const SECRET = { digest: '$sha256$BBBB', createdAt: START + 1 }
const PAGE = { limit: 100 }

async function register(store: Store, applications: NewApplication[]) {
  return (await store.register({ suites: [], applications }, AUDIT)).applications
}

/** The key of an application that is registered for it. */
async function newKey(store: Store, clientId = 'owner'): Promise<ApplicationKey> {
  await register(store, [application(clientId)])
  return ((await store.findApplication(clientId)) as Application).key
}

async function find(store: Store, id: Buffer): Promise<StoredToken | undefined> {
  return (await store.findToken(id))?.stored
}

const idsOf = (rows: { clientId: string }[]) => rows.map(({ clientId }) => clientId)

/** What every store must pass: a test for every promise of domain/store.ts. */
export function storeConformance(t: Test, harness: Harness): void {
  registryConformance(t, harness)
  suiteConformance(t, harness)
  auditConformance(t, harness)
  tokenConformance(t, harness)
  usageConformance(t, harness)
  refusalConformance(t, harness)
  operatorConformance(t, harness)
  idempotencyConformance(t, harness)
  figuresConformance(t, harness)
  sharingConformance(t, harness)
  failureConformance(t, harness)
  hangingConformance(t, harness)
}

function registryConformance(t: Test, { open }: Harness): void {
  t.test('Store: an application is found as it was added, with every field of its type and no other', async (t) => {
    const store = await open(t)
    t.equal(await store.findApplication('a'), undefined)
    await register(store, [application('a', { name: 'Ünï "quoted" ✓' })])
    const { key, secrets, ...rest } = (await store.findApplication('a')) as Application
    t.not(key, undefined)
    t.strictSame(rest, {
      clientId: 'a',
      name: 'Ünï "quoted" ✓',
      developerEmail: 'developer@partner.example',
      status: 'active',
      tokenGeneration: 0,
      tokensValidFrom: 0,
      createdAt: START,
      suites: [],
    })
    t.type(secrets[0]?.id, 'number')
    t.strictSame(secrets, [{ id: secrets[0]?.id, digest: DIGEST, createdAt: START, endsAt: null, revokedAt: null }])
    for (const stranger of ['A', 'a\0', 'a'.repeat(10_000), '\ud800']) {
      t.equal(await store.findApplication(stranger), undefined, 'a client id is compared byte by byte')
      t.equal(await store.findSuite(stranger), undefined)
    }
  })

  t.test('Store: applications are listed as they are found, oldest first, page by page', async (t) => {
    const store = await open(t)
    t.strictSame(await store.listApplications(PAGE), [])
    await register(
      store,
      ['b', 'a', 'd', 'c'].map((id) => application(id)),
    )
    const listed = await store.listApplications(PAGE)
    t.strictSame(idsOf(listed), ['b', 'a', 'd', 'c'])
    t.strictSame(listed[1], await store.findApplication('a'))

    const first = await store.listApplications({ limit: 3 })
    t.strictSame(idsOf(first), ['b', 'a', 'd'])
    await store.removeApplication('d', AUDIT)
    t.strictSame(
      idsOf(await store.listApplications({ after: first[2]?.key, limit: 3 })),
      ['c'],
      'also where the last row of the page before was removed',
    )
    t.strictSame(await store.listApplications({ after: listed[3]?.key, limit: 3 }), [])
  })

  t.test('Store: applications are found by their keys, oldest first, and unknown keys are skipped', async (t) => {
    const store = await open(t)
    await register(
      store,
      ['a', 'b', 'c', 'd'].map((id) => application(id)),
    )
    await store.register({ suites: [suite('store')], applications: [] }, AUDIT)
    await store.approve('c', 'store', AUDIT)
    const [a, b, c] = (await store.listApplications(PAGE)).map(({ key }) => key) as [
      ApplicationKey,
      ApplicationKey,
      ApplicationKey,
    ]
    await store.removeApplication('b', AUDIT)
    t.strictSame(await store.listApplicationsOf([c, b, a]), [
      await store.findApplication('a'),
      await store.findApplication('c'),
    ])
    t.strictSame(await store.listApplicationsOf([]), [])
  })

  t.test('Store: the searchable fields of applications are listed newest first, page by page', async (t) => {
    const store = await open(t)
    t.strictSame(await store.listNames(PAGE), [])
    await register(
      store,
      ['b', 'a', 'd', 'c'].map((id) => application(id)),
    )
    await store.setStatus('a', 'suspended', AUDIT)
    const listed = await store.listNames(PAGE)
    t.strictSame(idsOf(listed), ['c', 'd', 'a', 'b'])
    t.strictSame(listed[2], {
      key: (await store.findApplication('a'))?.key,
      clientId: 'a',
      name: 'Application a',
      developerEmail: 'developer@partner.example',
      status: 'suspended',
    })

    t.strictSame(idsOf(await store.listNames({ limit: 2 })), ['c', 'd'])
    await store.removeApplication('d', AUDIT)
    t.strictSame(
      idsOf(await store.listNames({ after: listed[1]?.key, limit: 1 })),
      ['a'],
      'also where the last row of the page before was removed',
    )
    t.strictSame(await store.listNames({ after: listed[3]?.key, limit: 2 }), [])
  })

  t.test('Store: applications that exist are left as they are', async (t) => {
    const store = await open(t)
    const first = application('a')
    t.strictSame(await register(store, [first]), [first])
    const twin = application('a', { name: 'Another name' })
    const namesake = application('b', { name: first.name, skipNamesake: true })
    const stranger = application('c', { name: first.name, skipNamesake: true, developerEmail: 'x@y.example' })
    const other = application('d', { skipNamesake: true })
    const allowed = application('e', { name: first.name })
    t.strictSame(await register(store, [twin, namesake, stranger, other, allowed]), [stranger, other, allowed])
    t.equal((await store.findApplication('a'))?.name, first.name)
    t.equal((await store.findApplication('a'))?.secrets.length, 1)
  })

  t.test('Store: of applications that are added together the first one of an id, or of a name, counts', async (t) => {
    const store = await open(t)
    const first = application('a')
    const twin = application('a', { name: 'Another name' })
    const namesake = application('b', { name: first.name, skipNamesake: true })
    const allowed = application('c', { name: first.name })
    t.strictSame(await register(store, [first, twin, namesake, allowed]), [first, allowed])
    t.match(await store.listApplications(PAGE), [{ clientId: 'a', name: first.name }, { clientId: 'c' }])
    for (const { secrets } of await store.listApplications(PAGE)) t.equal(secrets.length, 1)
  })

  t.test('Store: applications are added all or none', async (t) => {
    const store = await open(t)
    const broken = application('b', { name: null as unknown as string })
    await t.rejects(register(store, [application('a'), broken]))
    t.strictSame(await store.listApplications(PAGE), [])
  })

  t.test('Store: applications of some names are found, oldest first, and all are counted', async (t) => {
    const store = await open(t)
    t.equal(await store.countApplications(), 0)
    const names = ['Ünï "quoted" ✓', 'B', 'C']
    await register(store, [
      application('c', { name: 'C' }),
      application('one', { name: names[0] as string }),
      application('b', { name: 'B' }),
      application('two', { name: names[0] as string, developerEmail: 'another@partner.example' }),
    ])
    const found = await store.findNamesakes([names[0] as string, 'C', 'nobody'])
    t.strictSame(idsOf(found), ['c', 'one', 'two'])
    t.strictSame(found[1], await store.findApplication('one'))
    t.strictSame(await store.findNamesakes(['b', 'c']), [], 'names are compared byte by byte')
    t.strictSame(await store.findNamesakes([]), [])
    t.equal(await store.countApplications(), 4)
  })

  t.test('Store: an application is updated in those fields that are given', async (t) => {
    const store = await open(t)
    await register(store, [application('a'), application('b')])
    const [before, other] = [await store.findApplication('a'), await store.findApplication('b')]
    t.equal(await store.updateApplication('a', { name: 'New' }, AUDIT), true)
    t.strictSame(await store.findApplication('a'), { ...before, name: 'New' })
    t.equal(await store.updateApplication('a', { developerEmail: 'new@partner.example' }, AUDIT), true)
    t.strictSame(await store.findApplication('a'), { ...before, name: 'New', developerEmail: 'new@partner.example' })
    t.strictSame(await store.findApplication('b'), other)
    t.equal(await store.updateApplication('nobody', { name: 'New' }, AUDIT), false)
  })

  t.test('Store: a secret is added, and the others keep their ends', async (t) => {
    const store = await open(t)
    await register(store, [application('a'), application('b')])
    await store.rotateSecret('a', SECRET, START + 100, START, AUDIT)
    t.equal(await store.addSecret('a', { ...SECRET, digest: IMPORTED }, AUDIT), true)
    const secrets = (await store.findApplication('a'))?.secrets ?? []
    t.match(secrets, [{ endsAt: START + 100 }, { endsAt: null }, { ...SECRET, digest: IMPORTED, endsAt: null }])
    t.equal((await store.findApplication('b'))?.secrets.length, 1)
    t.equal(await store.addSecret('nobody', SECRET, AUDIT), false)
  })

  t.test('Store: a secret that is not shown yet begins when that is said, and no other secret does', async (t) => {
    const store = await open(t)
    const secret = { digest: DIGEST, createdAt: START, endsAt: NOT_SHOWN_YET }
    const suites = [{ ...suite('store'), secret }]
    await store.register({ suites, applications: [application('a', { secret }), application('b', { secret })] }, AUDIT)
    await store.addSecret('a', { ...SECRET, endsAt: START + 5 }, AUDIT)
    const ends = async (id: string) => {
      const owner = (await store.findApplication(id)) ?? (await store.findSuite(id))
      return owner?.secrets.map(({ endsAt }) => endsAt)
    }
    t.strictSame(await ends('a'), [NOT_SHOWN_YET, START + 5])
    await store.startSecrets(['a', 'store', 'nobody'])
    t.strictSame(await ends('a'), [null, START + 5])
    t.strictSame(await ends('store'), [null])
    t.strictSame(await ends('b'), [NOT_SHOWN_YET])
  })

  t.test('Store: a status is set', async (t) => {
    const store = await open(t)
    await register(store, [application('a')])
    t.equal(await store.setStatus('a', 'suspended', AUDIT), true)
    t.equal((await store.findApplication('a'))?.status, 'suspended')
    t.equal(await store.setStatus('nobody', 'active', AUDIT), false)
  })

  t.test('Store: an application is removed with its secrets, and its key is never used again', async (t) => {
    const store = await open(t)
    await register(store, [application('a', { secret: { digest: IMPORTED, createdAt: START } })])
    const before = await store.findApplication('a')
    t.equal(await store.removeApplication('a', AUDIT), true)
    t.equal(await store.findApplication('a'), undefined)
    t.equal(await store.mostImportedSecrets(), 0)
    t.equal(await store.removeApplication('a', AUDIT), false)
    await register(store, [application('a')])
    t.not((await store.findApplication('a'))?.key, before?.key)
  })

  t.test('Store: each revoke-all of an application is a new generation of its tokens, whatever its time', async (t) => {
    const store = await open(t)
    await register(store, [application('a'), application('b')])
    for (const [at, tokenGeneration] of [
      [START, 1],
      [START, 2],
      [START - 5000, 3],
    ] as const) {
      t.equal(await store.revokeTokens('a', at, AUDIT), true)
      t.match(await store.findApplication('a'), { tokenGeneration, tokensValidFrom: at })
    }
    t.match(await store.findApplication('b'), { tokenGeneration: 0, tokensValidFrom: 0 })
    t.equal(await store.revokeTokens('nobody', START, AUDIT), false)
  })

  t.test('Store: a rotation adds a secret, ends the others and deletes those of long ago', async (t) => {
    const store = await open(t)
    await register(store, [application('a'), application('b')])
    const ends = async () => (await store.findApplication('a'))?.secrets.map(({ endsAt }) => endsAt)

    t.equal(await store.rotateSecret('a', SECRET, START + 100, START, AUDIT), true)
    t.strictSame(await ends(), [START + 100, null])
    t.equal(await store.rotateSecret('a', SECRET, START + 200, START + 100, AUDIT), true)
    t.strictSame(await ends(), [START + 100, START + 200, null], 'an end never moves away')
    t.equal(await store.rotateSecret('a', SECRET, START + 150, START + 101, AUDIT), true)
    t.strictSame(await ends(), [START + 150, START + 150, null], 'the first was deleted')
    t.equal((await store.findApplication('b'))?.secrets[0]?.endsAt, null)
    t.equal(await store.rotateSecret('nobody', SECRET, START, START, AUDIT), false)
  })

  t.test('Store: one secret of one application is revoked and ended, whatever is later', async (t) => {
    const store = await open(t)
    await register(store, [application('a'), application('b')])
    const id = (await store.findApplication('a'))?.secrets[0]?.id as number
    t.equal(await store.revokeSecret('b', id, START, AUDIT), false, "another's secret")
    t.equal(await store.revokeSecret('a', id, START, AUDIT), true)
    t.equal(await store.revokeSecret('a', id, START + 1, AUDIT), true)
    t.match((await store.findApplication('a'))?.secrets, [{ endsAt: START, revokedAt: START }])
    t.equal(await store.revokeSecret('a', id + 100, START, AUDIT), false)
    t.equal(await store.rotateSecret('a', SECRET, START, START, AUDIT), true)
    t.match((await store.findApplication('a'))?.secrets, [{ revokedAt: START }, { revokedAt: null }])
    t.equal(await store.rotateSecret('a', SECRET, START + 1, START, AUDIT), true)
    const second = (await store.findApplication('a'))?.secrets[1]?.id as number
    t.equal(await store.revokeSecret('a', second, START + 2, AUDIT), true)
    t.match((await store.findApplication('a'))?.secrets[1], { endsAt: START + 1, revokedAt: START + 2 })
  })

  t.test('Store: a spare secret can be revoked if another one is active, and an inactive one always', async (t) => {
    const store = await open(t)
    await register(store, [application('a'), application('b')])
    await store.addSecret('a', SECRET, AUDIT)
    const secrets = (await store.findApplication('a'))?.secrets ?? []
    const [first = 0, second = 0] = secrets.map(({ id }) => id)
    t.equal(await store.revokeSpareSecret('b', first, START, AUDIT), false, "another's secret")
    const both = [first, second].map((id) => store.revokeSpareSecret('a', id, START, AUDIT))
    t.strictSame(await Promise.all(both), [true, false], 'both at once')
    t.match((await store.findApplication('a'))?.secrets, [{ revokedAt: START }, { revokedAt: null }])
    t.equal(await store.revokeSpareSecret('a', first, START + 1, AUDIT), true, 'the first was revoked before')
    t.equal(await store.revokeSpareSecret('a', second, START + 1, AUDIT), false)
    await store.register({ suites: [suite('store')], applications: [] }, AUDIT)
    const [only] = (await store.findSuite('store'))?.secrets ?? []
    t.equal(await store.revokeSpareSecret('store', only?.id as number, START, AUDIT), false)
    await store.addSecret('store', SECRET, AUDIT)
    t.equal(await store.revokeSpareSecret('store', only?.id as number, START, AUDIT), true)
  })

  t.test('Store: it knows how many imported secrets an application has at most, but for revoked ones', async (t) => {
    const store = await open(t)
    await register(store, [application('a')])
    t.equal(await store.mostImportedSecrets(), 0)
    const imported = { digest: IMPORTED, createdAt: START }
    await register(store, [application('b', { secret: imported }), application('c', { secret: imported })])
    t.equal(await store.mostImportedSecrets(), 1)
    await store.addSecret('c', imported, AUDIT)
    t.equal(await store.mostImportedSecrets(), 2)
    for (const { id } of (await store.findApplication('c'))?.secrets ?? [])
      await store.revokeSecret('c', id, START, AUDIT)
    t.equal(await store.mostImportedSecrets(), 1)
    await store.removeApplication('b', AUDIT)
    t.equal(await store.mostImportedSecrets(), 1, 'a revoked one is still told from a wrong one')
    await store.removeApplication('c', AUDIT)
    t.equal(await store.mostImportedSecrets(), 0)
  })
}

function suiteConformance(t: Test, { open }: Harness): void {
  t.test('Store: a suite is found as it was added, listed, updated, and removed with its secrets', async (t) => {
    const store = await open(t)
    t.equal(await store.findSuite('store'), undefined)
    t.strictSame(await store.listSuites(PAGE), [])
    const [first, second] = [suite('store'), suite('product-information')]
    t.strictSame(await store.register({ suites: [first, second], applications: [] }, AUDIT), {
      suites: [first, second],
      applications: [],
    })
    const found = await store.findSuite('store')
    t.strictSame(found, {
      key: found?.key,
      suiteId: 'store',
      name: 'Suite store',
      createdAt: START,
      secrets: [{ id: found?.secrets[0]?.id, digest: DIGEST, createdAt: START, endsAt: null, revokedAt: null }],
    })
    t.not(found?.key, undefined)
    const listed = await store.listSuites(PAGE)
    t.strictSame(listed[0], found)
    t.strictSame(
      listed.map(({ suiteId }) => suiteId),
      ['store', 'product-information'],
    )
    t.strictSame(await store.listSuites({ limit: 1 }), [listed[0]])
    t.strictSame(await store.listSuites({ after: listed[0]?.key, limit: 1 }), [listed[1]])
    t.equal(await store.updateSuite('store', { name: 'New' }, AUDIT), true)
    t.strictSame(await store.findSuite('store'), { ...found, name: 'New' })
    t.strictSame((await store.listSuites(PAGE))[1], listed[1])
    t.equal(await store.updateSuite('nobody', { name: 'New' }, AUDIT), false)
    t.equal(await store.removeSuite('store', AUDIT), true)
    t.equal(await store.removeSuite('store', AUDIT), false)
    t.equal(await store.findSuite('store'), undefined)
  })

  t.test('RFC 6749 §2.2: an id is unique, among applications and suites together', async (t) => {
    const store = await open(t)
    await store.register({ suites: [suite('a')], applications: [application('b')] }, AUDIT)
    const none = { suites: [], applications: [] }
    t.strictSame(
      await store.register({ suites: [suite('a'), suite('b')], applications: [application('a')] }, AUDIT),
      none,
    )
    t.equal((await store.findSuite('a'))?.secrets.length, 1)
    t.equal((await store.findApplication('b'))?.secrets.length, 1)
  })

  t.test('Store: an application is approved for the suites it names, or for every one there is', async (t) => {
    const store = await open(t)
    const suites = [suite('store'), suite('product-information')]
    const applications = [
      application('none'),
      application('one', { suites: ['store', 'nowhere'] }),
      application('all', { suites: 'all' }),
    ]
    await store.register({ suites, applications }, AUDIT)
    const suitesOf = async (clientId: string) => (await store.findApplication(clientId))?.suites
    t.strictSame(await suitesOf('none'), [])
    t.strictSame(await suitesOf('one'), ['store'])
    t.strictSame(await suitesOf('all'), ['store', 'product-information'])

    await store.approve('none', 'store', AUDIT)
    await store.approve('none', 'store', AUDIT)
    await store.approve('none', 'nowhere', AUDIT)
    await store.approve('nobody', 'store', AUDIT)
    t.strictSame(await suitesOf('none'), ['store'])
    await store.withdraw('all', 'store', AUDIT)
    await store.withdraw('all', 'nowhere', AUDIT)
    t.strictSame(await suitesOf('all'), ['product-information'])
    await store.removeSuite('store', AUDIT)
    t.strictSame(await suitesOf('none'), [])
  })

  t.test('Store: the applications that are approved for a suite are listed page by page', async (t) => {
    const store = await open(t)
    const suites = [suite('store'), suite('product-information')]
    const applications = ['a', 'b', 'c', 'd'].map((id) =>
      application(id, { suites: id === 'b' ? ['product-information'] : ['store'] }),
    )
    await store.register({ suites, applications }, AUDIT)
    const first = await store.listApprovedApplications('store', { limit: 2 })
    t.strictSame(first, [await store.findApplication('a'), await store.findApplication('c')])
    t.strictSame(idsOf(await store.listApprovedApplications('store', { after: first[1]?.key, limit: 2 })), ['d'])
    t.strictSame(await store.listApprovedApplications('nowhere', PAGE), [])
    t.strictSame(await store.countApproved(['product-information', 'nowhere', 'store'], 100), [1, 0, 3])
    t.strictSame(await store.countApproved(['store', 'product-information'], 2), [2, 1], 'at most the limit')
    t.strictSame(await store.countApproved([], 2), [])
  })

  t.test("Store: a suite's secrets are rotated and ended as an application's are", async (t) => {
    const store = await open(t)
    await store.register({ suites: [suite('store')], applications: [application('a')] }, AUDIT)
    t.equal(await store.rotateSecret('store', SECRET, START + 100, START, AUDIT), true)
    const [first, second] = (await store.findSuite('store'))?.secrets ?? []
    t.match([first, second], [{ endsAt: START + 100 }, { digest: SECRET.digest, endsAt: null, revokedAt: null }])
    t.equal(await store.revokeSecret('store', second?.id as number, START + 200, AUDIT), true)
    t.equal(await store.revokeSecret('a', second?.id as number, START, AUDIT), false)
    t.equal(await store.rotateSecret('store', SECRET, START + 300, START + 101, AUDIT), true)
    t.strictSame(
      (await store.findSuite('store'))?.secrets.map(({ endsAt }) => endsAt),
      [START + 200, null],
    )
    t.equal((await store.findApplication('a'))?.secrets[0]?.endsAt, null)
  })
}

function tokenConformance(t: Test, { open }: Harness): void {
  t.test('Store: a token is found as it was added', async (t) => {
    const store = await open(t)
    const key = await newKey(store)
    const tokens = Array.from({ length: 50 }, (_, n) => mintToken(key, START + n, n % 3).stored)
    await Promise.all(tokens.map((token) => store.addToken(token)))
    for (const token of tokens) t.strictSame(await find(store, token.id), token)
    t.equal(await store.findToken(mintToken(key, START).stored.id), undefined)
  })

  t.test('Store: a token is found with the application that it was issued to, while there is one', async (t) => {
    const store = await open(t)
    await newKey(store, 'a')
    const token = mintToken(await newKey(store, 'b'), START).stored
    await store.addToken(token)
    t.strictSame(await store.findToken(token.id), { stored: token, application: await store.findApplication('b') })
    await store.removeApplication('b', AUDIT)
    t.strictSame(await store.findToken(token.id), { stored: token, application: undefined })
    await newKey(store, 'b')
    t.strictSame(await store.findToken(token.id), { stored: token, application: undefined }, 'a namesake is another')
  })

  t.test('Store: a token that was looked for too early is found as soon as it is added', async (t) => {
    const store = await open(t)
    const token = mintToken(await newKey(store), START).stored
    t.equal(await store.findToken(token.id), undefined)
    await store.addToken(token)
    t.strictSame(await find(store, token.id), token)
  })

  t.test('Store: a token with an id that is taken is refused and changes nothing', async (t) => {
    const store = await open(t)
    const token = mintToken(await newKey(store), START).stored
    await store.addToken(token)
    await t.rejects(store.addToken({ ...token, issuedAt: START + 1 }))
    t.strictSame(await find(store, token.id), token)
    const next = mintToken(token.applicationKey, START).stored
    await store.addToken(next)
    t.strictSame(await find(store, next.id), next, 'and those that come later are added')
  })

  t.test('Store: a revoked token is marked with the time of its first revocation, and no other is', async (t) => {
    const store = await open(t)
    const key = await newKey(store)
    const [one, other] = [mintToken(key, START).stored, mintToken(key, START).stored]
    await Promise.all([store.addToken(one), store.addToken(other)])
    t.strictSame(await find(store, one.id), one)
    await store.revokeToken(one.id, START + 1)
    await store.revokeToken(one.id, START + 2)
    t.strictSame(await find(store, one.id), { ...one, revokedAt: START + 1 })
    t.strictSame(await find(store, other.id), other)
  })

  t.test('Store: the purge deletes the oldest tokens before an id, no more than the limit', async (t) => {
    const store = await open(t)
    const key = await newKey(store)
    const tokens = Array.from({ length: 5 }, (_, n) => mintToken(key, START + n).stored)
    for (const token of tokens.toReversed()) await store.addToken(token)
    const left = async (numbers: number[]) => {
      const found = await Promise.all(numbers.map((n) => find(store, (tokens[n] as StoredToken).id)))
      return found.filter((token) => token !== undefined).map(({ issuedAt }) => issuedAt - START)
    }

    t.equal(await store.purgeTokens(firstTokenIdAt(START + 4), 3), 3)
    t.strictSame(await left([0, 1, 2, 4]), [4])
    t.equal(await store.purgeTokens(firstTokenIdAt(START + 4), 3), 1)
    t.strictSame(await left([3, 4]), [4])
    t.equal(await store.purgeTokens((tokens[4] as StoredToken).id, 3), 0, 'the id itself is not before it')
    t.strictSame(await left([4]), [4])
  })

  t.test('Store: it says that it can be used, and that nothing is left to tidy up', async (t) => {
    const store = await open(t)
    await t.resolves(store.ping())
    t.equal(await store.backlog(), undefined)
  })
}

function usageConformance(t: Test, { open }: Harness): void {
  t.test('Store: the tokens of an application and an hour are counted, and its last one is known', async (t) => {
    const store = await open(t)
    const [a, b] = [await newKey(store, 'a'), await newKey(store, 'b')]
    const hour = hourOf(START)
    t.equal(await store.countTokens(a, hour), 0)
    t.equal(await store.lastTokenAt(a), undefined)

    const ofA = { applicationKey: a, hour, issued: 3, refused: 1, lastTokenAt: START + 5 }
    const ofB = { applicationKey: b, hour, issued: 0, refused: 2, lastTokenAt: null }
    t.strictSame(await store.addTokenCounts([ofA, ofB]), [
      { applicationKey: a, hour, issued: 3, refused: 1 },
      { applicationKey: b, hour, issued: 0, refused: 2 },
    ])
    t.strictSame(await store.addTokenCounts([{ ...ofA, issued: -1, refused: 0, lastTokenAt: START + 4 }]), [
      { applicationKey: a, hour, issued: 2, refused: 1 },
    ])
    await store.addTokenCounts([{ ...ofA, hour: hour - 1 }])
    t.equal(await store.countTokens(a, hour), 2)
    t.equal(await store.lastTokenAt(a), START + 5, 'the latest, in whatever order they come')
    t.equal(await store.lastTokenAt(b), undefined)
    t.same(
      new Set(await store.listTokenCounts([a, b], [hour])),
      new Set([
        { applicationKey: a, hour, issued: 2, refused: 1 },
        { applicationKey: b, hour, issued: 0, refused: 2 },
      ]),
    )
    t.strictSame(await store.listTokenCounts([b], [hour - 1, hour]), [
      { applicationKey: b, hour, issued: 0, refused: 2 },
    ])
    t.equal((await store.listTokenCounts([a, b], [hour - 1, hour])).length, 3, 'of several applications')
    t.equal((await store.listTokenCounts([a, b], [hour - 1])).length, 1, 'in these hours')
    t.strictSame(await store.listTokenCounts([], [hour]), [])
    t.strictSame(await store.listApplicationUses([b, a]), [{ applicationKey: a, lastTokenAt: START + 5 }])
    t.strictSame(await store.listApplicationUses([]), [])
  })

  t.test('Store: old counts are purged, no more than the limit', async (t) => {
    const store = await open(t)
    const applicationKey = await newKey(store)
    const count = { applicationKey, issued: 1, refused: 0, lastTokenAt: START }
    await store.addTokenCounts([5, 3, 4, 2].map((hour) => ({ ...count, hour })))
    t.equal(await store.purgeTokenCounts(5, 2), 2)
    const left = await store.listTokenCounts([applicationKey], [2, 3, 4, 5])
    t.strictSame(left.map(({ hour }) => hour).sort(), [4, 5])
    t.equal(await store.purgeTokenCounts(5, 2), 1)
    t.equal(await store.purgeTokenCounts(5, 2), 0)
    t.equal(await store.lastTokenAt(applicationKey), START)
  })

  t.test('Store: the last use of a secret is recorded, while there is the secret', async (t) => {
    const store = await open(t)
    await store.register({ suites: [suite('store')], applications: [application('a')] }, AUDIT)
    const ofA = (await store.findApplication('a'))?.secrets[0]?.id as number
    const ofSuite = (await store.findSuite('store'))?.secrets[0]?.id as number
    const all = [ofA, ofSuite, 1000]
    t.strictSame(await store.listSecretUses(all), [])
    await store.recordSecretUses(all.map((secretId) => ({ secretId, lastUsedAt: START })))
    await store.recordSecretUses([{ secretId: ofSuite, lastUsedAt: START - 1 }])
    t.same(await store.listSecretUses([ofA]), [{ secretId: ofA, lastUsedAt: START }])
    t.same(await store.listSecretUses([ofSuite]), [{ secretId: ofSuite, lastUsedAt: START }], 'the later one stays')
    await store.removeApplication('a', AUDIT)
    await store.removeSuite('store', AUDIT)
    t.strictSame(await store.listSecretUses(all), [])
  })

  t.test('Store: counts of an application that was removed do no harm, and its namesake has none', async (t) => {
    const store = await open(t)
    const gone = await newKey(store, 'a')
    await store.addTokenCounts([{ applicationKey: gone, hour: 7, issued: 1, refused: 0, lastTokenAt: START }])
    await store.removeApplication('a', AUDIT)
    await store.addTokenCounts([{ applicationKey: gone, hour: 7, issued: 1, refused: 0, lastTokenAt: START }])
    t.equal(await store.lastTokenAt(gone), undefined)
    const key = await newKey(store, 'a')
    t.equal(await store.countTokens(key, 7), 0)
  })
}

function refusalConformance(t: Test, { open }: Harness): void {
  t.test('Store: refusals are listed as they were recorded, the newest first', async (t) => {
    const store = await open(t)
    await register(store, [application('a'), application('b')])
    const ofSuite = { reason: 'expired token', suite: 'store', requestId: 'r-1', traceId: 'f'.repeat(32) }
    const [old, late] = [
      refusal('a', { ...ofSuite, firstAt: START - 9, count: 7 }),
      refusal('a', { lastAt: START + 1 }),
    ]
    await store.recordRefusals([old, late, refusal('b')])
    t.strictSame(await store.listRefusals('a'), [late, old])
    t.strictSame(await store.listRefusals('b'), [refusal('b')])
    t.strictSame(await store.listRefusals('nobody'), [])
    await store.recordRefusals([])
  })

  t.test('Store: the same refusal counts, and what is known of the last one stays', async (t) => {
    const store = await open(t)
    await register(store, [application('a')])
    const at = (time: number, requestId?: string) =>
      refusal('a', { firstAt: START + time, lastAt: START + time, requestId, traceId: requestId })
    await store.recordRefusals([at(5, 'five'), at(7, 'seven'), at(6, 'six')])
    const known = { ...at(7, 'seven'), firstAt: START + 5, count: 3 }
    t.strictSame(await store.listRefusals('a'), [known])
    await store.recordRefusals([at(1, 'one')])
    t.strictSame(await store.listRefusals('a'), [{ ...known, firstAt: START + 1, count: 4 }])
    await store.recordRefusals([{ ...at(9), count: 10 }])
    t.strictSame(await store.listRefusals('a'), [{ ...at(9), firstAt: START + 1, count: 14 }])
    for (const other of ['reason', 'endpoint', 'suite', 'remoteAddress']) {
      await store.recordRefusals([{ ...at(0), [other]: 'another' }])
    }
    t.strictSame(
      (await store.listRefusals('a')).map(({ count }) => count),
      [14, 1, 1, 1, 1],
    )
  })

  t.test('Store: refusals of unknown client ids are kept apart from those of applications', async (t) => {
    const store = await open(t)
    await register(store, [application('a')])
    const strange = [
      '\0ab\u{1f4a9}... (9 characters)',
      '\ud800... (1 characters)',
      `{"',\\}... (9 characters)`,
      'NULL',
      '',
    ]
    const unknown = (clientId: string) => refusal(clientId, { isKnown: false })
    await store.recordRefusals([refusal('a'), ...[...strange, 'a'].map(unknown)])
    for (const clientId of strange)
      t.match(await store.listRefusals(clientId), [{ isKnown: false, count: 1 }], clientId)
    t.equal((await store.listRefusals(undefined)).length, strange.length + 1)
    t.strictSame(await store.listRefusals('a'), [refusal('a')])
    await store.removeApplication('a', AUDIT)
    t.strictSame(await store.listRefusals('a'), [unknown('a')])
  })

  t.test('Store: refusals of suites are kept apart from those of applications, and go with their suite', async (t) => {
    const store = await open(t)
    // Their numbers are the same.
    await store.register(
      {
        suites: [suite('store'), suite('other')],
        applications: [application('a'), application('b')],
      },
      AUDIT,
    )
    const ofSuite = (id: string, more: Partial<RefusalCount> = {}) => refusal(id, { count: 3, ...more })
    const all = [refusal('a'), refusal('b'), ofSuite('store'), ofSuite('other')]
    await store.recordRefusals(all)
    await store.recordRefusals([ofSuite('store', { firstAt: START - 1, count: 1 })])
    t.strictSame(await store.listRefusals('a'), [refusal('a')])
    t.strictSame(await store.listRefusals('store'), [ofSuite('store', { firstAt: START - 1, count: 4 })])
    t.strictSame(await store.listRefusals('other'), [ofSuite('other')])
    t.strictSame(await store.listRefusals(undefined), [])
    await store.recordRefusals(
      Array.from({ length: 25 }, (_, n) => ofSuite('store', { remoteAddress: `192.0.2.${n}`, lastAt: START + 1 + n })),
    )
    t.equal((await store.listRefusals('store')).length, 20)
    t.equal((await store.listRefusals('other')).length, 1)
    await store.removeSuite('store', AUDIT)
    await store.recordRefusals([ofSuite('store')])
    t.strictSame(await store.listRefusals('store'), [])
    await register(store, [application('store')])
    t.strictSame(await store.listRefusals('store'), [], 'an application of that id has none')
  })

  t.test('Store: of an application the newest 20 refusals stay, of unknown client ids 100 in all', async (t) => {
    const store = await open(t)
    await register(store, [application('a'), application('b')])
    const many = (clientId: string, length: number, more: Partial<RefusalCount> = {}) =>
      Array.from({ length }, (_, n) =>
        refusal(clientId, { ...more, remoteAddress: `192.0.2.${n}`, firstAt: START + n, lastAt: START + n }),
      )
    const newest = (refusals: RefusalCount[], count: number) => refusals.toReversed().slice(0, count)
    const [ofA, ofB, unknown] = [many('a', 25), many('b', 20), many('x', 90, { isKnown: false })]
    await store.recordRefusals([...ofB, ...ofA.toReversed(), ...unknown])
    t.strictSame(await store.listRefusals('a'), newest(ofA, 20))
    t.strictSame(await store.listRefusals('b'), newest(ofB, 20))
    t.strictSame(await store.listRefusals('x'), newest(unknown, 90))
    const again = { ...(ofA[5] as RefusalCount), firstAt: START + 99, lastAt: START + 99 }
    await store.recordRefusals([again, refusal('a', { lastAt: START + 98 })])
    t.match(await store.listRefusals('a'), [{ ...again, firstAt: START + 5, count: 2 }, { lastAt: START + 98 }])
    t.equal((await store.listRefusals('a')).length, 20)
    await store.recordRefusals(many('y', 15, { isKnown: false }).map((one) => ({ ...one, lastAt: START + 99 })))
    t.strictSame(await store.listRefusals('x'), newest(unknown, 85))
    t.equal((await store.listRefusals('y')).length, 15)
  })

  t.test('Store: those that were refused last are listed once each, with their last reason', async (t) => {
    const store = await open(t)
    await store.register({ suites: [suite('s')], applications: ['a', 'b', 'c'].map((id) => application(id)) }, AUDIT)
    const at = (clientId: string, time: number, more: Partial<RefusalCount> = {}) =>
      refusal(clientId, { firstAt: START + time, lastAt: START + time, ...more })
    const ofA = Array.from({ length: 20 }, (_, n) => at('a', 10 + n, { reason: `reason ${n}` }))
    const unknown = Array.from({ length: 20 }, (_, n) => at(`x${n}`, 50 + n, { isKnown: false }))
    await store.recordRefusals([...ofA, ...unknown, at('b', 1), at('c', 2), at('s', 3, { reason: 'wrong secret' })])
    const listed = async (limit: number) =>
      (await store.listLastRefused(limit)).map(({ lastAt, ...one }) => ({ ...one, at: lastAt - START }))
    const [a, s] = [
      { kind: 'application', id: 'a', name: (await store.findApplication('a'))?.name, reason: 'reason 19', at: 29 },
      { kind: 'suite', id: 's', name: (await store.findSuite('s'))?.name, reason: 'wrong secret', at: 3 },
    ]
    t.strictSame(await listed(2), [a, s], 'however many rows the first one has')
    t.match(await listed(9), [{ id: 'a' }, { id: 's' }, { id: 'c' }, { id: 'b' }])
    await store.removeApplication('c', AUDIT)
    await store.removeSuite('s', AUDIT)
    t.match(await listed(9), [{ id: 'a' }, { id: 'b' }])
    t.equal((await listed(9)).length, 2, 'removed ones are left out')
  })

  t.test('Store: a refusal of an application that was removed is left out, and its namesake has none', async (t) => {
    const store = await open(t)
    await register(store, [application('a'), application('b')])
    await store.recordRefusals([refusal('a')])
    await store.removeApplication('a', AUDIT)
    await store.recordRefusals([refusal('a'), refusal('b')])
    t.strictSame(await store.listRefusals('a'), [])
    t.strictSame(await store.listRefusals('b'), [refusal('b')])
    await register(store, [application('a')])
    t.strictSame(await store.listRefusals('a'), [])
  })

  t.test('Store: old refusals are purged, no more than the limit', async (t) => {
    const store = await open(t)
    await register(store, [application('a')])
    const times = [5, 3, 4, 2].map((time) => START + time)
    await store.recordRefusals(times.map((lastAt) => refusal('a', { remoteAddress: `${lastAt}`, lastAt })))
    const left = async () => (await store.listRefusals('a')).map(({ lastAt }) => lastAt - START)
    t.equal(await store.purgeRefusals(START + 5, 2), 2)
    t.strictSame(await left(), [5, 4])
    t.equal(await store.purgeRefusals(START + 5, 2), 1)
    t.equal(await store.purgeRefusals(START + 5, 2), 0)
    t.strictSame(await left(), [5])
  })
}

function idempotencyConformance(t: Test, { open }: Harness): void {
  const DAY = 24 * 3_600_000
  const auditOf = (sealed: string, at = START) => ({ ...AUDIT, at, idempotency: { digest: 'd', sealed } })

  t.test('Store: a change with an idempotency record is made once, and its answer kept for a day', async (t) => {
    const store = await open(t)
    await register(store, [application('a')])
    t.equal(await store.findSealedAnswer('d', START - 1), undefined)
    await store.rotateSecret('a', SECRET, START + 9, 0, auditOf('first'))
    t.equal(await store.findSealedAnswer('d', START - 1), 'first')
    t.equal(await store.findSealedAnswer('d', START), undefined, 'it is too old')
    const before = await store.findApplication('a')
    await t.rejects(store.rotateSecret('a', SECRET, START, 0, auditOf('second', START + DAY - 1)), IdempotencyKeyTaken)
    t.strictSame(await store.findApplication('a'), before)
    t.equal(await store.findSealedAnswer('d', START - 1), 'first')
    await store.rotateSecret('a', SECRET, START + 9, 0, auditOf('third', START + DAY))
    t.equal(await store.findSealedAnswer('d', START), 'third')
  })

  t.test('Store: no idempotency record is stored if nothing changed', async (t) => {
    const store = await open(t)
    await register(store, [application('a')])
    t.equal(await store.rotateSecret('nobody', SECRET, START, 0, auditOf('x')), false)
    t.strictSame(
      (await store.register({ suites: [], applications: [application('a')] }, auditOf('x'))).applications,
      [],
    )
    t.equal(await store.findSealedAnswer('d', 0), undefined)
  })

  t.test('Store: old idempotency records are purged, up to the limit', async (t) => {
    const store = await open(t)
    await register(store, [application('a')])
    for (const time of [3, 1, 2, 4]) {
      const audit = { ...AUDIT, at: START + time, idempotency: { digest: `${time}`, sealed: `${time}` } }
      await store.rotateSecret('a', SECRET, START + 9, 0, audit)
    }
    const left = async () => {
      const found = await Promise.all([1, 2, 3, 4].map((time) => store.findSealedAnswer(`${time}`, 0)))
      return found.filter((sealed) => sealed !== undefined)
    }
    t.equal(await store.purgeIdempotencyRecords(START + 4, 2), 2)
    t.strictSame(await left(), ['3', '4'])
    t.equal(await store.purgeIdempotencyRecords(START + 4, 2), 1)
    t.equal(await store.purgeIdempotencyRecords(START + 4, 2), 0)
    t.strictSame(await left(), ['4'])
  })
}

/** An operator with a key, a login code and a session, whose digests are `key NAME`, `code NAME` and `session NAME`. */
async function addOperator(store: Store, name: string): Promise<{ keyId: number; sessionId: number }> {
  await store.addOperator({ name, role: 'admin', createdAt: START }, AUDIT)
  const keyId = await store.addAdminKey(name, { digest: `key ${name}`, createdAt: START, endsAt: START + 100 }, AUDIT)
  await store.addLoginCode(name, { digest: `old code ${name}`, createdAt: START, endsAt: START + 10 }, AUDIT)
  const sessionId = await store.beginSession(name, `old code ${name}`, session(`session ${name}`), AUDIT)
  await store.addLoginCode(name, { digest: `code ${name}`, createdAt: START, endsAt: START + 10 }, AUDIT)
  return { keyId: keyId as number, sessionId: sessionId as number }
}

function session(digest: string, more: { createdAt?: number; endsAt?: number } = {}) {
  return {
    digest,
    createdAt: START + 1,
    endsAt: START + 50,
    remoteAddress: '192.0.2.1',
    userAgent: 'Ünï "✓"',
    ...more,
  }
}

function operatorConformance(t: Test, { open }: Harness): void {
  t.test('Store: an operator is found with every field of its type and no other', async (t) => {
    const store = await open(t)
    t.equal(await store.findOperator('anna'), undefined)
    t.strictSame(await store.listOperators(), [])
    t.equal(await store.addOperator({ name: 'anna', role: 'viewer', createdAt: START }, AUDIT), true)
    t.equal(
      await store.addOperator({ name: 'anna', role: 'admin', createdAt: START + 1 }, AUDIT),
      false,
      'the name is taken',
    )
    const { key, ...rest } = (await store.findOperator('anna')) as Operator
    t.not(key, undefined)
    t.strictSame(rest, { name: 'anna', role: 'viewer', createdAt: START, keys: [], sessions: [], loginLinks: [] })

    const { keyId, sessionId } = await addOperator(store, 'bert')
    const bert = (await store.findOperator('bert')) as Operator
    t.strictSame(bert.keys, [{ id: keyId, createdAt: START, endsAt: START + 100, revokedAt: null, lastUsedAt: null }])
    t.strictSame(bert.sessions, [
      {
        id: sessionId,
        createdAt: START + 1,
        lastSeenAt: START + 1,
        endsAt: START + 50,
        remoteAddress: '192.0.2.1',
        userAgent: 'Ünï "✓"',
      },
    ])
    t.strictSame(bert.loginLinks, [{ createdAt: START, endsAt: START + 10 }])
    t.strictSame(await store.listOperators(), [await store.findOperator('anna'), bert], 'oldest first')
    for (const stranger of ['Anna', 'anna\0', '']) t.equal(await store.findOperator(stranger), undefined)
  })

  t.test('Store: keys, sessions and login codes are found by their digests, with their operator', async (t) => {
    const store = await open(t)
    await addOperator(store, 'anna')
    const { keyId, sessionId } = await addOperator(store, 'bert')
    const operator = await store.findOperator('bert')
    t.strictSame(await store.findAdminKey('key bert'), { id: keyId, operator })
    t.strictSame(await store.findSession('session bert'), { id: sessionId, operator })
    t.strictSame(await store.findLoginCode('code bert'), { operator: 'bert', createdAt: START, endsAt: START + 10 })
    for (const digest of ['nothing', '']) {
      t.equal(await store.findAdminKey(digest), undefined)
      t.equal(await store.findSession(digest), undefined)
      t.equal(await store.findLoginCode(digest), undefined)
    }
  })

  t.test('Store: changes to unknown operators, or to keys and sessions of another operator, do nothing', async (t) => {
    const store = await open(t)
    const { keyId, sessionId } = await addOperator(store, 'anna')
    await store.addOperator({ name: 'bert', role: 'viewer', createdAt: START }, AUDIT)
    t.equal(await store.addAdminKey('nobody', { digest: 'x', createdAt: START, endsAt: START }, AUDIT), undefined)
    t.equal(await store.addLoginCode('nobody', { digest: 'x', createdAt: START, endsAt: START }, AUDIT), false)
    t.equal(await store.removeOperator('nobody', AUDIT), false)
    for (const name of ['nobody', 'bert']) {
      t.equal(await store.revokeAdminKey(name, keyId, START, AUDIT), false, "nor is it another operator's")
      t.equal(await store.endSession(name, sessionId, AUDIT), false)
    }
    t.equal(await store.revokeAdminKey('anna', keyId + 1, START, AUDIT), false)
    t.equal(await store.endSession('anna', sessionId + 1, AUDIT), false)
    t.match(await store.findAdminKey('key anna'), { operator: { keys: [{ revokedAt: null }] } })
    t.not(await store.findSession('session anna'), undefined)
  })

  t.test('Store: a key is revoked and a session is ended only once', async (t) => {
    const store = await open(t)
    const { keyId, sessionId } = await addOperator(store, 'anna')
    t.equal(await store.revokeAdminKey('anna', keyId, START + 5, AUDIT), true)
    t.equal(await store.revokeAdminKey('anna', keyId, START + 6, AUDIT), true)
    t.match(await store.findAdminKey('key anna'), { operator: { keys: [{ revokedAt: START + 5 }] } })
    t.equal(await store.endSession('anna', sessionId, AUDIT), true)
    t.equal(await store.findSession('session anna'), undefined)
    t.equal(await store.endSession('anna', sessionId, AUDIT), false)
  })

  t.test('Store: removing an operator removes keys, sessions and login codes for good', async (t) => {
    const store = await open(t)
    const { sessionId } = await addOperator(store, 'anna')
    await addOperator(store, 'bert')
    t.equal(await store.removeOperator('anna', AUDIT), true)
    await store.addOperator({ name: 'anna', role: 'viewer', createdAt: START + 1 }, AUDIT)
    t.match(await store.findOperator('anna'), { role: 'viewer', keys: [], sessions: [] })
    t.equal(await store.findAdminKey('key anna'), undefined)
    t.equal(await store.findSession('session anna'), undefined)
    t.equal(await store.beginSession('anna', 'code anna', session('new'), AUDIT), undefined)
    await store.recordSessionUse({ id: sessionId, lastSeenAt: START + 2, endsAt: START + 60 })
    t.equal(await store.findSession('session anna'), undefined)
    t.not(await store.findSession('session bert'), undefined)
  })

  t.test('Store: a login code can be used only once', async (t) => {
    const store = await open(t)
    await addOperator(store, 'anna')
    const id = await store.beginSession('anna', 'code anna', session('first'), AUDIT)
    t.match(await store.findSession('first'), { id, operator: { name: 'anna' } })
    t.equal(await store.beginSession('anna', 'code anna', session('second'), AUDIT), undefined)
    t.equal(await store.findSession('second'), undefined)
    t.equal(await store.findLoginCode('code anna'), undefined)
  })

  t.test('Store: each change of an operator is one audit event, and uses are not', async (t) => {
    const store = await open(t)
    const { keyId, sessionId } = await addOperator(store, 'anna')
    const at = (time: number) => new Date(START + time).toISOString()
    const key = { id: keyId, created_at: at(0), ends_at: at(100), revoked_at: null }
    const begun = { id: sessionId, created_at: at(1), remote_address: '192.0.2.1', user_agent: 'Ünï "✓"' }
    const link = { created_at: at(0), ends_at: at(10) }
    const NOTHING = { keys: [], sessions: [], login_links: [] }
    const added = { name: 'anna', role: 'admin', created_at: at(0) }
    const subject = { kind: 'operator', id: 'anna' }
    const events = async () => {
      const listed = (await store.listAuditEvents({ limit: 100 })).toReversed()
      return listed.map(({ action, subject, before, after }) => ({ action, subject, before, after }))
    }
    const first = [
      { action: 'operator added', subject, before: null, after: { ...added, ...NOTHING } },
      { action: 'operator key added', subject, before: { keys: [] }, after: { keys: [key] } },
      { action: 'login link made', subject, before: { login_links: [] }, after: { login_links: [link] } },
      {
        action: 'operator logged in',
        subject,
        before: { sessions: [], login_links: [link] },
        after: { sessions: [begun], login_links: [] },
      },
      { action: 'login link made', subject, before: { login_links: [] }, after: { login_links: [link] } },
    ]
    t.strictSame(await events(), first)

    await store.recordAdminKeyUse(keyId, START + 2)
    await store.recordSessionUse({ id: sessionId, lastSeenAt: START + 2, endsAt: START + 60 })
    await store.addOperator({ name: 'anna', role: 'viewer', createdAt: START }, AUDIT)
    await store.removeOperator('nobody', AUDIT)
    await store.endSession('anna', sessionId + 1, AUDIT)
    await store.beginSession('anna', 'unknown code', session('x'), AUDIT)
    await store.revokeAdminKey('anna', keyId, START + 3, AUDIT)
    await store.revokeAdminKey('anna', keyId, START + 4, AUDIT)
    await store.endSession('anna', sessionId, AUDIT)
    await store.removeOperator('anna', AUDIT)
    const revoked = { ...key, revoked_at: at(3) }
    t.strictSame((await events()).slice(first.length), [
      { action: 'operator key revoked', subject, before: { keys: [key] }, after: { keys: [revoked] } },
      { action: 'session ended', subject, before: { sessions: [begun] }, after: { sessions: [] } },
      {
        action: 'operator removed',
        subject,
        before: { ...added, keys: [revoked], sessions: [], login_links: [link] },
        after: null,
      },
    ])
    t.notMatch(JSON.stringify(await store.listAuditEvents({ limit: 100 })), /code anna|key anna|session anna/)
  })

  t.test('Store: the time of the last use of a key or session never goes back', async (t) => {
    const store = await open(t)
    const { keyId, sessionId } = await addOperator(store, 'anna')
    for (const time of [5, 7, 6]) {
      await store.recordAdminKeyUse(keyId, START + time)
      await store.recordSessionUse({ id: sessionId, lastSeenAt: START + time, endsAt: START + 50 + time })
    }
    t.match(await store.findOperator('anna'), {
      keys: [{ lastUsedAt: START + 7, endsAt: START + 100 }],
      sessions: [{ createdAt: START + 1, lastSeenAt: START + 7, endsAt: START + 57 }],
    })
  })

  t.test('Store: login codes and sessions that are over, or lie in the future, are purged', async (t) => {
    const store = await open(t)
    const HOUR = 3_600_000
    await addOperator(store, 'anna')
    const times = { ended: [1, 5], alive: [2, 6], ahead: [60_005, HOUR], 'too far ahead': [60_006, HOUR] }
    for (const [name, [createdAt = 0, endsAt = 0]] of Object.entries(times)) {
      await store.addLoginCode('anna', { digest: name, createdAt: START, endsAt: START + endsAt }, AUDIT)
      await store.addLoginCode('anna', { digest: 'used', createdAt: START, endsAt: START }, AUDIT)
      await store.beginSession(
        'anna',
        'used',
        session(name, { createdAt: START + createdAt, endsAt: START + endsAt }),
        AUDIT,
      )
    }
    await store.purgeSignIns(START + 5)
    for (const [name, codeIsThere, sessionIsThere] of [
      ['ended', false, false],
      ['alive', true, true],
      ['ahead', true, true],
      ['too far ahead', true, false],
    ] as const) {
      t.equal((await store.findLoginCode(name)) !== undefined, codeIsThere, name)
      t.equal((await store.findSession(name)) !== undefined, sessionIsThere, name)
    }
    await store.purgeSignIns(Number.MAX_SAFE_INTEGER)
    t.match(await store.findOperator('anna'), { keys: [{}], sessions: [] })
    t.equal((await store.findOperator('anna'))?.sessions.length, 0)
    t.equal(await store.findLoginCode('ahead'), undefined)
  })
}

function figuresConformance(t: Test, { open }: Harness): void {
  t.test('Store: when the oldest token was issued is known', async (t) => {
    const store = await open(t)
    t.equal(await store.oldestTokenAt(), undefined)
    const key = await newKey(store)
    for (const n of [2, 1, 3]) await store.addToken(mintToken(key, START + n).stored)
    t.equal(await store.oldestTokenAt(), START + 1)
    await store.purgeTokens(firstTokenIdAt(START + 2), 10)
    t.equal(await store.oldestTokenAt(), START + 2)
  })

  t.test('Store: who has an active secret now and soon none is counted', async (t) => {
    const store = await open(t)
    const NOW = START + 1000
    const SOON = NOW + 1000
    const owners: Record<string, { isEnding: boolean; ends: (number | null)[] }> = {
      'one secret without an end': { isEnding: false, ends: [null] },
      'one that ends soon': { isEnding: true, ends: [NOW + 1] },
      'one that ends at that very moment': { isEnding: true, ends: [SOON] },
      'one that ends later': { isEnding: false, ends: [SOON + 1] },
      'one that has ended': { isEnding: false, ends: [NOW] },
      'two that end soon': { isEnding: true, ends: [NOW + 1, NOW + 2] },
      'one that ends soon, and a successor': { isEnding: false, ends: [NOW + 1, null] },
      'one that ends soon, and one that ends later': { isEnding: false, ends: [SOON + 1, NOW + 1] },
      'one that ends soon, and one that has ended': { isEnding: true, ends: [NOW - 1, NOW + 1] },
      'one that ends soon, and one that was not shown yet': { isEnding: true, ends: [NOW + 1, NOT_SHOWN_YET] },
      'one that was not shown yet': { isEnding: false, ends: [NOT_SHOWN_YET] },
    }
    let expected = 0
    for (const [name, { isEnding, ends }] of Object.entries(owners)) {
      const [secret, ...others] = ends.map((endsAt) => ({ ...SECRET, endsAt })) as [NewSecret, ...NewSecret[]]
      const suites = [{ ...suite(`suite ${name}`), secret }]
      await store.register({ suites, applications: [application(name, { secret })] }, AUDIT)
      for (const other of others)
        for (const owner of [name, `suite ${name}`]) await store.addSecret(owner, other, AUDIT)
      if (isEnding) expected += 2
      t.equal(await store.countEndingSecrets(NOW, SOON), expected, name)
    }
    const revoked = application('revoked', { secret: { ...SECRET, endsAt: NOW + 1 } })
    const successor = application('successor', { secret: { ...SECRET, endsAt: NOW + 1 } })
    await register(store, [revoked, successor])
    await store.addSecret('successor', SECRET, AUDIT)
    t.equal(await store.countEndingSecrets(NOW, SOON), expected + 1)
    const secretsOf = async (id: string) => (await store.findApplication(id))?.secrets.map(({ id }) => id) as number[]
    await store.revokeSecret('revoked', (await secretsOf('revoked'))[0] as number, NOW + 1, AUDIT)
    t.equal(await store.countEndingSecrets(NOW, SOON), expected, 'a revoked one is not active, whatever its end')
    await store.revokeSecret('successor', (await secretsOf('successor'))[1] as number, SOON + 5, AUDIT)
    t.equal(await store.countEndingSecrets(NOW, SOON), expected + 1, 'and is no successor')
    await store.setStatus('successor', 'suspended', AUDIT)
    t.equal(await store.countEndingSecrets(NOW, SOON), expected, 'nobody misses the secret of a suspended application')
  })

  t.test('Store: owners whose secrets end soon are listed once each, the next to end first', async (t) => {
    const store = await open(t)
    const [NOW, SOON] = [START + 1000, START + 2000]
    const secrets: Record<string, number[]> = {
      third: [NOW + 1, NOW + 30],
      first: [NOW + 10],
      'same time': [NOW + 20, NOW + 20],
      ended: [NOW],
      later: [SOON + 1, NOW + 1],
      suspended: [NOW + 1],
      'ends last of all': [SOON],
    }
    for (const [name, [endsAt = 0, ...others]] of Object.entries(secrets)) {
      await register(store, [application(name, { secret: { ...SECRET, endsAt } })])
      for (const endsAt of others) await store.addSecret(name, { ...SECRET, endsAt }, AUDIT)
    }
    await store.setStatus('suspended', 'suspended', AUDIT)
    const end = { ...SECRET, endsAt: NOW + 25 }
    await store.register({ suites: [{ ...suite('suite'), secret: end }], applications: [] }, AUDIT)
    const listed = (before = SOON, limit = 20) => store.listEndingSecrets(NOW, before, limit)
    t.strictSame(await listed(), [
      { kind: 'application', id: 'first', name: 'Application first', endsAt: NOW + 10 },
      { kind: 'application', id: 'same time', name: 'Application same time', endsAt: NOW + 20 },
      { kind: 'suite', id: 'suite', name: 'Suite suite', endsAt: NOW + 25 },
      { kind: 'application', id: 'third', name: 'Application third', endsAt: NOW + 30 },
      { kind: 'application', id: 'ends last of all', name: 'Application ends last of all', endsAt: SOON },
    ])
    t.equal(await store.countEndingSecrets(NOW, SOON), 5)
    t.strictSame(
      (await listed(SOON, 2)).map(({ id }) => id),
      ['first', 'same time'],
    )
    t.strictSame(
      (await listed(NOW + 10)).map(({ id }) => id),
      ['first'],
    )
    const [{ id = 0 } = {}] = (await store.findApplication('first'))?.secrets ?? []
    await store.revokeSecret('first', id, NOW + 5, AUDIT)
    t.equal((await listed())[0]?.id, 'same time')
  })

  t.test('Store: live tokens are counted as a check sees them, unless there are too many', async (t) => {
    const store = await open(t)
    const from = firstTokenIdAt(START)
    t.equal(await store.countLiveTokens(from, 10), 0)
    const [keys, removed] = [[await newKey(store, 'a'), await newKey(store, 'b')] as const, await newKey(store, 'c')]
    const tokens = Array.from({ length: 2500 }, (_, n) => mintToken(keys[0], START + n).stored)
    await Promise.all(tokens.slice(0, 1000).map(store.addToken))
    await Promise.all(tokens.slice(1000, 2000).map(store.addToken))
    await Promise.all(tokens.slice(2000).map(store.addToken))
    await store.addToken(mintToken(keys[0], START - 1).stored)
    t.equal(await store.countLiveTokens(from, 2500), 2500)
    t.equal(await store.countLiveTokens(from, 2499), undefined)
    t.equal(await store.countLiveTokens(firstTokenIdAt(START + 2400), 100), 100)

    await store.addToken(mintToken(removed, START).stored)
    await store.removeApplication('c', AUDIT)
    t.equal(await store.countLiveTokens(from, 3000), 2500)
    await store.revokeToken(tokens[7]?.id as Buffer, START + 5000)
    t.equal(await store.countLiveTokens(from, 3000), 2499)
    await store.addToken(mintToken(keys[1], START).stored)
    await store.revokeTokens('a', START + 5000, AUDIT)
    t.equal(await store.countLiveTokens(from, 3000), 1)
    await store.addToken(mintToken(keys[0], START, 1).stored)
    t.equal(await store.countLiveTokens(from, 3000), 2)
    await store.setStatus('a', 'suspended', AUDIT)
    t.equal(await store.countLiveTokens(from, 3000), 1)
  })

  t.test('Store: tokens issued in an hour are counted over all applications', async (t) => {
    const store = await open(t)
    t.equal(await store.countIssued(5), 0)
    const [a, b] = [await newKey(store, 'a'), await newKey(store, 'b')]
    const count = (applicationKey: ApplicationKey, hour: number, issued: number) => ({
      ...{ applicationKey, hour, issued, refused: 100, lastTokenAt: null },
    })
    await store.addTokenCounts([count(a, 4, 1), count(a, 5, 2), count(b, 5, 3)])
    t.equal(await store.countIssued(5), 5)
  })

  t.test('Store: what it takes up is known, and that no backup was made', async (t) => {
    const store = await open(t)
    const { database, log } = await store.size()
    t.type(database, 'number')
    t.ok(log === undefined || log >= 0)
    t.equal(await store.lastBackupAt(), undefined)
  })
}

/** A request that begins after a change was answered sees that change, whichever process made it. */
function sharingConformance(t: Test, { openTwo }: Harness): void {
  const test = (rule: string, run: (t: Test, one: Store, other: Store) => Promise<void>) =>
    t.test(`Two handles: ${rule}`, { skip: !openTwo && 'there can be one handle only' }, async (t) => {
      const [one, other] = await (openTwo as NonNullable<typeof openTwo>)(t)
      await run(t, one, other)
    })

  test('a change to the registry by one is seen by the other at once', async (t, one, other) => {
    t.equal(await other.findApplication('a'), undefined)
    t.equal(await other.findSuite('store'), undefined)
    t.equal(await other.mostImportedSecrets(), 0)
    t.equal(await other.mostImportedSecrets(), 0, 'also where it is known')
    await one.register({ suites: [suite('store')], applications: [application('a')] }, AUDIT)
    t.strictSame(await other.findApplication('a'), await one.findApplication('a'))
    t.strictSame(await other.findSuite('store'), await one.findSuite('store'))

    const seen = async () => (await other.findApplication('a')) as Application
    const secretId = (await seen()).secrets[0]?.id as number
    const changes: [change: () => Promise<unknown>, isSeen: (a: Application) => boolean][] = [
      [() => one.setStatus('a', 'suspended', AUDIT), ({ status }) => status === 'suspended'],
      [() => one.updateApplication('a', { name: 'New' }, AUDIT), ({ name }) => name === 'New'],
      [() => one.addSecret('a', { ...SECRET, endsAt: NOT_SHOWN_YET }, AUDIT), ({ secrets }) => secrets.length === 2],
      [() => one.startSecrets(['a']), ({ secrets }) => secrets[1]?.endsAt === null],
      [() => one.setStatus('a', 'active', AUDIT), ({ status }) => status === 'active'],
      [() => one.approve('a', 'store', AUDIT), ({ suites }) => suites.length === 1],
      [() => one.withdraw('a', 'store', AUDIT), ({ suites }) => suites.length === 0],
      [() => one.revokeTokens('a', START, AUDIT), ({ tokenGeneration }) => tokenGeneration === 1],
      [() => one.rotateSecret('a', SECRET, START + 5, 0, AUDIT), ({ secrets }) => secrets[0]?.endsAt === START + 5],
      [() => one.revokeSpareSecret('a', secretId, START + 2, AUDIT), ({ secrets }) => secrets[0]?.endsAt === START + 2],
      [() => one.revokeSecret('a', secretId, START + 1, AUDIT), ({ secrets }) => secrets[0]?.endsAt === START + 1],
    ]
    for (const [change, isSeen] of changes) {
      await seen()
      await change()
      t.ok(isSeen(await seen()), String(change))
    }
    await register(one, [application('b', { secret: { digest: IMPORTED, createdAt: START } })])
    t.equal(await other.mostImportedSecrets(), 1)
    await one.updateSuite('store', { name: 'New' }, AUDIT)
    t.match(await other.findSuite('store'), { name: 'New' })
    await one.removeSuite('store', AUDIT)
    t.equal(await other.findSuite('store'), undefined)
    await one.removeApplication('a', AUDIT)
    t.equal(await other.findApplication('a'), undefined)
    t.strictSame(idsOf(await other.listApplications(PAGE)), ['b'])
  })

  test('a token of one is found by the other, and so is its revocation', async (t, one, other) => {
    const key = await newKey(one)
    const token = mintToken(key, START).stored
    t.equal(await other.findToken(token.id), undefined)
    await one.addToken(token)
    t.strictSame(await find(other, token.id), token)
    await one.revokeToken(token.id, START + 1)
    t.equal((await find(other, token.id))?.revokedAt, START + 1)
    await one.removeApplication('owner', AUDIT)
    t.strictSame(await other.findToken(token.id), {
      stored: { ...token, revokedAt: START + 1 },
      application: undefined,
    })
  })

  test('a revocation that was answered is seen by a busy other handle, each time', async (t, one, other) => {
    const key = await newKey(one)
    let isRunning = true
    const busy = (async () => {
      while (isRunning) {
        await other.findApplication('owner')
        await new Promise(setImmediate)
      }
    })()
    for (let n = 0; n < 50; n++) {
      const token = mintToken(key, START + n).stored
      await one.addToken(token)
      t.equal((await find(other, token.id))?.revokedAt, null)
      await one.revokeToken(token.id, START + n)
      t.equal((await find(other, token.id))?.revokedAt, START + n)
    }
    isRunning = false
    await busy
  })

  test('a read that begins between turns sees it too, whatever was read before', async (t, one, other) => {
    await one.register({ suites: [suite('store'), suite('other')], applications: [application('a')] }, AUDIT)
    for (let n = 0; n < 20; n++) {
      await other.findSuite('store')
      const gone = Promise.withResolvers<unknown>()
      // Reads from several places of one turn, of which some begin before the change and one after it.
      setImmediate(() => void other.findSuite('other'))
      void other.findApplication('a')
      setImmediate(() => {
        setTimeout(async () => {
          await one.removeSuite('store', AUDIT)
          gone.resolve(await other.findSuite('store'))
        }, 0)
        void other.findSuite('store')
      })
      t.equal(await gone.promise, undefined)
      await one.register({ suites: [suite('store')], applications: [] }, AUDIT)
    }
  })

  test('refusals of both are one list, also where both record at once', async (t, one, other) => {
    await register(one, [application('a')])
    for (let round = 0; round < 20; round++) {
      const refusals = Array.from({ length: 10 }, (_, n) =>
        refusal(n % 2 ? 'a' : 'x', { isKnown: n % 2 === 1, remoteAddress: `${n}` }),
      )
      await Promise.all([one.recordRefusals(refusals), other.recordRefusals(refusals.toReversed())])
    }
    for (const clientId of ['a', 'x']) {
      t.strictSame(
        (await one.listRefusals(clientId)).map(({ count }) => count),
        Array(5).fill(40),
      )
    }
  })

  test('an operator who is refused by one is refused by the other from the next request on', async (t, one, other) => {
    const { keyId, sessionId } = await addOperator(one, 'anna')
    t.match(await other.findAdminKey('key anna'), { operator: { keys: [{ revokedAt: null }] } })
    await one.revokeAdminKey('anna', keyId, START + 5, AUDIT)
    t.match(await other.findAdminKey('key anna'), { operator: { keys: [{ revokedAt: START + 5 }] } })
    t.not(await other.findSession('session anna'), undefined)
    await one.endSession('anna', sessionId, AUDIT)
    t.equal(await other.findSession('session anna'), undefined)
    await one.removeOperator('anna', AUDIT)
    t.equal(await other.findAdminKey('key anna'), undefined)
    t.equal(await other.findLoginCode('code anna'), undefined)
  })

  test('a login code that both redeem at once begins one session', async (t, one, other) => {
    await one.addOperator({ name: 'anna', role: 'admin', createdAt: START }, AUDIT)
    for (let n = 0; n < 20; n++) {
      await one.addLoginCode('anna', { digest: `code ${n}`, createdAt: START, endsAt: START + 10 }, AUDIT)
      const ids = await Promise.all([
        one.beginSession('anna', `code ${n}`, session(`one ${n}`), AUDIT),
        other.beginSession('anna', `code ${n}`, session(`other ${n}`), AUDIT),
      ])
      t.equal(ids.filter((id) => id !== undefined).length, 1)
    }
    t.equal((await other.findOperator('anna'))?.sessions.length, 20)
  })

  test('a change with one idempotency record that both make at once is made once', async (t, one, other) => {
    await register(one, [application('a')])
    for (let n = 0; n < 20; n++) {
      const rotate = (store: Store, sealed: string) =>
        store.rotateSecret('a', SECRET, START + 9, 0, { ...AUDIT, idempotency: { digest: `${n}`, sealed } })
      const results = await Promise.allSettled([rotate(one, 'one'), rotate(other, 'other')])
      const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
      t.match(reasons, [IdempotencyKeyTaken])
      t.equal(reasons.length, 1)
    }
    t.equal((await other.findApplication('a'))?.secrets.length, 21)
  })

  test('both write at once, and nothing is lost', async (t, one, other) => {
    const key = await newKey(one)
    const tokens = Array.from({ length: 200 }, (_, n) => mintToken(key, START + n).stored)
    const writes = tokens.map((token, n) => (n % 2 ? one : other).addToken(token))
    const registrations = Array.from({ length: 20 }, (_, n) => register(n % 2 ? one : other, [application(`a${n}`)]))
    await Promise.all([...writes, ...registrations])
    for (const token of tokens) t.strictSame(await find(one, token.id), token)
    t.equal((await other.listApplications(PAGE)).length, 21)
  })

  test('an id that both register at once is given once', async (t, one, other) => {
    for (let n = 0; n < 10; n++) {
      const id = `a${n}`
      const results = await Promise.all([
        register(one, [application(id)]),
        register(other, [application(id)]),
        one.register({ suites: [suite(id)], applications: [] }, AUDIT).then(({ suites }) => suites),
        other.register({ suites: [suite(id)], applications: [] }, AUDIT).then(({ suites }) => suites),
      ])
      t.equal(results.flat().length, 1)
      t.not((await one.findApplication(id)) === undefined, (await one.findSuite(id)) === undefined)
    }
  })
}

/** A store that cannot keep its promises says so, answers nothing, and goes on when it can. */
function failureConformance(t: Test, { openFragile }: Harness): void {
  const skip = !openFragile && 'it cannot be made to fail here'
  t.test(
    'Failure: every method rejects with StoreUnavailable, changes nothing, and works again later',
    { skip },
    async (t) => {
      const { store, breakDown, recover } = await (openFragile as NonNullable<typeof openFragile>)(t)
      const key = await newKey(store)
      await store.register({ suites: [suite('store')], applications: [] }, AUDIT)
      const token = mintToken(key, START).stored
      await store.addToken(token)
      const before = [await store.listApplications(PAGE), await store.listSuites(PAGE), await store.findToken(token.id)]
      const late = mintToken(key, START).stored

      await breakDown()
      // The moment in which what was just read may still be answered.
      await sleep(10)
      // Of this type, so that a new method cannot be left out.
      const calls: Record<Exclude<keyof Store, 'close' | 'clockOffset' | 'nodes'>, () => Promise<unknown>> = {
        ping: () => store.ping(),
        backlog: () => store.backlog(),
        findApplication: () => store.findApplication('owner'),
        listApplications: () => store.listApplications(PAGE),
        listApprovedApplications: () => store.listApprovedApplications('store', PAGE),
        countApproved: () => store.countApproved(['store'], 1),
        listNames: () => store.listNames(PAGE),
        findSuite: () => store.findSuite('store'),
        listSuites: () => store.listSuites(PAGE),
        mostImportedSecrets: () => store.mostImportedSecrets(),
        register: () => register(store, [application('b')]),
        findNamesakes: () => store.findNamesakes(['Application owner']),
        countApplications: () => store.countApplications(),
        startSecrets: () => store.startSecrets(['owner']),
        updateApplication: () => store.updateApplication('owner', { name: 'Other' }, AUDIT),
        addSecret: () => store.addSecret('owner', SECRET, AUDIT),
        setStatus: () => store.setStatus('owner', 'suspended', AUDIT),
        removeApplication: () => store.removeApplication('owner', AUDIT),
        updateSuite: () => store.updateSuite('store', { name: 'Other' }, AUDIT),
        removeSuite: () => store.removeSuite('store', AUDIT),
        approve: () => store.approve('owner', 'store', AUDIT),
        withdraw: () => store.withdraw('owner', 'store', AUDIT),
        revokeTokens: () => store.revokeTokens('owner', START, AUDIT),
        rotateSecret: () => store.rotateSecret('owner', SECRET, START, START, AUDIT),
        revokeSecret: () => store.revokeSecret('owner', 1, START, AUDIT),
        revokeSpareSecret: () => store.revokeSpareSecret('owner', 1, START, AUDIT),
        findSealedAnswer: () => store.findSealedAnswer('digest', START),
        purgeIdempotencyRecords: () => store.purgeIdempotencyRecords(START, 1),
        findOperator: () => store.findOperator('anna'),
        listOperators: () => store.listOperators(),
        findAdminKey: () => store.findAdminKey('key anna'),
        findSession: () => store.findSession('session anna'),
        findLoginCode: () => store.findLoginCode('code anna'),
        addOperator: () => store.addOperator({ name: 'anna', role: 'admin', createdAt: START }, AUDIT),
        removeOperator: () => store.removeOperator('anna', AUDIT),
        addAdminKey: () => store.addAdminKey('anna', { digest: 'key', createdAt: START, endsAt: START }, AUDIT),
        revokeAdminKey: () => store.revokeAdminKey('anna', 1, START, AUDIT),
        addLoginCode: () => store.addLoginCode('anna', { digest: 'code', createdAt: START, endsAt: START }, AUDIT),
        beginSession: () => store.beginSession('anna', 'code', session('session'), AUDIT),
        endSession: () => store.endSession('anna', 1, AUDIT),
        recordAdminKeyUse: () => store.recordAdminKeyUse(1, START),
        recordSessionUse: () => store.recordSessionUse({ id: 1, lastSeenAt: START, endsAt: START }),
        purgeSignIns: () => store.purgeSignIns(START),
        addToken: () => store.addToken(late),
        findToken: () => store.findToken(token.id),
        revokeToken: () => store.revokeToken(token.id, START),
        purgeTokens: () => store.purgeTokens(firstTokenIdAt(START + 1), 10),
        addTokenCounts: () =>
          store.addTokenCounts([{ applicationKey: key, hour: 1, issued: 1, refused: 0, lastTokenAt: START }]),
        countTokens: () => store.countTokens(key, 1),
        listTokenCounts: () => store.listTokenCounts([key], [1]),
        listApplicationUses: () => store.listApplicationUses([key]),
        listApplicationsOf: () => store.listApplicationsOf([key]),
        lastTokenAt: () => store.lastTokenAt(key),
        recordSecretUses: () => store.recordSecretUses([{ secretId: 1, lastUsedAt: START }]),
        listSecretUses: () => store.listSecretUses([1]),
        purgeTokenCounts: () => store.purgeTokenCounts(1, 1),
        recordRefusals: () => store.recordRefusals([refusal('owner')]),
        listRefusals: () => store.listRefusals('owner'),
        listLastRefused: () => store.listLastRefused(1),
        purgeRefusals: () => store.purgeRefusals(START, 1),
        listAuditEvents: () => store.listAuditEvents({ limit: 1 }),
        purgeAuditEvents: () => store.purgeAuditEvents(START, 1),
        size: () => store.size(),
        oldestTokenAt: () => store.oldestTokenAt(),
        countEndingSecrets: () => store.countEndingSecrets(START, START + 1),
        listEndingSecrets: () => store.listEndingSecrets(START, START + 1, 1),
        countLiveTokens: () => store.countLiveTokens(firstTokenIdAt(START), 1),
        countIssued: () => store.countIssued(1),
        lastBackupAt: () => store.lastBackupAt(),
      }
      const { nodes } = store
      const ofNodes: Record<keyof Nodes, () => Promise<unknown>> | undefined = nodes && {
        record: () => nodes.record(serverNode()),
        list: () => nodes.list(1),
        remove: () => nodes.remove(serverNode().id),
      }
      for (const [name, call] of Object.entries({ ...calls, ...ofNodes }))
        await t.rejects(call(), StoreUnavailable, name)
      const together = await Promise.allSettled([
        store.addToken(late),
        store.addToken(late),
        store.revokeToken(token.id, 1),
      ])
      t.ok(
        together.every(({ status }) => status === 'rejected'),
        'nobody who waits together is left without an answer',
      )

      await recover()
      await until(() => isReady(store))
      const after = [await store.listApplications(PAGE), await store.listSuites(PAGE), await store.findToken(token.id)]
      t.strictSame(after, before)
      t.equal(await store.findToken(late.id), undefined)
      await store.addToken(late)
      t.strictSame(await find(store, late.id), late)
    },
  )
}

/** A disk that does not answer makes nobody wait for long, and takes nothing that was refused. */
function hangingConformance(t: Test, { openHanging }: Harness): void {
  const test = (
    rule: string,
    run: (t: Test, disk: Awaited<ReturnType<NonNullable<typeof openHanging>>>) => Promise<void>,
  ) =>
    t.test(`Hanging disk: ${rule}`, { skip: !openHanging && 'it cannot be made to hang here' }, async (t) => {
      await run(t, await (openHanging as NonNullable<typeof openHanging>)(t))
    })

  test('changes are refused after some seconds, then at once; reads go on', async (t, { store, hang, recover }) => {
    const key = await newKey(store)
    const [known, first, second, third] = [1, 2, 3, 4].map((n) => mintToken(key, START + n).stored) as [
      StoredToken,
      StoredToken,
      StoredToken,
      StoredToken,
    ]
    await store.addToken(known)
    hang()
    const underWay = store.addToken(first)
    await sleep(50)
    const refused = [
      underWay,
      store.addToken(second),
      store.revokeToken(known.id, START),
      store.withdraw('owner', 'a', AUDIT),
    ]
    await Promise.all(refused.map((promise) => t.rejects(promise, StoreUnavailable)))

    await t.rejects(store.ping(), StoreUnavailable)
    await t.rejects(store.backlog(), StoreUnavailable)
    await t.rejects(store.addToken(third), StoreUnavailable)
    await t.rejects(register(store, [application('b')]), StoreUnavailable)
    t.strictSame(await find(store, known.id), known)
    t.equal((await store.findApplication('owner'))?.clientId, 'owner')

    recover()
    await until(() => isReady(store))
    for (const { id } of [second, third]) t.equal(await find(store, id), undefined, 'what was refused is not written')
    t.equal(await store.findApplication('b'), undefined)
    t.strictSame(await find(store, known.id), known)
    await store.addToken(second)
    t.strictSame(await find(store, second.id), second, 'it recovers by itself')
  })

  test('when many wait, more are refused at once and never written', async (t, { store, hang, recover }) => {
    const key = await newKey(store)
    const tokens = Array.from({ length: 3000 }, (_, n) => mintToken(key, START + n).stored)
    hang()
    const refused = new Set<StoredToken>()
    const all = Promise.allSettled(tokens.map((token) => store.addToken(token).catch(() => refused.add(token))))
    await sleep(20)
    const count = refused.size
    t.ok(count > 0 && count < tokens.length)
    recover()
    await all
    t.equal(refused.size, count, 'nobody else is refused')
    for (const token of tokens) t.strictSame(await find(store, token.id), refused.has(token) ? undefined : token)
  })

  test('closing does not wait for it', async (t, { store, hang, recover }) => {
    const token = mintToken(await newKey(store), START).stored
    hang()
    await Promise.all([t.rejects(store.addToken(token), StoreUnavailable), store.close(), store.close()])
    recover()
  })
}
