import t from 'tap'
import type { Refusal } from '../../src/domain/refusal.ts'
import { authenticate } from '../../src/issuer/authenticate.ts'
import { createImportedSecrets, type ImportedSecrets } from '../../src/issuer/imported-secrets.ts'
import { createSecretUses } from '../../src/issuer/token-counts.ts'
import { failures } from '../support/failures.ts'
import { createWorld } from '../support/world.ts'

t.test(
  'Secrets: an imported one gets a token, the second time from the cache, and the wire shows no difference',
  async (t) => {
    const { post, administration } = await createWorld(t)
    await administration.register({
      name: 'Moved',
      developerEmail: 'a@b.example',
      clientId: 'moved',
      clientSecret: 'legacy+secret%16&',
    })
    const credentials = { grant_type: 'client_credentials', client_id: 'moved', client_secret: 'legacy+secret%16&' }
    t.equal((await post(credentials)).statusCode, 200)
    t.equal((await post(credentials)).statusCode, 200)
    t.equal((await post({ ...credentials, client_secret: 'wrong' })).statusCode, 401)
    await administration.suspend('moved')
    t.equal((await post(credentials)).statusCode, 401, 'the cache does not outlive a suspension')
    await administration.resume('moved')
    const { clientSecret } = await administration.rotateSecret('moved', 0)
    t.equal((await post(credentials)).statusCode, 401, 'nor a rotation')
    t.equal((await post({ ...credentials, client_secret: clientSecret })).statusCode, 200)
  },
)

t.test(
  'Secrets: every refusal costs as many scrypt checks as any application has imported secrets, whoever asks',
  async (t) => {
    const { store, clock, administration, credentials } = await createWorld(t)
    const real = createImportedSecrets()
    let checks = 0
    const imported: ImportedSecrets = {
      ...real,
      verify(...args) {
        checks += args[0].length
        return real.verify(...args)
      },
    }
    const issuer = {
      store,
      imported,
      failures: failures(),
      secretUses: createSecretUses({ store }),
      now: () => clock.time,
    }
    const checksOf = async (clientId: string, clientSecret: string) => {
      checks = 0
      const outcome = authenticate(issuer, { clientId, clientSecret }, '192.0.2.1')
      const answer = await outcome.then(
        () => 'accepted',
        (refusal: Refusal) => refusal.reason,
      )
      return [answer, checks]
    }
    const { client_id, client_secret } = credentials

    t.strictSame(await checksOf('nobody', 'x'), ['unknown client', 0])
    t.strictSame(await checksOf(client_id, 'x'), ['wrong secret', 0])

    await administration.register({
      name: 'A',
      developerEmail: 'a@b.example',
      clientId: 'moved',
      clientSecret: 'legacy-secret',
    })
    t.strictSame(await checksOf('nobody', 'x'), ['unknown client', 1])
    t.strictSame(await checksOf(client_id, 'x'), ['wrong secret', 1])
    t.strictSame(await checksOf('moved', 'x'), ['wrong secret', 1])
    t.strictSame(await checksOf('moved', 'legacy-secret'), ['accepted', 1])
    t.strictSame(await checksOf('moved', 'legacy-secret'), ['accepted', 0])
    t.strictSame(await checksOf(client_id, client_secret as string), ['accepted', 0])

    await administration.addSecret('moved', 'legacy-second')
    t.strictSame(await checksOf('nobody', 'x'), ['unknown client', 2], 'two where an application has two')
    t.strictSame(await checksOf(client_id, 'x'), ['wrong secret', 2])
    t.strictSame(await checksOf('moved', 'x'), ['wrong secret', 2])
    t.strictSame(await checksOf('moved', 'legacy-second'), ['accepted', 2])
    t.strictSame(await checksOf('moved', 'legacy-second'), ['accepted', 0])
    await t.rejects(
      administration.addSecret('moved', 'legacy-third'),
      /moved has 2 imported secrets already \(\d and \d\)/,
    )
    const [first] = await administration.listSecrets('moved')
    await administration.revokeSecret('moved', first?.id as number)
    t.strictSame(await checksOf('moved', 'legacy-secret'), ['revoked secret', 1])
    t.strictSame(await checksOf('nobody', 'x'), ['unknown client', 1])
    t.strictSame(await checksOf('moved', 'legacy-second'), ['accepted', 0])
    await administration.suspend('moved')
    t.strictSame(await checksOf('moved', 'legacy-second'), ['suspended application', 1])
    await administration.suspend(client_id)
    t.strictSame(await checksOf(client_id, client_secret as string), ['suspended application', 1])
  },
)

t.test('Secrets: what another process changes while a check waits is seen', async (t) => {
  const { store, clock, administration } = await createWorld(t)
  const real = createImportedSecrets()
  await administration.register({
    name: 'A',
    developerEmail: 'a@b.example',
    clientId: 'moved',
    clientSecret: 'legacy-secret',
  })
  const imported: ImportedSecrets = {
    ...real,
    async verify(...args) {
      const matched = await real.verify(...args)
      await administration.suspend('moved')
      return matched
    },
  }
  const credentials = { clientId: 'moved', clientSecret: 'legacy-secret' }
  const issuer = {
    store,
    imported,
    failures: failures(),
    secretUses: createSecretUses({ store }),
    now: () => clock.time,
  }
  const refusal = await authenticate(issuer, credentials, '192.0.2.1').catch((error) => error)
  t.match(refusal, { name: 'Error', reason: 'suspended application', clientId: 'moved' })
})
