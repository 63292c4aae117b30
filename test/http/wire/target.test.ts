import fc from 'fast-check'
import t from 'tap'
import { withoutForeignPath } from '../../../src/http/verify.ts'
import { pathOf, shownPath } from '../../../src/http/wire/request.ts'
import { originForm } from '../../../src/listener/pipeline.ts'
import { listening, tokenRequest } from '../../support/listening.ts'
import { anyText } from '../../support/texts.ts'
import { createWorld } from '../../support/world.ts'

/** The targets that Node.js accepts: without spaces and control characters. */
const targetText = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)) })
const suite = fc.stringMatching(/^[A-Za-z0-9._~-]{0,20}$/)
const VERIFY = '/v1/oauth/verify'

t.test('RFC 9112 §3.2.2: a whole URL is read as its path and query, and a path stays as it is', async () => {
  const authority = fc.stringMatching(/^[A-Za-z0-9.:@[\]-]{0,30}$/)
  fc.assert(
    fc.property(fc.constantFrom('http', 'https', 'HTTP', 'Https'), authority, targetText, (scheme, host, rest) => {
      const target = `/${rest}`
      return (
        originForm(target) === target &&
        originForm(`${scheme}://${host}${target}`) === target &&
        originForm(`${scheme}://${host}?${rest}`) === `?${rest}`
      )
    }),
  )
})

t.test('Verify: the path after the suite is removed, and no other target is changed', async (t) => {
  t.equal(withoutForeignPath(VERIFY), VERIFY)
  t.equal(withoutForeignPath(`${VERIFY}er/store?a`), `${VERIFY}er/store?a`)
  fc.assert(
    fc.property(suite, fc.constantFrom('/', '?', '#'), targetText, (suiteId, separator, rest) => {
      const withSuite = `${VERIFY}/${suiteId}`
      return (
        withoutForeignPath(withSuite + separator + rest) === withSuite &&
        (separator === '/' || withoutForeignPath(VERIFY + separator + rest) === VERIFY)
      )
    }),
  )
  const near = fc.tuple(fc.constantFrom(VERIFY, '/v1/oauth/verif', '/V1/oauth/verify', ''), targetText)
  fc.assert(
    fc.property(near, ([start, rest]) => {
      const target = start + rest
      const kept = withoutForeignPath(target)
      const isVerify = /^\/v1\/oauth\/verify($|[/?#])/.test(target)
      return target.startsWith(kept) && withoutForeignPath(kept) === kept && (isVerify || kept === target)
    }),
    { numRuns: 500 },
  )
})

t.test('Targets: the path of any target is decoded if possible, and has no query', async () => {
  fc.assert(
    fc.property(anyText(0xd7ff), targetText, (path, query) => {
      return pathOf(encodeURIComponent(path)) === path && pathOf(`${encodeURIComponent(path)}?${query}`) === path
    }),
  )
  fc.assert(
    fc.property(targetText, (target) => {
      const path = pathOf(target)
      return !/[?#]/.test(target) && !target.includes('%') ? path === target : typeof path === 'string'
    }),
  )
})

t.test('Targets: any target gets an answer, and a refusal if it has a fragment', async (t) => {
  const { app, lines, credentials } = await createWorld(t)
  const { exchange } = await listening(t, app)
  const [first = '', rest = ''] = tokenRequest(credentials, 'Connection: close').split(/(?<=\r\n)(.*)/s)
  const start = fc.constantFrom('/', VERIFY, '/v1/oauth/accesstoken', '/health/live', '/v1/%', 'http://a', '')
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('GET', 'POST', 'QUERY'), start, targetText, async (method, prefix, suffix) => {
      const target = prefix + suffix
      const answer = await exchange(first.replace(/^POST \S+/, () => `${method} ${target}`) + rest)
      // The path of a gateway check may be malformed.
      const isRefused = target.includes('#') && !/^(https?:\/\/[^/?#]*)?\/v1\/oauth\/verify([/?#]|$)/i.test(target)
      return isRefused ? /^HTTP\/1\.1 400 /.test(answer) : /^HTTP\/1\.1 [24]\d\d /.test(answer)
    }),
    { numRuns: 120, examples: [['GET', '/', '#%']] },
  )
  t.notMatch(lines.join(''), /request failed/)
  t.match(lines.join(''), /"reason":"fragment in the address"/)
  t.match(await exchange('GET /health/live HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /, 'RFC 9112 §3.2: without a Host')
})

t.test('Targets: the log gets only words of a path, at most 150 characters', async () => {
  const segment = fc.oneof(fc.stringMatching(/^[A-Za-z0-9_-]{22,64}$/), targetText, fc.constantFrom('v1', 'oauth', ''))
  fc.assert(
    fc.property(fc.array(segment, { maxLength: 12 }), (segments) => {
      const shown = shownPath(`/${segments.join('/')}`)
      return shown.length <= 168 && !/[?#]|[^/]{22}/.test(shown) && /^[/\w.*-]*$/.test(shown)
    }),
    { numRuns: 500 },
  )
})
