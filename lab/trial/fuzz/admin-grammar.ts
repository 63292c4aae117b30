import { METHODS } from 'node:http'
import type { Random } from '../random.ts'
import { type Choices, createChoices } from './choices.ts'
import { SUFFIXES } from './grammar.ts'
import { CANARY } from './known.ts'

/** What the fuzzer knows about the admin listener. Its requests never change the operators that it uses. */
export interface AdminKnown {
  /** Credentials of an admin and of a viewer. */
  admin: Credentials
  viewer: Credentials
  revokedKey: string
  /** An application that is never changed, and one that may be changed and removed. */
  clientId: string
  victim: string
  /** The paths of the console's files, with their hashes. */
  assets: string[]
}

export interface Credentials {
  key: string
  session: string
}

export interface AdminRequest {
  text: string
  /** Whether it may succeed. */
  mayPass: boolean
}

const API = '/admin/v1'
/** Readable paths. `ID` stands for a client id. */
const RESOURCES = [
  ...['/applications', '/applications/ID', '/applications/ID/diagnosis', '/applications/ID/secrets', '/suites'],
  ...[
    '/suites/store',
    '/suites/store/applications',
    '/suites/store/secrets',
    '/operators',
    '/audit-events',
    '/statistics',
  ],
].map((path) => API + path)
const PAGES = ['/', '/applications', '/applications/ID', '/suites', '/suites/store', '/audit', '/operators', '/about']

/** Paths for changes: none affects the fuzzer's own credentials or what it reads. */
const CHANGES = [
  ...['/applications', '/applications/ID', '/applications/ID/suspension', '/applications/ID/suites/store'],
  ...['/applications/ID/tokens', '/applications/ID/secrets', '/applications/ID/secrets/3', '/suites', '/suites/other'],
  ...['/suites/other/secrets', '/operators/ben', '/operators/ben/keys/3', '/operators/ben/sessions/1'],
].map((path) => API + path)
const FORMS = [
  ...['/new-application', '/applications/ID/suspend', '/applications/ID/resume'],
  ...['/applications/ID/revoke-tokens', '/applications/ID/remove', '/applications/ID', '/applications/ID/secrets'],
  ...[
    '/applications/ID/secrets/3/revoke',
    '/new-suite',
    '/suites/other',
    '/suites/other/secrets',
    '/suites/other/remove',
  ],
  ...['/operators/ben/remove', '/operators/ben/keys/3/revoke', '/operators/ben/sessions/1/end'],
]
const OPEN = ['/login', '/login?why=out', '/assets/console.css', '/assets/../console.ts', '/signed-in']
const OTHERS = ['/admin', '/admin/v1', '/admin/v2/suites', '/live', '/live/x', '*', '/nothing']

const QUERIES = [
  'limit=1',
  'limit=0',
  'limit=99999',
  'after=x',
  'search=%F0%9F',
  'status=active',
  'since=x',
  'force=true',
]
const IDS = ['nobody', '.', '..', '%2e%2e', '%2F', '', 'a'.repeat(300), '%00', 'ü', '<script>', '__proto__']
const HOSTS = ['evil.example', '', 'a b', 'localhost.evil.example', '127.0.0.1:x', '[::1', 'localhost@evil.example']
const SITES = ['cross-site', 'same-site', 'none', 'x', '']
const TYPES = ['text/plain', 'multipart/form-data; boundary=x', 'application/json; charset=x', 'application/xml', '']
const FIELDS = [
  'name',
  'developer_email',
  'client_id',
  'suites',
  'id',
  'status',
  'overlap_seconds',
  'overlap',
  'code',
  'shown',
]
const VALUES = [
  '',
  'Name',
  'dev@partner.example',
  'a'.repeat(5000),
  '\u0000',
  '<b>',
  '😀',
  '-1',
  'true',
  '../..',
  'store',
  '1e9',
]

/** Generates valid and malformed requests to the API and the console, with and without credentials. */
export function createAdminGrammar(known: AdminKnown, random: Random) {
  const choices = createChoices(random, 0.8)
  const { canary, often } = choices

  /** A valid request, which is answered with 200. */
  function valid(): AdminRequest {
    const isApi = random.chance(0.5)
    const who = random.pick([known.admin, known.viewer])
    const path = random.pick(isApi ? RESOURCES : PAGES).replace('ID', known.clientId)
    const lines = [`GET ${path} HTTP/1.1`, 'Host: localhost', ...credentialHeaders(known, choices, who, isApi)]
    return { text: `${lines.join('\r\n')}\r\n\r\n`, mayPass: true }
  }

  /** A request in which each part is usually, but not always, valid. */
  function any(): AdminRequest {
    const isApi = random.chance(0.5)
    const method = random.chance(0.9)
      ? random.pick(['GET', isApi ? random.pick(['POST', 'PATCH', 'PUT', 'DELETE']) : 'POST'])
      : random.pick([...METHODS, 'get', 'FOO', ''])
    const isLook = method === 'GET' || method === 'HEAD'
    const path = pathFor(known, random, isLook ? (isApi ? RESOURCES : PAGES) : isApi ? CHANGES : FORMS, isLook)
    const query = random.chance(0.3) ? `?${random.chance(0.8) ? random.pick(QUERIES) : `q=${canary()}`}` : ''
    const target = path + (random.chance(0.15) ? random.pick(SUFFIXES) : '') + query
    const host = random.pick(['localhost', 'evil.example', '[::1]', ''])
    const whole = random.chance(0.03) ? `http://${host}${target}` : target
    const body = isLook && random.chance(0.9) ? '' : content(random, isApi)
    const who = random.pick([known.admin, known.admin, known.viewer, undefined])
    const lines = [...headers(known, choices, isApi, body), ...credentialHeaders(known, choices, who, isApi)]
    const version = often('1.1', ['1.0', '2.0', '0.9'])
    const text = `${[`${method} ${whole} HTTP/${version}`, ...lines].join('\r\n')}\r\n\r\n${body}`
    const isOpen = /^\/(login|assets|signed-in)/.test(path)
    return { text, mayPass: isOpen || who === known.admin || (who === known.viewer && isLook) }
  }

  return { valid, any }
}

