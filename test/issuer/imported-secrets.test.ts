import t from 'tap'
import { Refusal } from '../../src/domain/refusal.ts'
import {
  digestGenerated,
  digestImported,
  findGenerated,
  generateSecret,
  isImported,
  matchesImported,
} from '../../src/domain/secret.ts'
import { createImportedSecrets } from '../../src/issuer/imported-secrets.ts'
import { START } from '../support/world.ts'

t.test('Secrets: a generated one has 40 characters of [A-Za-z0-9], more than 190 bits', async (t) => {
  t.match(generateSecret(), /^[A-Za-z0-9]{40}$/)
  t.not(generateSecret(), generateSecret())
})

t.test('Secrets: the stored form of a generated one is its SHA-256 and says so', async (t) => {
  const digest = digestGenerated('abc')
  t.equal(digest, '$sha256$ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0')
  const secret = { id: 1, digest, createdAt: START, endsAt: null }
  t.equal(isImported(secret), false)
  t.equal(findGenerated([secret], 'abc'), secret)
  t.equal(findGenerated([secret], 'abd'), undefined)
})

t.test('Secrets: the stored form of an imported one is scrypt with its own salt and says so', async (t) => {
  const [digest, again] = [await digestImported('legacy-secret-16'), await digestImported('legacy-secret-16')]
  t.match(digest, /^\$scrypt\$ln=14,r=8,p=5\$[\w-]{22}\$[\w-]{43}$/)
  t.not(digest, again)
  t.equal(isImported({ digest }), true)
  t.equal(await matchesImported({ digest }, 'legacy-secret-16'), true)
  t.equal(await matchesImported({ digest }, 'legacy-secret-17'), false)
  t.equal(findGenerated([{ id: 1, digest, createdAt: START, endsAt: null }], 'legacy-secret-16'), undefined)
})

t.test('Secrets: a stored form with other costs is still understood, an unknown form is an error', async (t) => {
  // The second test vector of RFC 7914 §12 with its hash cut to 32 bytes would need N = 1024, r = 8, p = 16.
  const salt = Buffer.from('NaCl').toString('base64url')
  const hash = Buffer.from('fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162', 'hex').toString(
    'base64url',
  )
  t.equal(await matchesImported({ digest: `$scrypt$ln=10,r=8,p=16$${salt}$${hash}` }, 'password'), true)
  await t.rejects(matchesImported({ digest: '$scrypt$nonsense' }, 'password'), { message: /unknown form/ })
})

t.test('Secrets: an imported one is remembered once it was verified, a wrong one never', async (t) => {
  const imported = createImportedSecrets({ remembered: 2 })
  const secrets = []
  for (let n = 0; n < 3; n++) secrets.push({ digest: await digestImported(`legacy-secret-${n}`) })
  const [first, second, third] = secrets as [{ digest: string }, { digest: string }, { digest: string }]

  t.equal(imported.remembers(first, 'legacy-secret-0'), false)
  t.equal(await imported.matches(first, 'wrong'), false)
  t.equal(imported.remembers(first, 'wrong'), false)
  t.equal(await imported.matches(first, 'legacy-secret-0'), true)
  t.equal(imported.remembers(first, 'legacy-secret-0'), true)
  t.equal(imported.remembers(first, 'wrong'), false)

  t.equal(await imported.matches(second, 'legacy-secret-1'), true)
  t.equal(await imported.matches(third, 'legacy-secret-2'), true)
  t.equal(imported.remembers(first, 'legacy-secret-0'), false, 'the memory is bounded: the oldest goes')
  t.equal(imported.remembers(third, 'legacy-secret-2'), true)
})

t.test('Secrets: scrypt checks are bounded: two at once, some waiting, the rest is told to come again', async (t) => {
  const imported = createImportedSecrets({ waiting: 3 })
  const secret = { digest: await digestImported('legacy-secret-0') }
  const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => imported.matches(secret, 'wrong')))
  t.strictSame(
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as Refusal).code)),
    [false, false, false, false, false, ...Array(3).fill('temporarily_unavailable')],
  )
  t.equal(await imported.matches(secret, 'legacy-secret-0'), true, 'and then there is room again')
  t.type((outcomes[7] as PromiseRejectedResult).reason, Refusal)
})
