import formbody from '@fastify/formbody'
import fc from 'fast-check'
import fastify from 'fastify'
import t, { type Test } from 'tap'
import { formSchema } from '../../../src/http/wire/form.ts'
import { anyText } from '../../support/texts.ts'
import { createWorld } from '../../support/world.ts'

const PATHS = ['/v1/oauth/accesstoken', '/v1/oauth/introspect', '/v1/oauth/revoke']
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** An endpoint that tells what it read of a form. */
async function createEcho(t: Test) {
  const app = fastify({
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
  })
  app.removeAllContentTypeParsers()
  await app.register(formbody)
  app.post('/', { schema: { body: formSchema([]) } }, async (request) => Object.entries(request.body as object))
  t.teardown(() => app.close())
  return (payload: string | Buffer) => app.inject({ method: 'POST', url: '/', headers: FORM, payload })
}

const text = anyText(0xd7ff)
const field = fc.oneof(fc.constantFrom('grant_type', '__proto__', 'constructor', 'a[b]', 'a.b', 'a/~1b'), text)

t.test('RFC 6749 appendix B: any fields come back as they were encoded', async (t) => {
  const echo = await createEcho(t)
  const fields = fc.uniqueArray(fc.tuple(field, text), { selector: ([name]) => name, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(fields, async (sent) => {
      const read = (await echo(new URLSearchParams(sent).toString())).json()
      const sorted = (pairs: string[][]) => JSON.stringify(pairs.toSorted())
      return sorted(read) === sorted(sent)
    }),
    { numRuns: 150 },
  )
})

t.test('Forms: whatever bytes a stranger sends, it is a refusal and no failure', async (t) => {
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
