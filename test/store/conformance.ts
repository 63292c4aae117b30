import type { Test } from 'tap'
import type { Application, NewApplication } from '../../src/domain/application.ts'
import type { Store } from '../../src/domain/store.ts'
import type { NewSuite } from '../../src/domain/suite.ts'
import { firstTokenIdAt, mintToken, type StoredToken } from '../../src/domain/token.ts'
import { START } from '../support/world.ts'

const GENERATED = '$sha256$AAAA'
const IMPORTED = '$scrypt$ln=14,r=8,p=5$AAAA$AAAA'

function application(clientId: string, more: Partial<NewApplication> = {}): NewApplication {
  return {
    clientId,
    name: `Application ${clientId}`,
    developerEmail: 'developer@partner.example',
    createdAt: START,
    secret: { digest: GENERATED, createdAt: START },
    suites: [],
    uniqueName: false,
    ...more,
  }
}

function suite(suiteId: string): NewSuite {
  return { suiteId, name: `Suite ${suiteId}`, createdAt: START, secret: { digest: GENERATED, createdAt: START } }
}

async function register(store: Store, applications: NewApplication[]) {
  return (await store.register({ suites: [], applications })).applications
}

async function find(store: Store, id: Buffer): Promise<StoredToken | undefined> {
  return (await store.findToken(id))?.stored
}

