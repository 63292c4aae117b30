import t, { type Test } from 'tap'
import { Refusal } from '../../src/domain/refusal.ts'
import { DECOY } from '../../src/domain/secret.ts'
import { authenticate } from '../../src/issuer/authenticate.ts'
import { createFederated } from '../../src/issuer/federated.ts'
import { createImportedSecrets, type ImportedSecrets } from '../../src/issuer/imported-secrets.ts'
import { createSecretUses } from '../../src/issuer/token-counts.ts'
import { failures } from '../support/failures.ts'
import { cheapDigest, registerImported } from '../support/imported.ts'
import { on } from '../support/on.ts'
import { createWorld, createWorldOfSuites, createWorldWithFile, START } from '../support/world.ts'

const client = (prefix: string) => ({ prefix, isShared: false, isRegistered: true })
const imported = (secret: string) => ({ digest: cheapDigest(secret) })

/** A world, and how its clients are authenticated where imported secrets are verified like this. */
async function createIssuingWorld(t: Test, verify: (real: ImportedSecrets) => ImportedSecrets['verify']) {
  const world = await createWorld(t)
  const { store, clock } = world
  const real = createImportedSecrets()
  const secretUses = createSecretUses({ store })
  const federated = createFederated({ examine: () => t.fail('There is no JWT.') as never, now: () => clock.time })
  const secrets = { ...real, verify: verify(real) }
  const issuer = { store, imported: secrets, federated, failures: failures(), secretUses, now: () => clock.time }
  const judge = (clientId: string, clientSecret: string, address = '192.0.2.1') =>
    authenticate(issuer, { clientId, clientSecret }, address).then(
      () => 'accepted',
      (refusal: Refusal) => refusal.reason,
    )
  return { ...world, judge }
}

t.test('Secrets: every refusal costs as many scrypt checks as any application has imported secrets', async (t) => {
  let checks = 0
  const { store, administration, credentials, judge } = await createIssuingWorld(t, (real) => (secrets, ...more) => {
    checks += secrets.length
    const own = secrets.filter(({ digest }) => digest !== DECOY.digest)
    return real.verify(own, ...more)
  })
  const checksOf = async (clientId: string, clientSecret: string, address?: string) => {
    checks = 0
    return [await judge(clientId, clientSecret, address), checks]
  }
  const { client_id, client_secret } = credentials
  async function expectOfRefusals(checks: number) {
    t.strictSame(await checksOf('nobody', 'x'), ['unknown client', checks])
    t.strictSame(await checksOf(client_id, 'x'), ['wrong secret', checks])
  }

  await expectOfRefusals(0)
  for (const [n, secret] of ['legacy-secret', 'legacy-second'].entries()) {
    if (n === 0) await registerImported(store, 'moved', secret)
    else await on(store).addSecret('moved', { ...imported(secret), createdAt: START })
    await expectOfRefusals(n + 1)
    t.strictSame(await checksOf('moved', 'x'), ['wrong secret', n + 1])
    t.strictSame(await checksOf('moved', secret), ['accepted', n + 1])
    t.strictSame(await checksOf('moved', secret), ['accepted', 0], 'and is cached')
  }
  t.strictSame(await checksOf(client_id, client_secret), ['accepted', 0])

  const [first] = await administration.listSecrets('moved')
  await administration.revokeSecret('moved', first?.id as number)
  t.strictSame(await checksOf('moved', 'legacy-secret'), ['revoked secret', 1])
  await expectOfRefusals(1)
  t.strictSame(await checksOf('moved', 'legacy-second'), ['accepted', 0])
  for (const [id, secret] of Object.entries({ moved: 'legacy-second', [client_id]: client_secret })) {
    await administration.update(id, { sourceAddresses: ['192.0.2.1'] })
    t.strictSame(await checksOf(id, secret), ['accepted', 0])
    t.strictSame(await checksOf(id, secret, '192.0.2.2'), ['address not allowed', 1])
    t.strictSame(await checksOf(id, 'x', '192.0.2.2'), ['wrong secret', 1])
  }
  for (const [id, secret] of Object.entries({ moved: 'legacy-second', [client_id]: client_secret })) {
    await administration.suspend(id)
    t.strictSame(await checksOf(id, secret), ['suspended application', 1], 'the cache does not outlive a suspension')
  }
})

t.test('Secrets: what another process changes while a check waits is seen', async (t) => {
  const { store, administration, judge } = await createIssuingWorld(t, (real) => async (...args) => {
    const matched = await real.verify(...args)
    await administration.suspend('moved')
    return matched
  })
  await registerImported(store, 'moved', 'legacy-secret')
  t.equal(await judge('moved', 'legacy-secret'), 'suspended application')
})

t.test('Secrets: an imported one is cached once it was verified, a wrong one never', async (t) => {
  // Several are compared in one turn.
  const queue = { concurrency: 1, perParty: 0, total: 0 }
  const { findVerified, verify } = createImportedSecrets({ cacheCapacity: 2, queue })
  const [first, second, third] = [imported('legacy-0'), imported('legacy-1'), imported('legacy-2')]
  t.equal(findVerified([first], 'legacy-0'), undefined)
  t.equal(await verify([first, second], 'wrong', client('a')), false)
  t.equal(findVerified([first], 'wrong'), undefined)
  t.equal(await verify([first], 'legacy-0', client('a')), true)
  t.equal(findVerified([first], 'legacy-0'), first)
  t.equal(findVerified([first], 'wrong'), undefined)

  t.equal(await verify([third, second], 'legacy-1', client('a')), true)
  t.equal(findVerified([third, second], 'legacy-1'), second)
  t.equal(findVerified([third, second], 'legacy-2'), undefined)
  t.equal(await verify([third], 'legacy-2', client('a')), true)
  t.equal(findVerified([first], 'legacy-0'), undefined, 'the cache is bounded: the oldest is dropped')
  t.equal(findVerified([third], 'legacy-2'), third)
})

