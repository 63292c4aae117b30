import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import {
  firstTokenIdAt,
  isOfGeneration,
  isTokenSecret,
  mintToken,
  parseToken,
  tokenIdText,
} from '../../src/domain/token.ts'
import { keyOf } from '../support/world.ts'

const START = 1_800_000_000_000

const time = fc.integer({ min: 0, max: 2 ** 48 - 1 })

t.test('Token: 64 characters of base64url, a UUIDv7 and 32 random bytes, of which only a hash is stored', async (t) => {
  const { accessToken, stored } = mintToken(keyOf(7), START, 3)
  t.match(accessToken, /^[A-Za-z0-9_-]{64}$/)
  const bytes = Buffer.from(accessToken, 'base64url')
  t.strictSame(stored, {
    id: bytes.subarray(0, 16),
    secretHash: createHash('sha256').update(bytes.subarray(16)).digest(),
    applicationKey: keyOf(7),
    generation: 3,
    audience: null,
    issuedAt: START,
    revokedAt: null,
  })
})

t.test('Token: with an audience it has no generation that a program without audiences would accept', async (t) => {
  for (const generation of [0, 3]) {
    const { stored } = mintToken(keyOf(7), START, generation, 'store')
    t.equal(stored.audience, 'store')
    t.ok(stored.generation < 0)
    t.strictSame([isOfGeneration(stored, generation), isOfGeneration(stored, generation + 1)], [true, false])
  }
})

t.test('RFC 9562 §5.7: the id is a UUIDv7 of the time of issue, and tokens sort by it', async (t) => {
  const { id } = mintToken(keyOf(7), START).stored
  t.match(tokenIdText(id), /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.equal(id.readUIntBE(0, 6), START)
  fc.assert(
    fc.property(time, time, (one, other) => {
      const { id } = mintToken(keyOf(1), one).stored
      const isAfter = (time: number) => Buffer.compare(firstTokenIdAt(time), id) < 0
      return isAfter(one) && isAfter(other) === other <= one
    }),
  )
})

t.test('RFC 9562 §5.7, RFC 6749 §10.10: whatever is not the time, the version or the variant is random', async (t) => {
  const lowBits = (bytes: Buffer, at: number, mask: number) => (bytes[at] as number) & mask
  let [versionDiffers, variantDiffers] = [false, false]
  const everZero = Buffer.alloc(48)
  const everOne = Buffer.alloc(48)
  for (let n = 0; n < 200; n++) {
    const bytes = Buffer.from(mintToken(keyOf(1), 0).accessToken, 'base64url')
    if (lowBits(bytes, 6, 0x0f) !== lowBits(bytes, 7, 0x0f)) versionDiffers = true
    if (lowBits(bytes, 8, 0x3f) !== lowBits(bytes, 9, 0x3f)) variantDiffers = true
    for (const [at, byte] of bytes.entries()) {
      everZero[at] = (everZero[at] as number) | ~byte
      everOne[at] = (everOne[at] as number) | byte
    }
  }
  const random = Buffer.concat([Buffer.alloc(6), Buffer.from([0x0f, 0xff, 0x3f]), Buffer.alloc(39, 0xff)])
  const isBoth = everZero.map((zeros, at) => zeros & (everOne[at] as number))
  t.strictSame(isBoth, random, 'bits that are 0 and 1')
  const fixed = Buffer.concat([Buffer.alloc(6), Buffer.from([0x70, 0, 0x80]), Buffer.alloc(39)])
  const isAlwaysOne = everOne.map((ones, at) => ones & ~(everZero[at] as number))
  t.strictSame(isAlwaysOne, fixed, 'bits that are 1 in all')
  t.strictSame([versionDiffers, variantDiffers], [true, true], 'and not what stands beside it')
})

t.test('Token: any that was issued is taken apart into its id and its secret, which no other has', async (t) => {
  fc.assert(
    fc.property(fc.nat(), time, (applicationId, issuedAt) => {
      const { accessToken, stored } = mintToken(keyOf(applicationId), issuedAt)
      const parsed = parseToken(accessToken)
      return parsed?.id.equals(stored.id) === true && isTokenSecret(parsed.secret, stored)
    }),
  )
  t.equal(isTokenSecret(Buffer.alloc(32), mintToken(keyOf(7), START).stored), false)
})

t.test('Token: text that was never issued is not parsed, and no two texts are the same token', async (t) => {
  for (const text of ['', 'x', 'a'.repeat(63), 'a'.repeat(65), `${'a'.repeat(63)}=`, `${'a'.repeat(64)}\n`]) {
    t.equal(parseToken(text), undefined, JSON.stringify(text))
  }
  const text = fc.oneof(
    fc.stringMatching(/^[A-Za-z0-9_-]{62,66}$/),
    fc.string({ unit: fc.constantFrom(...'Aa0-_+/=\n'), minLength: 62, maxLength: 66 }),
  )
  fc.assert(
    fc.property(text, (accessToken) => {
      const parsed = parseToken(accessToken)
      return parsed === undefined || Buffer.concat([parsed.id, parsed.secret]).toString('base64url') === accessToken
    }),
    { numRuns: 500 },
  )
})
