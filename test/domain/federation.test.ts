import t from 'tap'
import { isIssuerUrl, mayBeJwt, parseJwt, publicKeysIn } from '../../src/domain/federation.ts'
import { newFederated, originOf } from '../../src/domain/secret.ts'
import { matchesSubject, mismatchOf, timeProblem } from '../../src/federation/claims.ts'
import { credential, forge, SUBJECT } from '../support/workload-issuer.ts'
import { PUBLIC_URL, START } from '../support/world.ts'

const ISSUER = 'https://issuer.example'
const NOW = START / 1000
const RULE = { issuer: ISSUER, subject: SUBJECT, audience: null, claims: {}, keys: null }

t.test(
  'Federation: equal rules have equal digests, whatever the order of their claims, and others have others',
  async (t) => {
    const digestOf = (more: object) => newFederated({ ...RULE, ...more }, { createdAt: START }).digest
    t.equal(digestOf({ claims: { a: '1', b: '2' } }), digestOf({ claims: { b: '2', a: '1' } }))
    const others = [
      {},
      { issuer: 'https://x.example' },
      { subject: 'x' },
      { audience: 'x' },
      { claims: { a: '1' } },
      { keys: [] },
    ]
    t.equal(new Set(others.map(digestOf)).size, others.length)
    t.match(digestOf({}), /^\$federated\$[\w-]{43}$/)
    t.equal(originOf({ ...credential(ISSUER), federated: RULE }), 'federated')
  },
)

t.test('Federation: a JWT is three parts of base64url, the first two JSON objects', async (t) => {
  const jwt = forge({ alg: 'ES256' }, { iss: ISSUER, sub: SUBJECT })
  t.equal(mayBeJwt(jwt), true)
  t.equal(mayBeJwt(forge({ alg: 'none' }, { iss: ISSUER, sub: SUBJECT }, '')), true, 'RFC 7519 §6: it has no signature')
  t.strictSame(parseJwt(jwt), { header: { alg: 'ES256' }, claims: { iss: ISSUER, sub: SUBJECT } })
  const long = 'a'.repeat(64)
  for (const text of [
    'a.b.c',
    long,
    `${long}.b`,
    `${long}.b.c.d`,
    `${long}..c`,
    `${long}.b.c=`,
    ` ${long}.b.c`,
    `${long}.${'b'.repeat(8192)}.c`,
  ])
    t.equal(mayBeJwt(text), false, text.slice(0, 80))
  for (const text of [forge([], {}), forge({}, 'null'), forge('"a"', {}), forge('{', {}), 'a.b.c', ''])
    t.equal(parseJwt(text), undefined, text)
  const deep = `{"a":${'['.repeat(3000)}${']'.repeat(3000)}}`
  t.ok(parseJwt(forge('{}', deep)), 'nesting does no harm')
  t.match(
    parseJwt(forge('{}', '{"sub":"a","sub":"b"}')),
    { claims: { sub: 'b' } },
    'RFC 7519 §4: the last of repeated claims counts',
  )
})

t.test('Federation: in a subject, * stands for one segment and never for more', async (t) => {
  for (const [pattern, subject, isMatch] of [
    ['repo:org/app:ref:refs/heads/main', 'repo:org/app:ref:refs/heads/main', true],
    ['repo:org/*:ref:refs/heads/main', 'repo:org/app:ref:refs/heads/main', true],
    ['repo:org/*:ref:refs/heads/main', 'repo:org/app:ref:refs/heads/main:x', false],
    ['repo:org/*:ref:refs/heads/main', 'repo:org/a/b:ref:refs/heads/main', false],
    ['repo:org/*:ref:refs/heads/main', 'repo:org/:ref:refs/heads/main', false],
    ['repo:org/*:ref:refs/heads/*', 'repo:org/app:ref:refs/heads/feature/x', false],
    ['repo:org/*:environment:prod', 'repo:org/app:environment/prod', false],
    ['system:serviceaccount:*:web', 'system:serviceaccount:shop:web', true],
    ['system:serviceaccount:*:web', 'system:serviceaccount:a:b:web', false],
    ['spiffe://td.example/ns/*/sa/web', 'spiffe://td.example/ns/shop/sa/web', true],
    ['spiffe://*/ns/shop/sa/web', 'spiffe:///ns/shop/sa/web', false],
    ['*', 'abc', true],
    ['*', '', false],
    ['*', 'a:b', false],
    ['app-*', 'app-1', false],
    ['app', '*', false],
    ['app', 'App', false],
  ] as const)
    t.equal(matchesSubject(pattern, subject), isMatch, `${pattern} ${subject}`)
})

