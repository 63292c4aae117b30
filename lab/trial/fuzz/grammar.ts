import { METHODS } from 'node:http'
import { ACCESS_TOKEN_PATH } from '../../../src/http/access-token.ts'
import { INTROSPECT_PATH } from '../../../src/http/introspect.ts'
import { READY_PATH } from '../../../src/http/metadata.ts'
import { REVOKE_PATH } from '../../../src/http/revoke.ts'
import { VERIFY_PATH } from '../../../src/http/verify.ts'
import { verifyRequest } from '../../bench/world/requests.ts'
import type { Random } from '../random.ts'
import { tokenRequest } from '../world/client.ts'
import { type Choices, createChoices } from './choices.ts'
import { CANARY, type Known, type Request } from './known.ts'

const PATHS = [
  ACCESS_TOKEN_PATH,
  REVOKE_PATH,
  INTROSPECT_PATH,
  `${VERIFY_PATH}/store`,
  `${VERIFY_PATH}/product`,
  VERIFY_PATH,
  '/.well-known/oauth-authorization-server',
  '/.well-known/oauth-protected-resource/store',
  '/v1/oauth/authorize',
  '/health/live',
  READY_PATH,
  '/',
  '/v1/oauth',
  '*',
]
/** Each turns a path into another target when it is appended. */
export const SUFFIXES = [
  '/',
  '//',
  '/..',
  '/%2e%2e/',
  '/%',
  '/%zz',
  '/%00',
  '#',
  '#x',
  '#%',
  '%23',
  ';a=b',
  '/a/b/c',
  '\\',
  '/%c0%af',
]
const BEHIND = ['', '', '', '', ...SUFFIXES]
const VERSIONS = ['1.1', '1.1', '1.1', '1.1', '1.1', '1.1', '1.0', '2.0', '0.9', '1.9']
const TYPES = [
  'application/x-www-form-urlencoded',
  'application/x-www-form-urlencoded',
  'application/x-www-form-urlencoded; charset=utf-8',
  'APPLICATION/X-WWW-FORM-URLENCODED',
  'application/json',
  'multipart/form-data; boundary=x',
  'text/plain',
  '',
]
const NUMBERS = ['0', '1', '5', '-1', '+3', '0x10', '1e3', '99999999999999999999', '8193', ' 7', '7, 7']

/** Generates valid and malformed requests from the grammar of HTTP and of the contract, with marked secrets. */
export function createGrammar(known: Known, random: Random) {
  const choices = createChoices(random, 0.7)
  const { canary, often } = choices

  function valid(): Request {
    if (random.chance(0.5)) return { text: tokenRequest(known.application), mayIssue: true, mayPass: false }
    return { text: verifyRequest(known.token), mayIssue: false, mayPass: true }
  }

  /** A request in which each part is usually, but not always, valid. */
  function any(): Request {
    const endpoint = random.pick(PATHS)
    // The token that all the others use must not be revoked.
    const { body, mayIssue, mayPass: bodyMayPass } = form(known, choices, endpoint === REVOKE_PATH ? [] : [known.token])
    const { lines, mayPass: headersMayPass } = headers(known, choices, body)
    const path = endpoint + random.pick(BEHIND) + (random.chance(0.1) ? `?q=${canary()}` : '')
    const target = random.chance(0.05) ? `http://${random.pick(['localhost', 'x@y', '[::1]:99', ''])}${path}` : path
    const method = often('POST', [...METHODS, 'get', 'FOO', ''])
    const head = [`${method} ${target} HTTP/${random.pick(VERSIONS)}`, ...lines].join('\r\n')
    const content = lines.includes('Transfer-Encoding: chunked') ? chunked(random, body) : body
    // The gateway check accepts every method, and ignores the body.
    return { text: `${head}\r\n\r\n${content}`, mayIssue, mayPass: bodyMayPass || headersMayPass }
  }

  return { valid, any }
}

