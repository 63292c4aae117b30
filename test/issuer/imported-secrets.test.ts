import t from 'tap'
import { Refusal } from '../../src/domain/refusal.ts'
import { digestImported } from '../../src/domain/secret.ts'
import { createImportedSecrets } from '../../src/issuer/imported-secrets.ts'

t.test('Secrets: an imported one is cached once it was verified, a wrong one never', async (t) => {
  const imported = createImportedSecrets({ cacheCapacity: 2 })
  const secrets = []
  for (let n = 0; n < 3; n++) secrets.push({ digest: await digestImported(`legacy-secret-${n}`) })
  const [first, second, third] = secrets as [{ digest: string }, { digest: string }, { digest: string }]

  t.equal(imported.isVerified(first, 'legacy-secret-0'), false)
  t.equal(await imported.verify(first, 'wrong'), false)
  t.equal(imported.isVerified(first, 'wrong'), false)
  t.equal(await imported.verify(first, 'legacy-secret-0'), true)
  t.equal(imported.isVerified(first, 'legacy-secret-0'), true)
  t.equal(imported.isVerified(first, 'wrong'), false)

  t.equal(await imported.verify(second, 'legacy-secret-1'), true)
  t.equal(await imported.verify(third, 'legacy-secret-2'), true)
  t.equal(imported.isVerified(first, 'legacy-secret-0'), false, 'the cache is bounded: the oldest is dropped')
  t.equal(imported.isVerified(third, 'legacy-secret-2'), true)
})

t.test('Secrets: scrypt checks are bounded: two at a time, some waiting, the rest are refused', async (t) => {
  const imported = createImportedSecrets({ queueCapacity: 3 })
  const secret = { digest: await digestImported('legacy-secret-0') }
  const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => imported.verify(secret, 'wrong')))
  t.strictSame(
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as Refusal).reason)),
    [false, false, false, false, false, ...Array(3).fill('too many imported secrets to check')],
  )
  t.equal(await imported.verify(secret, 'legacy-secret-0'), true, 'and then others are checked again')
  t.type((outcomes[7] as PromiseRejectedResult).reason, Refusal)
})
