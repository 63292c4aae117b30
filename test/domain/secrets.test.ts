import { crc32 } from 'node:zlib'
import t from 'tap'
import { endOfLinkCode, generateAdminKey, generateLinkCode, isAdminKey } from '../../src/domain/operator.ts'
import {
  DECOY,
  digestGenerated,
  digestImported,
  findGenerated,
  generateSecret,
  importedCandidates,
  isImported,
  matchesImported,
} from '../../src/domain/secret.ts'

const KEY = generateAdminKey()
/** A login code ends with a second. */
const END = Date.UTC(2027, 0, 15, 8, 10, 30)
const CODE = generateLinkCode(END + 999)

const secretOf = (digest: string) => ({ id: 1, digest, createdAt: END, endsAt: null, revokedAt: null, federated: null })

/** A text and each that differs from it in one character, from a place on. */
const misspelt = (text: string, from = 0) =>
  Array.from({ length: text.length - from }, (_, n) => {
    const at = from + n
    return `${text.slice(0, at)}${text[at] === 'x' ? 'y' : 'x'}${text.slice(at + 1)}`
  })

t.test('Secrets: a generated one has 40 characters of [A-Za-z0-9], all equally likely: over 190 bits', async (t) => {
  t.match(generateSecret(), /^[A-Za-z0-9]{40}$/)
  const counts = new Map<string, number>()
  for (let n = 0; n < 2000; n++) {
    for (const character of generateSecret()) counts.set(character, (counts.get(character) ?? 0) + 1)
  }
  t.equal(counts.size, 62)
  const expected = (2000 * 40) / 62
  // Seven standard deviations. With bytes modulo 62, eight characters would be a quarter too frequent.
  const unlikely = [...counts].filter(([, count]) => Math.abs(count - expected) >= 7 * Math.sqrt(expected))
  t.strictSame(unlikely, [])
})

t.test('Secrets: the stored form of a generated one is its SHA-256 and says so', async (t) => {
  const secret = secretOf(digestGenerated('abc'))
  t.equal(secret.digest, '$sha256$ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0')
  t.strictSame([isImported(secret), findGenerated([secret], 'abd')], [false, undefined])
  t.equal(findGenerated([secret], 'abc'), secret)
})

t.test('Secrets: the stored form of an imported one is scrypt with a salt; the decoy costs as much', async (t) => {
  const [digest, again] = await Promise.all([digestImported('legacy-secret-16'), digestImported('legacy-secret-16')])
  t.match(digest, /^\$scrypt\$ln=14,r=8,p=5\$[\w-]{22}\$[\w-]{43}$/)
  t.not(digest, again)
  t.equal(isImported({ digest }), true)
  const matches = [digest, again, DECOY.digest].map((digest) => matchesImported({ digest }, 'legacy-secret-16'))
  t.strictSame(await Promise.all(matches), [true, true, false])
  t.equal(findGenerated([secretOf(digest)], 'legacy-secret-16'), undefined)
  const cost = (form: string) => [form.split('$', 3).join('$'), form.length]
  t.strictSame(cost(DECOY.digest), cost(digest))
})

t.test('Secrets: the imported ones to compare are the unrevoked ones, or else the last one', async (t) => {
  const generated = secretOf(digestGenerated('abc'))
  const [first, second, third] = [1, 2, 3].map((id) => ({ ...secretOf(DECOY.digest), id }))
  const revoked = [first, second, third].map((secret) => ({ ...secret, revokedAt: END }))
  const candidates = (...secrets: unknown[]) => importedCandidates(secrets as never)
  t.strictSame(candidates(generated), [])
  t.strictSame(candidates(generated, first, revoked[1], third), [first, third])
  t.strictSame(candidates(revoked[0], generated), [revoked[0]])
  t.strictSame(candidates(...revoked, generated), [revoked[2]])
})

t.test('Secrets: a stored form with other costs is still understood, an unknown form is an error', async (t) => {
  // The second test vector of RFC 7914 §12 with its hash cut to 32 bytes.
  const hash = 'fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162'
  const [salt, derived] = [Buffer.from('NaCl'), Buffer.from(hash, 'hex')].map((part) => part.toString('base64url'))
  const digest = `$scrypt$ln=10,r=8,p=16$${salt}$${derived}`
  t.equal(await matchesImported({ digest }, 'password'), true)
  t.equal(await matchesImported({ digest }, 'passwort'), false)
  await t.rejects(matchesImported({ digest: '$scrypt$nonsense' }, 'password'), { message: /unknown form/ })
})

t.test('Admin keys: a prefix, 43 random characters, and the base-62 CRC-32 of them with zeros before it', async (t) => {
  t.match(KEY, /^otsa_[A-Za-z0-9]{49}$/)
  t.not(KEY, generateAdminKey())
  t.ok(isAdminKey(`otsa_${'A'.repeat(43)}1BLqQX`), 'its CRC-32 is 1083878949')
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  const numberOf = (text: string) => [...text].reduce((number, digit) => number * 62 + digits.indexOf(digit), 0)
  for (const key of Array.from({ length: 300 }, generateAdminKey)) {
    t.equal(numberOf(key.slice(-6)), crc32(key.slice(0, -6)), key)
  }
})

t.test('Admin keys: a wrong prefix, length, character or checksum is malformed', async (t) => {
  const wrong = [
    ...['', KEY.slice(0, -6), KEY.slice(0, -1), `${KEY}0`, ` ${KEY}`, `${KEY}\n`],
    ...[KEY.replace('otsa_', 'otsb_'), KEY.replace('otsa_', 'OTSA_')],
    ...[`${KEY.slice(0, 20)}-${KEY.slice(21)}`, `${KEY.slice(0, -6)}${'0'.repeat(6)}`, ...misspelt(KEY, 5)],
  ]
  t.strictSame(wrong.filter(isAdminKey), [])
})

t.test('Login codes: a code has its expiry, 32 random characters and a checksum', async (t) => {
  t.match(CODE, /^[A-Za-z0-9]{44}$/)
  t.not(CODE.slice(6, 38), generateLinkCode(END).slice(6, 38))
  t.equal(endOfLinkCode(CODE), END)
  const wrong = ['', CODE.slice(1), `${CODE}0`, ` ${CODE}`, `${CODE}\n`, `${CODE.slice(0, -1)}-`, ...misspelt(CODE)]
  for (const code of wrong) t.equal(endOfLinkCode(code), undefined, code)
})