function pathFor(known: AdminKnown, random: Random, own: readonly string[], isLook: boolean): string {
  const path = random.pick(random.chance(0.85) ? own : random.chance(0.5) ? [...OPEN, ...known.assets] : OTHERS)
  return path.replace('ID', random.chance(0.6) ? (isLook ? known.clientId : known.victim) : random.pick(IDS))
}

function content(random: Random, isApi: boolean): string {
  const fields = FIELDS.filter(() => random.chance(0.4)).map((name) => [name, random.pick(VALUES)] as const)
  if (random.chance(0.05)) fields.push([random.pick(['__proto__', 'constructor', 'toString']), 'x'])
  if (random.chance(0.02)) fields.push(['name', 'y'.repeat(random.between(60_000, 70_000))])
  if (!isApi) return new URLSearchParams(fields as [string, string][]).toString()
  const json = JSON.stringify(
    Object.fromEntries(fields.map(([name, value]) => [name, random.chance(0.8) ? value : odd(random)])),
  )
  return random.chance(0.9) ? json : json.slice(0, random.between(0, json.length + 1))
}

function odd(random: Random): unknown {
  return random.pick([null, 0, -1, 1e308, true, [], {}, ['store', 'store'], [[[]]], { name: {} }])
}

function headers({ admin }: AdminKnown, choices: Choices, isApi: boolean, body: string): string[] {
  const { random, canary, often } = choices
  const { lines, maybe } = choices.createLines()
  maybe(0.98, `Host: ${often('localhost', HOSTS)}`)
  if (body !== '') {
    maybe(0.95, `Content-Type: ${often(isApi ? 'application/json' : 'application/x-www-form-urlencoded', TYPES)}`)
    const length = random.chance(0.97) ? Buffer.byteLength(body) : random.pick(['0', '-1', '9999', 'x'])
    if (random.chance(0.97)) lines.push(`Content-Length: ${length}`)
    else lines.push(`Transfer-Encoding: ${random.pick(['chunked', 'gzip', 'chunked, chunked'])}`)
  }
  if (!isApi) maybe(0.9, `Sec-Fetch-Site: ${often('same-origin', SITES)}`)
  maybe(0.1, `Origin: ${random.pick(['http://localhost', 'https://evil.example', 'null', 'x'])}`)
  maybe(0.1, `Idempotency-Key: ${random.pick([canary(), 'same', '', 'k'.repeat(500), 'ü'])}`)
  // A key in the wrong header must not be logged either.
  maybe(0.1, `X-Request-Id: ${random.pick(['mine', admin.key, admin.session, '', 'a b'])}`)
  maybe(0.05, `X-Forwarded-For: ${random.pick(['10.0.0.1', 'x', '1.2.3.4, 5.6.7.8'])}`)
  maybe(0.03, `Expect: ${random.pick(['100-continue', 'x'])}`)
  maybe(0.05, `Connection: ${random.pick(['close', 'Upgrade', 'x'])}`)
  maybe(0.02, 'Upgrade: websocket')
  maybe(0.02, `X-Long: ${'z'.repeat(random.between(1, 20_000))}`)
  maybe(0.02, random.pick([' folded', 'No colon', ': no name', 'X: \u0000', 'X: é']))
  return lines
}

/** Headers with valid credentials, or with almost valid ones. */
function credentialHeaders(
  { revokedKey }: AdminKnown,
  { random, canary }: Choices,
  who: Credentials | undefined,
  isApi: boolean,
): string[] {
  if (who) return [isApi ? `Authorization: Bearer ${who.key}` : `Cookie: a=b; __Host-session=${who.session}`]
  return random.pick([
    [],
    [`Authorization: Bearer ${revokedKey}`],
    [`Authorization: Bearer otsa_${CANARY.padEnd(49, 'A')}`],
    [`Authorization: Basic ${canary()}`],
    [`Authorization: Bearer ${canary()}`, 'Authorization: Bearer x'],
    [`Cookie: __Host-session=${canary()}`],
    [`Cookie: __Host-session=; session=${canary()}`],
  ])
}
