import type { Test } from 'tap'
import type { NewApplication } from '../../src/issuer/application.ts'
import type { Store } from '../../src/issuer/store.ts'
import { firstTokenIdAt, mintToken } from '../../src/issuer/token.ts'
import { START } from '../world.ts'

const GENERATED = '$sha256$AAAA'
const IMPORTED = '$scrypt$ln=14,r=8,p=5$AAAA$AAAA'

function application(clientId: string, more: Partial<NewApplication> = {}): NewApplication {
  return {
    clientId,
    name: `Application ${clientId}`,
    developerEmail: 'developer@partner.example',
    createdAt: START,
    secret: { digest: GENERATED, createdAt: START },
    uniqueName: false,
    ...more,
  }
}

/** What every store must hold to. `open` gives an empty one, and closes it with the test. */
export function storeConformance(t: Test, open: (t: Test) => Promise<Store>): void {
  t.test('Store: an application is found as it was added', async (t) => {
    const store = await open(t)
    t.equal(await store.findApplication('a'), undefined)
    await store.addApplications([application('a', { name: 'Ünï "quoted" ✓' })])
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
    await store.addApplications([application('b'), application('a')])
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
    t.strictSame(await store.addApplications([first]), [first])
    const twin = application('a', { name: 'Another name' })
    const namesake = application('b', { name: first.name, uniqueName: true })
    const stranger = application('c', { name: first.name, uniqueName: true, developerEmail: 'x@y.example' })
    const allowed = application('d', { name: first.name })
    t.strictSame(await store.addApplications([twin, namesake, stranger, allowed]), [stranger, allowed])
    t.equal((await store.findApplication('a'))?.name, first.name)
    t.equal((await store.findApplication('a'))?.secrets.length, 1)
  })

  t.test('Store: applications are added all or none', async (t) => {
    const store = await open(t)
    const broken = application('b', { name: null as unknown as string })
    await t.rejects(store.addApplications([application('a'), broken]))
    t.strictSame(await store.listApplications(), [])
  })

  t.test('Store: a status is set', async (t) => {
    const store = await open(t)
    await store.addApplications([application('a')])
    t.equal(await store.setStatus('a', 'suspended'), true)
    t.equal((await store.findApplication('a'))?.status, 'suspended')
    t.equal(await store.setStatus('nobody', 'active'), false)
  })

  t.test('Store: an application is removed with its secrets, and its id never comes back', async (t) => {
    const store = await open(t)
    await store.addApplications([application('a', { secret: { digest: IMPORTED, createdAt: START } })])
    const before = await store.findApplication('a')
    t.equal(await store.removeApplication('a'), true)
    t.equal(await store.findApplication('a'), undefined)
    t.equal(await store.hasImportedSecrets(), false)
    t.equal(await store.removeApplication('a'), false)
    await store.addApplications([application('a')])
    t.not((await store.findApplication('a'))?.id, before?.id)
  })

  t.test('Store: tokens are revoked up to a time that only moves on', async (t) => {
    const store = await open(t)
    await store.addApplications([application('a')])
    t.equal(await store.revokeTokens('a', START), true)
    t.equal(await store.revokeTokens('a', START - 1), true)
    t.equal((await store.findApplication('a'))?.tokensValidFrom, START)
    t.equal(await store.revokeTokens('nobody', START), false)
  })

  t.test('Store: a rotation adds a secret, ends the others and forgets those of long ago', async (t) => {
    const store = await open(t)
    await store.addApplications([application('a'), application('b')])
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
    await store.addApplications([application('a'), application('b')])
    const id = (await store.findApplication('a'))?.secrets[0]?.id as number
    t.equal(await store.endSecret('b', id, START), false, "another's secret")
    t.equal(await store.endSecret('a', id, START), true)
    t.equal(await store.endSecret('a', id, START + 1), true)
    t.equal((await store.findApplication('a'))?.secrets[0]?.endsAt, START)
    t.equal(await store.endSecret('a', id + 100, START), false)
  })

  t.test('Store: it knows whether any secret was brought along', async (t) => {
    const store = await open(t)
    await store.addApplications([application('a')])
    t.equal(await store.hasImportedSecrets(), false)
    await store.addApplications([application('b', { secret: { digest: IMPORTED, createdAt: START } })])
    t.equal(await store.hasImportedSecrets(), true)
  })

  t.test('Store: a token is found by its id as it was added', async (t) => {
    const store = await open(t)
    const tokens = Array.from({ length: 50 }, (_, n) => mintToken(n, START + n).stored)
    await Promise.all(tokens.map((token) => store.addToken(token)))
    for (const token of tokens) t.strictSame(await store.findToken(token.id), token)
    t.equal(await store.findToken(mintToken(1, START).stored.id), undefined)
  })

  t.test('Store: a token with an id that is taken is refused and changes nothing', async (t) => {
    const store = await open(t)
    const token = mintToken(1, START).stored
    await store.addToken(token)
    await t.rejects(store.addToken({ ...token, applicationId: 2 }))
    t.strictSame(await store.findToken(token.id), token)
  })

  t.test('Store: the purge takes the oldest tokens before an id, so many at a time', async (t) => {
    const store = await open(t)
    const tokens = Array.from({ length: 5 }, (_, n) => mintToken(1, START + n).stored)
    for (const token of tokens.toReversed()) await store.addToken(token)
    const left = async () => {
      const found = await Promise.all(tokens.map(({ id }) => store.findToken(id)))
      return found.filter((token) => token !== undefined).map(({ issuedAt }) => issuedAt - START)
    }

    t.equal(await store.purgeTokens(firstTokenIdAt(START + 4), 3), 3)
    t.strictSame(await left(), [3, 4])
    t.equal(await store.purgeTokens(firstTokenIdAt(START + 4), 3), 1)
    t.strictSame(await left(), [4])
    t.equal(await store.purgeTokens(firstTokenIdAt(START + 4), 3), 0)
  })

  t.test('Store: it says that it can be read', async (t) => {
    const store = await open(t)
    await t.resolves(store.check())
  })
}
