import t from 'tap'
import {
  DECOY,
  digestGenerated,
  digestImported,
  findGenerated,
  generateSecret,
  isImported,
  matchesImported,
} from '../../src/domain/secret.ts'
import { START } from '../support/world.ts'

t.test('Secrets: a generated one has 40 characters of [A-Za-z0-9], more than 190 bits', async (t) => {
  t.match(generateSecret(), /^[A-Za-z0-9]{40}$/)
  t.not(generateSecret(), generateSecret())
})

t.test('Secrets: the stored form of a generated one is its SHA-256 and says so', async (t) => {
  const digest = digestGenerated('abc')
  t.equal(digest, '$sha256$ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0')
  const secret = { id: 1, digest, createdAt: START, endsAt: null, revokedAt: null }
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
  t.equal(
    findGenerated([{ id: 1, digest, createdAt: START, endsAt: null, revokedAt: null }], 'legacy-secret-16'),
    undefined,
  )
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

t.test('Secrets: the decoy costs what an imported secret costs', async (t) => {
  const cost = (digest: string) => digest.split('$', 3).join('$')
  t.equal(cost(DECOY.digest), cost(await digestImported('legacy-secret-16')))
  t.equal(DECOY.digest.length, (await digestImported('legacy-secret-16')).length)
  t.equal(await matchesImported(DECOY, 'legacy-secret-16'), false)
})
