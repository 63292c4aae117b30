import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import t from 'tap'
import { originForm, pathOf, shownPath, withoutForeignPath } from '../../../src/http/wire/target.ts'
import { listening } from '../../support/listening.ts'
import { createWorld } from '../../support/world.ts'

/** What Node.js lets through as a target: no space, no control character. */
const targetText = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)) })
const suite = fc.stringMatching(/^[A-Za-z0-9._~-]{0,20}$/)

t.test('RFC 9112 §3.2.2: the whole address is read as its path and query, and a path stays as it is', async () => {
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

t.test('Verify: what stands behind the suite is left out, whatever it is', async () => {
  fc.assert(
    fc.property(suite, fc.constantFrom('/', '?', '#'), targetText, (suiteId, separator, rest) => {
      return withoutForeignPath(`/v1/oauth/verify/${suiteId}${separator}${rest}`) === `/v1/oauth/verify/${suiteId}`
    }),
  )
  fc.assert(
    fc.property(fc.constantFrom('?', '#'), targetText, (separator, rest) => {
      return withoutForeignPath(`/v1/oauth/verify${separator}${rest}`) === '/v1/oauth/verify'
    }),
  )
})

t.test('Verify: no other target is touched, and none twice', async () => {
  const near = fc.tuple(fc.constantFrom('/v1/oauth/verify', '/v1/oauth/verif', '/V1/oauth/verify', ''), targetText)
  fc.assert(
    fc.property(near, ([start, rest]) => {
      const target = start + rest
      const kept = withoutForeignPath(target)
      const isVerify = /^\/v1\/oauth\/verify($|[/?#])/.test(target)
      return target.startsWith(kept) && withoutForeignPath(kept) === kept && (isVerify || kept === target)
    }),
    { numRuns: 1000 },
  )
})

t.test('Targets: the path of any target that was encoded comes back, without the query', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), targetText, (path, query) => {
      return pathOf(encodeURIComponent(path)) === path && pathOf(`${encodeURIComponent(path)}?${query}`) === path
    }),
  )
})

t.test('Targets: whatever a stranger asks for, it is an answer and no failure', async (t) => {
  const { app, lines } = await createWorld(t)
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))
  // A fragment is never part of a target (RFC 9112 §3.2).
  const rest = targetText.map((target) => target.replaceAll('#', ''))
  const start = fc.constantFrom('/', '/v1/oauth/verify', '/v1/oauth/accesstoken', '/v1/%', 'http://a', '')
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('GET', 'POST', 'QUERY'), start, rest, async (method, prefix, suffix) => {
      const socket = connect(Number(port), '127.0.0.1')
      await once(socket, 'connect')
      socket.end(`${method} ${prefix}${suffix} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
      const answer = await text(socket)
      return /^HTTP\/1\.1 [24]\d\d /.test(answer)
    }),
    { numRuns: 300 },
  )
  t.notMatch(lines.join(''), /request failed/)
})

t.test('RFC 9112 §3.2: an address with a fragment is refused, wherever it is sent', async (t) => {
  const { app, lines, credentials } = await createWorld(t)
  const { exchange } = await listening(t, app)
  const form = new URLSearchParams(credentials).toString()
  const tail = `Connection: close\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${form.length}\r\n\r\n${form}`
  const path = fc.oneof(
    fc.constantFrom('/', '/v1/oauth/accesstoken', '/health/live', '/v1/oauth/revoke', ''),
    targetText,
  )
  const target = fc.tuple(path, targetText).map(([before, after]) => `/${before.slice(1)}#${after}`)
  const foreign = /^\/v1\/oauth\/verify([/?#]|$)/
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('GET', 'POST'), target, async (method, text) => {
      fc.pre(!foreign.test(text))
      return /^HTTP\/1\.1 400 /.test(await exchange(`${method} ${text} HTTP/1.1\r\nHost: a\r\n${tail}`))
    }),
    {
      numRuns: 300,
      examples: [
        ['GET', '/#%'],
        ['POST', '/v1/oauth/accesstoken#x'],
      ],
    },
  )
  t.notMatch(lines.join(''), /request failed|token issued/)
  t.match(lines.join(''), /"reason":"fragment in the address"/)
})

t.test('Targets: the path of any target comes back, decoded where it can be', async () => {
  fc.assert(
    fc.property(targetText, (target) => {
      const path = pathOf(target)
      return !/[?#]/.test(target) && !target.includes('%') ? path === target : typeof path === 'string'
    }),
  )
})

t.test('RFC 9112 §3.2: a request without a Host is refused like any other; HTTP/1.0 needs none', async (t) => {
  const { app, lines } = await createWorld(t)
  const { exchange } = await listening(t, app)
  const refusal = await exchange('GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n')
  t.match(refusal, /^HTTP\/1\.1 400 .*^cache-control: no-store\r\n.*"error":"invalid_request".*Host/ms)
  t.match(lines, [/"reason":"Host header missing"/])
  t.match(await exchange('GET /health/live HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /)
})

t.test(
  'Targets: whatever is asked for, the log gets words of it, a hundred and a half characters at most',
  async () => {
    const segment = fc.oneof(
      fc.stringMatching(/^[A-Za-z0-9_-]{22,64}$/),
      targetText,
      fc.constantFrom('v1', 'oauth', ''),
    )
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 12 }), (segments) => {
        const shown = shownPath(`/${segments.join('/')}`)
        return shown.length <= 168 && !/[?#]|[^/]{22}/.test(shown) && /^[/\w.*-]*$/.test(shown)
      }),
      { numRuns: 1000 },
    )
  },
)
