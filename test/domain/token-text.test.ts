import fc from 'fast-check'
import t from 'tap'
import { firstTokenIdAt, isTokenSecret, mintToken, parseToken } from '../../src/domain/token.ts'

const time = fc.integer({ min: 0, max: 2 ** 48 - 1 })

t.test('Token: any token that was issued is taken apart into its id and its secret', async () => {
  fc.assert(
    fc.property(fc.nat(), time, (applicationId, issuedAt) => {
      const { accessToken, stored } = mintToken(applicationId, issuedAt)
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
      const { id } = mintToken(1, one).stored
      return Buffer.compare(id, firstTokenIdAt(other)) < 0 === one < other
    }),
  )
})