/** What every store must hold to. `open` gives an empty one, and closes it with the test. */
export function storeConformance(t: Test, open: (t: Test) => Promise<Store>): void {
  t.test('Store: an application is found as it was added', async (t) => {
    const store = await open(t)
    t.equal(await store.findApplication('a'), undefined)
    await register(store, [application('a', { name: 'Ünï "quoted" ✓' })])
    t.match(await store.findApplication('a'), {
      clientId: 'a',
      name: 'Ünï "quoted" ✓',
      developerEmail: 'developer@partner.example',
      status: 'active',
      tokensValidFrom: 0,
      createdAt: START,
      secrets: [{ digest: GENERATED, createdAt: START, endsAt: null }],
    })
    t.equal(await store.findApplication('A'), undefined, 'a client id is compared byte by byte')
  })

  t.test('Store: applications are listed with their secrets, oldest first', async (t) => {
    const store = await open(t)
    t.strictSame(await store.listApplications(), [])
    await register(store, [application('b'), application('a')])
    const listed = await store.listApplications()
    t.strictSame(
      listed.map(({ clientId }) => clientId),
      ['b', 'a'],
    )
    t.strictSame(listed[1], await store.findApplication('a'))
  })

  t.test('Store: applications that are there already are left as they are', async (t) => {
    const store = await open(t)
    const first = application('a')
    t.strictSame(await register(store, [first]), [first])
    const twin = application('a', { name: 'Another name' })
    const namesake = application('b', { name: first.name, uniqueName: true })
    const stranger = application('c', { name: first.name, uniqueName: true, developerEmail: 'x@y.example' })
    const allowed = application('d', { name: first.name })
    t.strictSame(await register(store, [twin, namesake, stranger, allowed]), [stranger, allowed])
    t.equal((await store.findApplication('a'))?.name, first.name)
    t.equal((await store.findApplication('a'))?.secrets.length, 1)
  })

  t.test('Store: applications are added all or none', async (t) => {
    const store = await open(t)
    const broken = application('b', { name: null as unknown as string })
    await t.rejects(register(store, [application('a'), broken]))
    t.strictSame(await store.listApplications(), [])
  })

  t.test('Store: a status is set', async (t) => {
    const store = await open(t)
    await register(store, [application('a')])
    t.equal(await store.setStatus('a', 'suspended'), true)
    t.equal((await store.findApplication('a'))?.status, 'suspended')
    t.equal(await store.setStatus('nobody', 'active'), false)
  })

  t.test('Store: an application is removed with its secrets, and its id never comes back', async (t) => {
    const store = await open(t)
    await register(store, [application('a', { secret: { digest: IMPORTED, createdAt: START } })])
    const before = await store.findApplication('a')
    t.equal(await store.removeApplication('a'), true)
    t.equal(await store.findApplication('a'), undefined)
    t.equal(await store.hasImportedSecrets(), false)
    t.equal(await store.removeApplication('a'), false)
    await register(store, [application('a')])
    t.not((await store.findApplication('a'))?.id, before?.id)
  })

  t.test('Store: tokens are revoked up to a time that only moves on', async (t) => {
    const store = await open(t)
    await register(store, [application('a')])
    t.equal(await store.revokeTokens('a', START), true)
    t.equal(await store.revokeTokens('a', START - 1), true)
    t.equal((await store.findApplication('a'))?.tokensValidFrom, START)
    t.equal(await store.revokeTokens('nobody', START), false)
  })

  t.test('Store: a rotation adds a secret, ends the others and forgets those of long ago', async (t) => {
    const store = await open(t)
    await register(store, [application('a'), application('b')])
    const ends = async () => (await store.findApplication('a'))?.secrets.map(({ endsAt }) => endsAt)

    const second = { digest: '$sha256$BBBB', createdAt: START + 1 }
    t.equal(await store.rotateSecret('a', second, START + 100, START), true)
    t.strictSame(await ends(), [START + 100, null])
    t.equal(await store.rotateSecret('a', second, START + 200, START), true)
    t.strictSame(await ends(), [START + 100, START + 200, null], 'an end never moves away')
    t.equal(await store.rotateSecret('a', second, START + 150, START + 101), true)
    t.strictSame(await ends(), [START + 150, START + 150, null], 'the first was forgotten')
    t.equal((await store.findApplication('b'))?.secrets[0]?.endsAt, null)
    t.equal(await store.rotateSecret('nobody', second, START, START), false)
  })

  t.test('Store: one secret of one application is ended', async (t) => {
    const store = await open(t)
    await register(store, [application('a'), application('b')])
    const id = (await store.findApplication('a'))?.secrets[0]?.id as number
    t.equal(await store.endSecret('b', id, START), false, "another's secret")
    t.equal(await store.endSecret('a', id, START), true)
    t.equal(await store.endSecret('a', id, START + 1), true)
    t.equal((await store.findApplication('a'))?.secrets[0]?.endsAt, START)
    t.equal(await store.endSecret('a', id + 100, START), false)
  })

  t.test('Store: it knows whether any secret was brought along', async (t) => {
    const store = await open(t)
    await register(store, [application('a')])
    t.equal(await store.hasImportedSecrets(), false)
    await register(store, [application('b', { secret: { digest: IMPORTED, createdAt: START } })])
    t.equal(await store.hasImportedSecrets(), true)
  })

  t.test('Store: a suite is found as it was added, listed oldest first, and removed with its secrets', async (t) => {
    const store = await open(t)
    t.equal(await store.findSuite('store'), undefined)
    t.strictSame(await store.listSuites(), [])
    const [first, second] = [suite('store'), suite('product-information')]
    t.strictSame(await store.register({ suites: [first, second], applications: [] }), {
      suites: [first, second],
      applications: [],
    })
    t.match(await store.findSuite('store'), {
      suiteId: 'store',
      name: 'Suite store',
      createdAt: START,
      secrets: [{ digest: GENERATED, createdAt: START, endsAt: null }],
    })
    t.strictSame((await store.listSuites())[0], await store.findSuite('store'))
    t.strictSame(
      (await store.listSuites()).map(({ suiteId }) => suiteId),
      ['store', 'product-information'],
    )
    t.equal(await store.removeSuite('store'), true)
    t.equal(await store.removeSuite('store'), false)
    t.equal(await store.findSuite('store'), undefined)
  })

  t.test('RFC 6749 §2.2: an id is unique, among applications and suites together', async (t) => {
    const store = await open(t)
    await store.register({ suites: [suite('a')], applications: [application('b')] })
    const none = { suites: [], applications: [] }
    t.strictSame(await store.register({ suites: [suite('a'), suite('b')], applications: [application('a')] }), none)
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
    await store.register({ suites, applications })
    const suitesOf = async (clientId: string) => (await store.findApplication(clientId))?.suites
    t.strictSame(await suitesOf('none'), [])
    t.strictSame(await suitesOf('one'), ['store'])
    t.strictSame(await suitesOf('all'), ['store', 'product-information'])

    await store.approve('none', 'store')
    await store.approve('none', 'store')
    await store.approve('none', 'nowhere')
    await store.approve('nobody', 'store')
    t.strictSame(await suitesOf('none'), ['store'])
    await store.withdraw('all', 'store')
    await store.withdraw('all', 'nowhere')
    t.strictSame(await suitesOf('all'), ['product-information'])
    await store.removeSuite('store')
    t.strictSame(await suitesOf('none'), [])
  })

  t.test(
    'Store: a token is found with the application that it was issued to, for as long as there is one',
    async (t) => {
      const store = await open(t)
      await register(store, [application('a'), application('b')])
      const owner = (await store.findApplication('b')) as Application
      const [token, orphan] = [mintToken(owner.id, START).stored, mintToken(99, START).stored]
      await Promise.all([store.addToken(token), store.addToken(orphan)])
      t.strictSame(await store.findToken(token.id), { stored: token, application: owner })
      t.strictSame(await store.findToken(orphan.id), { stored: orphan, application: undefined })
      await store.removeApplication('b')
      t.strictSame(await store.findToken(token.id), { stored: token, application: undefined })
    },
  )

  t.test("Store: a suite's secrets are rotated and ended as an application's are", async (t) => {
    const store = await open(t)
    await store.register({ suites: [suite('store')], applications: [application('a')] })
    const secret = { digest: '$sha256$BBBB', createdAt: START + 1 }
    t.equal(await store.rotateSecret('store', secret, START + 100, START), true)
    const [first, second] = (await store.findSuite('store'))?.secrets ?? []
    t.match([first, second], [{ endsAt: START + 100 }, { digest: secret.digest, endsAt: null }])
    t.equal(await store.endSecret('store', second?.id as number, START + 200), true)
    t.equal(await store.endSecret('a', second?.id as number, START), false)
    t.equal(await store.rotateSecret('store', secret, START + 300, START + 101), true)
    t.strictSame(
      (await store.findSuite('store'))?.secrets.map(({ endsAt }) => endsAt),
      [START + 200, null],
    )
    t.equal((await store.findApplication('a'))?.secrets[0]?.endsAt, null)
  })

  t.test('Store: a revoked token is marked with the time of its first revocation, and no other', async (t) => {
    const store = await open(t)
    const [one, other] = [mintToken(1, START).stored, mintToken(1, START).stored]
    await Promise.all([store.addToken(one), store.addToken(other)])
    t.strictSame(await find(store, one.id), one)
    await store.revokeToken(one.id, START + 1)
    await store.revokeToken(one.id, START + 2)
    t.strictSame(await find(store, one.id), { ...one, revokedAt: START + 1 })
    t.strictSame(await find(store, other.id), other)
  })

  t.test('Store: a token is found by its id as it was added', async (t) => {
    const store = await open(t)
    const tokens = Array.from({ length: 50 }, (_, n) => mintToken(n, START + n).stored)
    await Promise.all(tokens.map((token) => store.addToken(token)))
    for (const token of tokens) t.strictSame(await find(store, token.id), token)
    t.equal(await store.findToken(mintToken(1, START).stored.id), undefined)
  })

  t.test('Store: a token with an id that is taken is refused and changes nothing', async (t) => {
    const store = await open(t)
    const token = mintToken(1, START).stored
    await store.addToken(token)
    await t.rejects(store.addToken({ ...token, applicationId: 2 }))
    t.strictSame(await find(store, token.id), token)
  })

  t.test('Store: the purge takes the oldest tokens before an id, so many at a time', async (t) => {
    const store = await open(t)
    const tokens = Array.from({ length: 5 }, (_, n) => mintToken(1, START + n).stored)
    for (const token of tokens.toReversed()) await store.addToken(token)
    const left = async (numbers: number[]) => {
      const found = await Promise.all(numbers.map((n) => find(store, (tokens[n] as StoredToken).id)))
      return found.filter((token) => token !== undefined).map(({ issuedAt }) => issuedAt - START)
    }

    t.equal(await store.purgeTokens(firstTokenIdAt(START + 4), 3), 3)
    t.strictSame(await left([0, 1, 2, 4]), [4])
    t.equal(await store.purgeTokens(firstTokenIdAt(START + 4), 3), 1)
    t.strictSame(await left([3, 4]), [4])
    t.equal(await store.purgeTokens(firstTokenIdAt(START + 4), 3), 0)
  })

  t.test('Store: it says that it can be read', async (t) => {
    const store = await open(t)
    await t.resolves(store.check())
  })
}
