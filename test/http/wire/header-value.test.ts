import { validateHeaderValue } from 'node:http'
import fc from 'fast-check'
import t from 'tap'
import { headerValue } from '../../../src/http/wire/header-value.ts'

t.test('RFC 9110 §5.5: printable ASCII stays as it is, the rest is percent-encoded UTF-8', async (t) => {
  t.equal(headerValue('client-1@partner.example'), 'client-1@partner.example')
  t.equal(headerValue('Störe ✓ 100 %'), 'St%C3%B6re%20%E2%9C%93%20100%20%25')
  t.equal(headerValue('a\r\nb: c'), 'a%0D%0Ab:%20c')
})

t.test('RFC 3986 §2.1: any text becomes a legal header value, and decodeURIComponent gives it back', async () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary-ascii' })), (text) => {
      const value = headerValue(text)
      validateHeaderValue('x-application-name', value)
      return /^[\x21-\x7e]*$/.test(value) && decodeURIComponent(value) === text
    }),
    { numRuns: 1000 },
  )
})