t.test(
  'Federation: every claim of a rule must match, and the first that does not is named with both values',
  async (t) => {
    const claims = {
      ...{ iss: ISSUER, sub: SUBJECT, aud: ['other', PUBLIC_URL], n: 7, flag: true, list: ['a', 'b'] },
      'kubernetes.io': { namespace: 'shop' },
    }
    const mismatch = (more: object, other: object = {}) =>
      mismatchOf({ ...RULE, ...more }, { ...claims, ...other }, PUBLIC_URL)
    t.equal(mismatch({ claims: { n: '7', flag: 'true', list: 'b', 'kubernetes.io.namespace': 'shop' } }), undefined)
    t.equal(mismatch({ audience: 'other' }), undefined)
    const cases: [rule: object, claims: object, matched: number, detail: string][] = [
      [{}, { iss: 'https://x.example' }, 0, 'iss is "https://x.example", not "https://issuer.example"'],
      [{}, { iss: [ISSUER] }, 0, 'iss is "https://issuer.example", not "https://issuer.example"'],
      [{}, { aud: 'https://x.example' }, 1, 'aud is "https://x.example", not "https://token.example"'],
      [{ audience: 'x' }, { aud: [] }, 1, 'aud is [], not "x"'],
      [{ audience: 'x' }, { aud: { x: {} } }, 1, 'aud is {"x":{}}, not "x"'],
      [{ audience: 'x' }, { aud: ['x', 7] }, 1, 'aud is ["x",7], not "x"'],
      [{ audience: 'x' }, { aud: [['x']] }, 1, 'aud is [["x"]], not "x"'],
      [{ audience: '7' }, { aud: 7 }, 1, 'aud is 7, not "7"'],
      [{ subject: 'system:*:b:web' }, {}, 2, `sub is "${SUBJECT}", not "system:*:b:web"`],
      [{}, { sub: 7 }, 2, `sub is "7", not "${SUBJECT}"`],
      [{ claims: { n: '8' } }, {}, 3, 'n is "7", not "8"'],
      [{ claims: { list: 'c' } }, {}, 3, 'list is "a", not "c"'],
      [{ claims: { flag: 'true', constructor: 'x' } }, {}, 4, 'constructor is missing, not "x"'],
      [{ claims: { 'kubernetes.io.namespace': 'x' } }, {}, 3, 'kubernetes.io.namespace is "shop", not "x"'],
      [{ claims: { n: 'x' } }, { n: `\0\n${'é'.repeat(300)}` }, 3, `n is "\\u0000\\n${'é'.repeat(111)}…, not "x"`],
    ]
    for (const [rule, other, matched, detail] of cases) t.strictSame(mismatch(rule, other), { matched, detail }, detail)
  },
)

t.test('RFC 7519 §4.1: exp is required, and exp, nbf and iat are numbers of seconds', async (t) => {
  const day = 24 * 60 * 60
  for (const [claims, problem] of [
    [{ exp: NOW + 1 }, undefined],
    [{ exp: NOW - 59.5 }, undefined],
    [{ exp: NOW - 60 }, /^exp is .*, in the past$/],
    [{}, 'exp is missing, not a time'],
    [{ exp: String(NOW + 1) }, /^exp is "\d+", not a time$/],
    [{ exp: START }, /not a time/],
    [{ exp: Number.POSITIVE_INFINITY }, 'exp is null, not a time'],
    [{ exp: NOW + 1, nbf: 'x' }, 'nbf is "x", not a time'],
    [{ exp: NOW + 1, iat: null }, 'iat is null, not a time'],
    [{ exp: NOW + 90, nbf: NOW + 60 }, undefined],
    [{ exp: NOW + 90, nbf: NOW + 61 }, /^nbf is .*, in the future$/],
    [{ exp: NOW + 90, iat: NOW + 61 }, /^iat is .*, in the future$/],
    [{ exp: NOW + day - 300, iat: NOW - 300 }, undefined],
    [{ exp: NOW + day + 300, iat: NOW - 300 }, undefined],
    [{ exp: NOW + day, iat: NOW - 601 }, 'it is valid for 87001 s, more than a day'],
    [{ exp: NOW + day + 601 }, /more than a day/],
    [{ exp: NOW + 1, iat: -1e300 }, /not a time/],
  ] as const)
    t.match(timeProblem(claims, START) ?? 'none', problem ?? /^none$/, JSON.stringify(claims))
})

t.test('RFC 7517 §5: of a JWK Set, public keys that can verify are kept', async (t) => {
  const rsa = { kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'a', use: 'sig', alg: 'RS256', x5c: ['AAAA'], extra: true }
  const ec = { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA', use: 'jwt-svid' }
  const others = [
    ...[
      { ...rsa, use: 'enc' },
      { ...rsa, use: 'x509-svid' },
      { ...ec, crv: 'P-384' },
    ],
    ...[null, 'text', { kty: 'OKP', crv: 'X25519' }, {}],
  ]
  t.strictSame(publicKeysIn({ keys: [rsa, ...others, ec, { kty: 'OKP', crv: 'Ed25519', x: 'AA', kid: 7 }] }), [
    { kty: 'RSA', kid: 'a', alg: 'RS256', n: 'AQAB', e: 'AQAB' },
    { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' },
    { kty: 'OKP', crv: 'Ed25519', x: 'AA' },
  ])
  for (const [document, problem] of [
    [null, /not a JWK Set/],
    [[], /not a JWK Set/],
    [{ keys: {} }, /not a JWK Set/],
    [{ keys: [] }, 'it has no public key for RS256, PS256, ES256, EdDSA'],
    [{ keys: others }, /no public key/],
    [{ keys: [rsa, { ...ec, d: 'AA' }] }, 'it contains a private or a symmetric key'],
    [{ keys: [rsa, { kty: 'oct', k: 'AA' }] }, /private or a symmetric/],
    [{ keys: Array(1000).fill(rsa) }, 'it has more than 50 keys'],
  ] as const)
    t.throws(() => publicKeysIn(document), { message: problem }, JSON.stringify(document)?.slice(0, 80))
})

t.test('Federation: keys are fetched by https only', async (t) => {
  for (const url of [ISSUER, 'https://sts.windows.net/tenant/', 'https://127.0.0.1:8443/a'])
    t.equal(isIssuerUrl(url), true, url)
  const others = [
    'http://issuer.example',
    'https://',
    'https://a@b.example',
    'https://b.example?x',
    'https://b.example#x',
  ]
  for (const url of [...others, 'issuer.example', 'https://b.example/ x', ' https://b.example', 'file:///keys', ''])
    t.equal(isIssuerUrl(url), false, url)
})
