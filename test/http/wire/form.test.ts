import fc from 'fast-check'
import t from 'tap'
import { RequestRefused } from '../../../src/domain/refusal.ts'
import { anyText } from '../../support/texts.ts'
import { createWorld } from '../../support/world.ts'

const PATHS = ['/v1/oauth/accesstoken', '/v1/oauth/introspect', '/v1/oauth/revoke']
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

const text = fc.oneof(anyText(0xd7ff), anyText(0x7f))
const field = fc.oneof(fc.constantFrom('__proto__', 'constructor', 'a[b]', 'client_id.b', 'a/~1b'), text)

t.test('RFC 6749 appendix B: any values are decoded, whatever other fields there are', async (t) => {
  const { post, issuer } = await createWorld(t)
  const read: unknown[] = []
  const grant = (credentials: unknown) => {
    read.push(credentials)
    return Promise.reject(new RequestRefused('too many imported secrets to check'))
  }
  Object.assign(issuer, { grant })
  const others = fc.array(fc.tuple(field, text), { maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(text, text, others, async (id, secret, others) => {
      const [clientId, clientSecret] = [`i${id}`, `s${secret}`]
      const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
      await post({ ...Object.fromEntries(others), ...form })
      return JSON.stringify(read.splice(0)) === JSON.stringify([{ clientId, clientSecret, isAssertion: false }])
    }),
    { numRuns: 150 },
  )
})

t.test('Forms: any invalid bytes are refused, and never a server error', async (t) => {
  const { app, lines } = await createWorld(t)
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
    fc.string({ unit: fc.constantFrom(...'&=%+;[]"\\ a0\0é', 'client_id', 'token') }).map((form) => Buffer.from(form)),
  )
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...PATHS), bytes, async (url, payload) => {
      const { statusCode } = await app.inject({ method: 'POST', url, headers: FORM, payload })
      return statusCode === 400 || statusCode === 401
    }),
    { numRuns: 200 },
  )
  t.notMatch(lines.join(''), /request failed/)
})