t.test('Secrets: a presented one is compared with all imported ones, also after a match', async (t) => {
  const compared: string[] = []
  const watched = ['first', 'last'].map((secret) => ({
    get digest() {
      compared.push(secret)
      return cheapDigest(secret)
    },
  }))
  t.equal(await createImportedSecrets().verify(watched, 'first', client('a')), true)
  t.ok(compared.includes('last'))
})

t.test('Secrets: two scrypt checks run and some wait; more are refused, and others are not', async (t) => {
  const { verify, load } = createImportedSecrets()
  const [target, other] = [imported('legacy-secret-0'), imported('other')]
  const checks = Array.from({ length: 8 }, () => verify([target], 'wrong', client('a')))
  const partner = verify([other], 'other', client('partner'))
  t.strictSame(load(), { running: 2, waiting: 5 })
  const outcomes = await Promise.allSettled(checks)
  const said = outcomes.map((one) => (one.status === 'fulfilled' ? one.value : (one.reason as Refusal).reason))
  t.strictSame(said, [...Array(6).fill(false), ...Array(2).fill('too many imported secrets to check')])
  t.type((outcomes[7] as PromiseRejectedResult).reason, Refusal)
  t.equal(await partner, true, 'other parties only wait for their turn')
  t.equal(await verify([target], 'legacy-secret-0', client('a')), true, 'and then others are checked again')
})

t.test('Secrets: unregistered client ids take half of the places of a shared address, and of all', async (t) => {
  const { verify, load } = createImportedSecrets()
  const outcomes: Promise<unknown>[] = []
  function waiting(attempts: number, prefix: string, isRegistered: boolean): number {
    const party = { prefix, isShared: prefix.startsWith('10.'), isRegistered }
    for (let n = 0; n < attempts; n++) outcomes.push(verify([imported('a')], 'a', party).catch(() => {}))
    return load().waiting
  }
  t.equal(waiting(40, '10.0.0.1', false), 16)
  t.equal(waiting(40, '10.0.0.1', true), 32)
  t.equal(waiting(40, '192.0.2.1', false), 32, 'and of all')
  t.equal(waiting(40, '192.0.2.2', true), 36, 'another address has its own')
  t.equal(waiting(40, '10.0.0.2', true), 64)
  await Promise.all(outcomes)
})

t.test('Secrets: when each was last used is known, of applications and of suites', async (t) => {
  const { administration, credentials, post, token, introspect, clock, flushUsage } = await createWorldOfSuites(t)
  const id = credentials.client_id
  const { clientSecret } = await administration.rotateSecret(id, 1000)
  const uses = async (owner: string) => (await administration.listSecrets(owner)).map(({ lastUsedAt }) => lastUsedAt)

  await token()
  await flushUsage()
  t.strictSame(await uses(id), [START, undefined])
  clock.time += 500
  const fresh = { ...credentials, client_secret: clientSecret }
  await post({ ...fresh, token: 'x' }, {}, '/v1/oauth/revoke')
  clock.time += 500
  t.equal((await post({ ...credentials })).statusCode, 401, 'a use is what is accepted')
  await introspect('x')
  t.strictSame(await uses(id), [START, undefined], 'it is stored once a minute')
  await flushUsage()
  t.strictSame(await uses(id), [START, START + 500])
  t.strictSame([await uses('store'), await uses('product-information')], [[START + 1000], [undefined]])
  t.match(await administration.showSuite('store'), { secrets: [{ lastUsedAt: START + 1000 }] })
  t.match(await administration.show(id), { lastTokenAt: START, secrets: [{ lastUsedAt: START }, {}] })
})

t.test('Secrets: a last use that could not be stored is stored later', async (t) => {
  const { administration, credentials, token, introspect, clock, flushUsage, other } = await createWorldWithFile(t)
  await token()
  await introspect('x')
  other.exec("CREATE TRIGGER fails BEFORE INSERT ON secret_uses BEGIN SELECT RAISE(ABORT, 'full'); END")
  const flushed = t.rejects(flushUsage(), { name: 'StoreUnavailable' })
  clock.time += 1000
  await token()
  await flushed
  other.exec('DROP TRIGGER fails')
  await flushUsage()
  t.match(await administration.listSecrets(credentials.client_id), [{ lastUsedAt: START + 1000 }], 'the later one')
  t.match(await administration.listSecrets('store'), [{ lastUsedAt: START }])
})

t.test(
  'Secrets: from where each was last used is known, unless a server of 1.0.0 has stored a later use',
  async (t) => {
    const { administration, credentials, token, introspect, flushUsage, other } = await createWorldWithFile(t)
    await token()
    await introspect('x')
    await flushUsage()
    for (const owner of [credentials.client_id, 'store'])
      t.match(await administration.listSecrets(owner), [{ lastUsedFrom: '127.0.0.1' }])
    other.exec('UPDATE secret_uses SET last_used_at = last_used_at + 1')
    const uses = (await administration.listSecrets('store')).map((secret) => [secret.lastUsedAt, secret.lastUsedFrom])
    t.strictSame(uses, [[START + 1, null]])
  },
)