function form(
  { application, suspended, suite, ...known }: Known,
  { random, canary, often }: Choices,
  tokens: string[],
): { body: string; mayIssue: boolean; mayPass: boolean } {
  const who = random.pick([
    application,
    application,
    suspended,
    suite,
    { client_id: 'nobody', client_secret: canary() },
  ])
  const isSecretRight = random.chance(0.5)
  const secret = isSecretRight ? who.client_secret : random.pick([canary(), '', `${who.client_secret}${CANARY}`])
  const token = random.pick([known.revokedToken, canary(), 'x', '', ...tokens])
  const fields: [string, string][] = [
    ['grant_type', often('client_credentials', ['password', '', 'client_credentials ', 'CLIENT_CREDENTIALS'])],
    ['client_id', who.client_id],
    ['client_secret', secret],
    ['token', token],
    [random.pick(['scope', 'toString', '__proto__', 'constructor', canary(), '']), canary()],
  ]
  const kept = fields.filter(() => random.chance(0.85))
  if (random.chance(0.1)) kept.push(random.pick(fields))
  const pair = ([name, value]: [string, string]) => `${encode(random, name)}=${encode(random, value)}`
  let body = kept.map(pair).join(random.pick(['&', '&', '&', '&', '&', '&&', ';']))
  if (random.chance(0.03)) body += `&x=${'y'.repeat(random.between(1, 20_000))}`
  if (random.chance(0.03)) body = JSON.stringify(Object.fromEntries(fields))
  return {
    body,
    mayIssue: who === application && isSecretRight,
    // If a field is repeated, the server decides which one counts: with a valid one among them, it may accept.
    mayPass: token === known.token,
  }
}

function encode(random: Random, text: string): string {
  if (random.chance(0.7)) return encodeURIComponent(text)
  if (random.chance(0.5)) return Buffer.from(text).toString('hex').replace(/../g, '%$&')
  return random.chance(0.5) ? text : `${text}${random.pick(['%', '%0', '%00', '%ff', '+', '%F0%9F', '\u0000', ' '])}`
}

function headers(known: Known, choices: Choices, body: string): { lines: string[]; mayPass: boolean } {
  const { random, canary, often } = choices
  const { lines, maybe } = choices.createLines()
  maybe(0.97, `Host: ${often('localhost', ['', 'a b', canary(), 'x:99999'])}`)
  maybe(0.02, 'Host: other')
  maybe(0.95, `Content-Type: ${often(TYPES[0] as string, TYPES)}`)
  if (random.chance(0.12)) lines.push('Transfer-Encoding: chunked')
  else maybe(0.95, `Content-Length: ${random.chance(0.95) ? Buffer.byteLength(body) : random.pick(NUMBERS)}`)
  maybe(0.02, `Content-Length: ${random.pick(NUMBERS)}`)
  maybe(0.02, `Transfer-Encoding: ${random.pick(['gzip', 'chunked, chunked', 'identity', 'xchunked'])}`)
  const authorization = authorizations(known, choices)
  maybe(0.35, `Authorization: ${authorization}`)
  maybe(0.02, `Authorization: Bearer ${canary()}`)
  maybe(0.05, `Cookie: session=${canary()}`)
  maybe(0.05, `X-Forwarded-For: ${random.pick(['10.0.0.1', '::1', 'x', '1.2.3.4, 5.6.7.8', '"'])}`)
  maybe(0.04, `Expect: ${random.pick(['100-continue', 'x'])}`)
  maybe(0.1, `Connection: ${random.pick(['close', 'keep-alive', 'Upgrade', 'x, close'])}`)
  maybe(0.03, 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__')
  maybe(0.03, `X-Long: ${'z'.repeat(random.between(1, 20_000))}`)
  maybe(0.01, ...Array.from({ length: random.between(1, 2500) }, (_, n) => `X-${n}: 1`))
  maybe(0.03, random.pick([' folded', 'No colon', ': no name', 'Bad Name: 1', 'X: \u0000', 'X: é']))
  return { lines, mayPass: lines.some((line) => line.startsWith('Authorization') && line.includes(known.token)) }
}

function authorizations({ suite, ...known }: Known, { random, canary }: Choices): string {
  const basic = (one: { client_id: string; client_secret: string }) =>
    `Basic ${btoa(`${one.client_id}:${one.client_secret}`)}`
  return random.pick([
    `Bearer ${known.token}`,
    `Bearer ${known.revokedToken}`,
    `bearer  ${known.token}`,
    `Bearer ${canary()}`,
    'Bearer ',
    'Bearer',
    basic(suite),
    basic({ ...suite, client_secret: canary() }),
    'Basic !!!',
    `Digest ${canary()}`,
    '',
  ])
}

function chunked(random: Random, body: string): string {
  let text = ''
  for (let at = 0; at < body.length; ) {
    const part = body.slice(at, at + random.between(1, 40))
    const size = random.chance(0.98) ? Buffer.byteLength(part).toString(16) : random.pick(NUMBERS)
    text += `${size}${random.chance(0.1) ? ';x=y' : ''}\r\n${part}\r\n`
    at += part.length
  }
  return `${text}0\r\n${random.chance(0.1) ? 'Trailer: x\r\n' : ''}\r\n`
}
