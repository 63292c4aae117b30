import fc from 'fast-check'
import t from 'tap'
import { firstTokenIdAt, isTokenSecret, mintToken, parseToken } from '../../src/domain/token.ts'
import { keyOf } from '../support/keys.ts'

const time = fc.integer({ min: 0, max: 2 ** 48 - 1 })

t.test('Token: any token that was issued is taken apart into its id and its secret', async () => {
  fc.assert(
    fc.property(fc.nat(), time, (applicationId, issuedAt) => {
      const { accessToken, stored } = mintToken(keyOf(applicationId), issuedAt)
      const parsed = parseToken(accessToken)
      return parsed?.id.equals(stored.id) === true && isTokenSecret(parsed.secret, stored)
    }),
  )
})

t.test('Token: no two texts are the same token', async () => {
  const text = fc.oneof(
    fc.string(),
    fc.stringMatching(/^[A-Za-z0-9_-]{62,66}$/),
    fc.string({ unit: fc.constantFrom(...'Aa0-_+/=\n'), minLength: 62, maxLength: 66 }),
  )
  fc.assert(
    fc.property(text, (accessToken) => {
      const parsed = parseToken(accessToken)
      return parsed === undefined || Buffer.concat([parsed.id, parsed.secret]).toString('base64url') === accessToken
    }),
    { numRuns: 1000 },
  )
})

t.test('RFC 9562 §5.7: tokens sort by the time of issue, whatever it is', async () => {
  fc.assert(
    fc.property(time, time, (one, other) => {
      const { id } = mintToken(keyOf(1), one).stored
      return Buffer.compare(id, firstTokenIdAt(other)) < 0 === one < other
    }),
  )
})

t.test('RFC 9562 §5.7: whatever is not the time, the version or the variant is random', async (t) => {
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
  const fixed = Buffer.alloc(48)
  fixed[6] = 0x70
  fixed[8] = 0x80
  for (let at = 0; at < 48; at++) {
    const both = (everZero[at] as number) & (everOne[at] as number)
    t.strictSame([both, (everOne[at] as number) & ~both], [random[at], fixed[at]], `byte ${at}`)
  }
  t.strictSame([versionDiffers, variantDiffers], [true, true], 'and not what stands beside it')
})
