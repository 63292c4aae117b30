import t from 'tap'
import { emailIn, roleIn, valuesOf, whyNoRole } from '../../src/domain/identity.ts'

t.test('Claims: a value is found as a text, in a list and in an object, as providers send them', async (t) => {
  const cases: [who: string, claims: object, claim: string, values: string[]][] = [
    ['Keycloak', { groups: ['/platform', '/platform/oncall'] }, 'groups', ['/platform', '/platform/oncall']],
    ['Keycloak', { realm_access: { roles: ['admin', 'user'] } }, 'realm_access.roles', ['admin', 'user']],
    ['Keycloak', { resource_access: { 'a.b': { roles: ['x'] } } }, 'resource_access.a.b.roles', ['x']],
    ['Entra ID', { roles: ['Admin'] }, 'roles', ['Admin']],
    ['Entra ID', { tid: 'tenant' }, 'tid', ['tenant']],
    ['Google', { hd: 'company.example' }, 'hd', ['company.example']],
    ['Okta', { groups: 'platform' }, 'groups', ['platform']],
    ['Auth0', { 'https://company.example/roles': ['admin'] }, 'https://company.example/roles', ['admin']],
    ['Cognito', { 'cognito:groups': ['a b'] }, 'cognito:groups', ['a b']],
    ['JumpCloud', { memberOf: ['platform', 'everyone'] }, 'memberOf', ['platform', 'everyone']],
    [
      'ZITADEL',
      { 'urn:zitadel:iam:org:project:roles': { admin: { 1: 'company.example' }, support: {} } },
      'urn:zitadel:iam:org:project:roles',
      ['admin', 'support'],
    ],
    ['an object', { roles: { admin: false, root: null, all: 'x' } }, 'roles', []],
    ['numbers', { level: 7, is: true, list: [1, [2], null] }, 'level', ['7']],
    ['numbers', { level: 7, is: true, list: [1, [2], null] }, 'is', ['true']],
    ['numbers', { list: [1, { a: 2 }, null] }, 'list', ['1']],
    ['nothing', { groups: [], a: null, b: 'text' }, 'groups', []],
    ['nothing', { a: null, b: 'text' }, 'a.b', []],
    ['nothing', { b: 'text' }, 'b.length', []],
    ['nothing', {}, 'toString', []],
    ['nothing', {}, '__proto__.a', []],
  ]
  for (const [who, claims, claim, values] of cases) t.strictSame(valuesOf(claims, claim), values, `${who}: ${claim}`)
})

t.test('Roles: the highest counts, an equal value gives it, and an email address must be verified', async (t) => {
  const rules = { admin: { claim: 'groups', values: ['root', 'oncall'] }, viewer: { claim: 'groups', values: ['all'] } }
  t.equal(roleIn({ groups: ['all', 'oncall'] }, rules), 'admin')
  t.equal(roleIn({ groups: ['all'] }, rules), 'viewer')
  for (const groups of ['Root', 'roots', 'root,oncall', '', undefined]) t.equal(roleIn({ groups }, rules), undefined)
  t.equal(roleIn({ groups: ['all'] }, { ...rules, viewer: undefined }), undefined)
  const byEmail = { admin: undefined, viewer: { claim: 'email', values: ['a@b.example'] } }
  for (const [email_verified, role] of [
    [true, 'viewer'],
    ['true', 'viewer'],
    [false, undefined],
    [undefined, undefined],
  ]) {
    t.equal(roleIn({ email: 'a@b.example', email_verified }, byEmail), role)
  }
})

t.test('Identity: operators see a verified email address, else the user name, else nothing', async (t) => {
  const email = 'a@b.example'
  t.equal(emailIn({ email, email_verified: true, preferred_username: 'anna' }), email)
  t.equal(emailIn({ email, email_verified: false, preferred_username: 'anna' }), 'anna')
  t.equal(emailIn({ email }), null)
  for (const wrong of ['', 'a\0b', 'a\nb', '\ud800', 'x'.repeat(255)])
    t.equal(emailIn({ preferred_username: wrong }), null)
})

t.test('Roles: why claims give none, without any value', async (t) => {
  const rules = (claim: string) => ({
    admin: { claim, values: ['secret-group'] },
    viewer: { claim, values: ['other'] },
  })
  const cases: [who: string, claims: object, claim: string, why: string][] = [
    ['Okta', { sub: '1' }, 'groups', 'groups is missing or empty'],
    ['Okta', { groups: [] }, 'groups', 'groups is missing or empty'],
    [
      'Entra ID, groups as ids',
      { groups: ['6a1b', '7c2d'] },
      'groups',
      'none of the values of groups gives a role (values: 2)',
    ],
    ['Keycloak', { groups: ['/secret-group'] }, 'groups', 'none of the values of groups gives a role (values: 1)'],
    [
      'Entra ID, overage',
      { _claim_names: { groups: 'src1' }, _claim_sources: {} },
      'groups',
      'groups has too many values to be sent (overage): use app roles',
    ],
    [
      'Entra ID, overage',
      { hasgroups: true },
      'groups',
      'groups has too many values to be sent (overage): use app roles',
    ],
    ['Auth0', { email: 'secret-group' }, 'email', 'email is not verified (email_verified)'],
    [
      'Google',
      { email: 'Secret-Group', email_verified: true },
      'email',
      'none of the values of email gives a role (values: 1)',
    ],
    ['JumpCloud', { memberOf: ['a', 'b'] }, 'memberOf', 'none of the values of memberOf gives a role (values: 2)'],
    [
      'ZITADEL',
      { 'urn:zitadel:iam:org:project:roles': { support: { 1: 'company.example' } } },
      'urn:zitadel:iam:org:project:roles',
      'none of the values of urn:zitadel:iam:org:project:roles gives a role (values: 1)',
    ],
    [
      'Cognito',
      { 'cognito:groups': ['a'] },
      'cognito:groups',
      'none of the values of cognito:groups gives a role (values: 1)',
    ],
  ]
  for (const [who, claims, claim, why] of cases) {
    t.equal(roleIn(claims, rules(claim)), undefined, who)
    t.equal(whyNoRole(claims, rules(claim)), `${why}. Claims: ${Object.keys(claims).sort().join(', ')}`, who)
  }
  const mixed = { admin: { claim: 'roles', values: ['a'] }, viewer: { claim: 'groups', values: ['b'] } }
  t.match(
    whyNoRole({ groups: ['c'] }, mixed),
    /^roles is missing or empty; none of the values of groups .*\. Claims: groups$/,
  )
  const hostile = whyNoRole(
    { 'a\nb\u001b[2J': 1, ...Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`c${n}`, n])) },
    mixed,
  )
  t.match(hostile, /Claims: a\\u000ab\\u001b\[2J, c0, c1/)
  t.equal(hostile.length, 2000)
})
