import { type IncomingMessage, validateHeaderValue } from 'node:http'
import fc from 'fast-check'
import t from 'tap'
import { RequestRefused } from '../../../src/domain/refusal.ts'
import { headerValue } from '../../../src/http/verify.ts'
import { basicCredentials, bearerToken } from '../../../src/http/wire/authorization.ts'
import { anyText } from '../../support/texts.ts'

const MALFORMED = { message: 'Authorization header malformed' }

/** A request with one Authorization header. */
const requestWith = (authorization: string): Parameters<typeof bearerToken>[0] => ({
  headers: { authorization },
  raw: { rawHeaders: ['Authorization', authorization] } as IncomingMessage,
})

const base64 = (text: string, encoding: BufferEncoding = 'utf8') => Buffer.from(text, encoding).toString('base64')

/** The credentials of a header; undefined if there are none, or it is malformed. */
function credentialsOf(authorization: string) {
  try {
    return basicCredentials(authorization)
  } catch (error) {
    if (error instanceof RequestRefused && error.reason === MALFORMED.message) return undefined
    throw error
  }
}

t.test('RFC 7617 §2: an id and a secret are split at the first colon; text without one is ignored', async (t) => {
  t.strictSame(basicCredentials(`Basic ${base64('a:b:c')}`), { clientId: 'a', clientSecret: 'b:c' })
  t.strictSame(basicCredentials(`bASIC   ${base64(':')}`), { clientId: '', clientSecret: '' })
  const pairs = ['', 'no colon', '%zz:secret', 'store:%', 'store:%e', 'store:%ff'].map(
    (pair) => `Basic ${base64(pair)}`,
  )
  for (const none of ['', 'Basic', 'Basic !', 'Basic YTpi YTpi', 'Basic YTpi,', 'Bearer YTpi', ...pairs]) {
    t.equal(basicCredentials(none), undefined, none)
  }
})

t.test('RFC 4648 §3.2-3.5, RFC 6749 appendix A: credentials must be canonical and of %x20-7E', async (t) => {
  t.strictSame(basicCredentials('Basic YTpiYw=='), { clientId: 'a', clientSecret: 'bc' })
  const cases = {
    'a length that no encoder makes': 'YTpiY',
    'the alphabet of base64url': 'c3RvcmU6_-8=',
    'no padding': 'YTpiYw',
    'half of the padding': 'YTpiYw=',
    'too much padding': 'YTpiYw===',
    'padding where none belongs': 'YTpi=',
    'bits behind the last byte': 'YTpiYx==',
    NUL: base64('store:\0'),
    'a line feed': base64('sto\nre:secret'),
    DEL: base64('\x7f:secret'),
    'a letter with an accent': base64('störe:secret'),
    'bytes that are not UTF-8': base64('st\xf6re:secret', 'latin1'),
    'a NUL, percent-encoded': base64('store:%00'),
    'an accent, percent-encoded': base64('st%C3%B6re:secret'),
  }
  for (const [what, token68] of Object.entries(cases)) {
    t.throws(() => basicCredentials(`Basic ${token68}`), MALFORMED, what)
  }
})

t.test('RFC 6749 §2.3.1: any id and secret of VSCHAR are decoded, however they were form-encoded', async () => {
  const vschars = fc.stringMatching(/^[\x20-\x7e]*$/)
  const encoder = fc.constantFrom(
    encodeURIComponent,
    (text: string) => new URLSearchParams({ text }).toString().slice('text='.length),
    (text: string) => text.replace(/./gs, (character) => `%${character.charCodeAt(0).toString(16)}`),
    (text: string) => text.replaceAll(/[%+:]/g, encodeURIComponent),
  )
  fc.assert(
    fc.property(vschars, vschars, encoder, (clientId, clientSecret, encode) => {
      const read = basicCredentials(`Basic ${base64(`${encode(clientId)}:${encode(clientSecret)}`)}`)
      return read?.clientId === clientId && read.clientSecret === clientSecret
    }),
    { numRuns: 400 },
  )
})

t.test('RFC 7617 §2: no header yields credentials that it does not contain', async () => {
  const troublesome = fc.constantFrom(':', '%', '+', '4', '1', 'a', ' ', '\n', '\x7f', 'é')
  const token68 = fc.oneof(
    fc.string({ unit: troublesome, maxLength: 12 }).map((text) => base64(text)),
    fc.uint8Array({ maxLength: 24 }).map((bytes) => Buffer.from(bytes).toString('base64')),
    fc.string({ unit: fc.constantFrom(...'YTpiJ04/+=') }),
  )
  const basic = fc.oneof(token68, fc.string()).map((text) => `Basic ${text}`)
  fc.assert(
    fc.property(fc.oneof(basic, fc.string()), (text) => {
      const read = credentialsOf(text)
      if (!read) return
      const { clientId, clientSecret } = read
      // Parsed in another way, byte by byte.
      const sent = Buffer.from(text.slice('Basic '.length).trim(), 'base64').toString('latin1')
      const decoded = sent
        .split(/:(.*)/s, 2)
        .map((half) => half.replaceAll('+', ' ').replace(/%(..)/g, (_, hex) => String.fromCharCode(Number(`0x${hex}`))))
      if (decoded[0] !== clientId || decoded[1] !== clientSecret)
        throw new Error(`${JSON.stringify(read)} from ${sent}`)
      if (!/^[\x20-\x7e]*$/.test(clientId + clientSecret)) throw new Error('not of VSCHAR')
      if (text.slice('Basic '.length).trim() !== base64(sent, 'latin1')) throw new Error('not canonical')
    }),
    { numRuns: 1500 },
  )
})

t.test('RFC 6750 §2.1: any b64token is read, in any case of the scheme, and nothing else is', async () => {
  const scheme = fc.tuple(...[...'bearer'].map((letter) => fc.constantFrom(letter, letter.toUpperCase())))
  const token = fc.stringMatching(/^ {1,3}[A-Za-z0-9._~+/-]{1,100}={0,2}$/)
  const rest = fc.oneof(token, fc.string({ unit: fc.constantFrom(...'aZ9-._~+/=, \t"') }))
  const bearer = fc.tuple(scheme, rest).map(([letters, rest]) => letters.join('') + rest)
  fc.assert(
    fc.property(fc.oneof(bearer, fc.string()), (authorization) => {
      const token = bearerToken(requestWith(authorization))
      const credentials = authorization.slice('Bearer'.length).trim()
      if (!/^bearer +[^ ]/i.test(authorization)) return token === undefined
      return /^bearer +[\w.~+/-]+=*$/i.test(authorization) ? token === credentials : token instanceof RequestRefused
    }),
    { numRuns: 500 },
  )
})

t.test('RFC 3986 §2.1: any text becomes a valid header value, which decodeURIComponent decodes', async (t) => {
  t.equal(headerValue('client-1@partner.example'), 'client-1@partner.example', 'printable ASCII stays as it is')
  fc.assert(
    fc.property(fc.oneof(anyText(0xd7ff), anyText(0x7f)), (text) => {
      const value = headerValue(text)
      validateHeaderValue('x-application-name', value)
      return /^[\x21-\x7e]*$/.test(value) && decodeURIComponent(value) === text
    }),
    { numRuns: 500 },
  )
})
