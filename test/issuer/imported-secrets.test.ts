import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Refusal } from '../../src/domain/refusal.ts'
import { digestImported } from '../../src/domain/secret.ts'
import { createImportedSecrets } from '../../src/issuer/imported-secrets.ts'
import { until } from '../support/until.ts'

t.test('Secrets: an imported one is cached once it was verified, a wrong one never', async (t) => {
  const imported = createImportedSecrets({ cacheCapacity: 2 })
  const secrets = []
  for (let n = 0; n < 3; n++) secrets.push({ digest: await digestImported(`legacy-secret-${n}`) })
  const [first, second, third] = secrets as [{ digest: string }, { digest: string }, { digest: string }]

  t.equal(imported.findVerified([first], 'legacy-secret-0'), undefined)
  t.equal(await imported.verify([first], 'wrong', 'a'), false)
  t.equal(imported.findVerified([first], 'wrong'), undefined)
  t.equal(await imported.verify([first], 'legacy-secret-0', 'a'), true)
  t.equal(imported.findVerified([first], 'legacy-secret-0'), first)
  t.equal(imported.findVerified([first], 'wrong'), undefined)

  t.equal(await imported.verify([second], 'legacy-secret-1', 'a'), true)
  t.equal(await imported.verify([third], 'legacy-secret-2', 'a'), true)
  t.equal(imported.findVerified([first], 'legacy-secret-0'), undefined, 'the cache is bounded: the oldest is dropped')
  t.equal(imported.findVerified([third], 'legacy-secret-2'), third)
})

t.test('Secrets: of several imported ones each is accepted, and they are compared in one turn', async (t) => {
  const imported = createImportedSecrets({ queue: { concurrency: 1, perParty: 0, total: 0 } })
  const [first, second] = [
    { digest: await digestImported('legacy-one') },
    { digest: await digestImported('legacy-two') },
  ]
  t.equal(await imported.verify([first, second], 'wrong', 'a'), false)
  t.equal(await imported.verify([first, second], 'legacy-two', 'a'), true)
  t.equal(imported.findVerified([first, second], 'legacy-two'), second)
  t.equal(imported.findVerified([first, second], 'legacy-one'), undefined)
})

t.test('Secrets: scrypt checks are bounded: two at a time, some waiting, the rest are refused', async (t) => {
  const imported = createImportedSecrets({ queue: { concurrency: 2, perParty: 3, total: 3 } })
  const secret = { digest: await digestImported('legacy-secret-0') }
  const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => imported.verify([secret], 'wrong', 'a')))
  t.strictSame(
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as Refusal).reason)),
    [false, false, false, false, false, ...Array(3).fill('too many imported secrets to check')],
  )
  t.equal(await imported.verify([secret], 'legacy-secret-0', 'a'), true, 'and then others are checked again')
  t.type((outcomes[7] as PromiseRejectedResult).reason, Refusal)
})

t.test('Secrets: where one party floods, another waits for its turn and not for the flood', async (t) => {
  const imported = createImportedSecrets()
  const [target, secret] = [
    { digest: await digestImported('legacy-secret-0') },
    { digest: await digestImported('other') },
  ]
  let refused = 0
  let isFlooding = true
  const flood = async () => {
    while (isFlooding) {
      await imported.verify([target], 'wrong', 'flood').catch(() => refused++)
      await sleep(5)
    }
  }
  const flooding = Array.from({ length: 20 }, flood)
  await until(() => refused > 0)
  const startedAt = performance.now()
  t.equal(await imported.verify([secret], 'other', 'partner'), true)
  t.ok(performance.now() - startedAt < 5000)
  isFlooding = false
  await Promise.all(flooding)
})
