import t from 'tap'
import { emailIn, roleIn, valuesOf, whyNoRole } from '../../src/domain/identity.ts'

const ZITADEL = 'urn:zitadel:iam:org:project:roles'

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
    ['ZITADEL', { [ZITADEL]: { admin: { 1: 'company.example' }, support: {} } }, ZITADEL, ['admin', 'support']],
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
  const roles = [true, 'true', false, undefined].map((email_verified) =>
    roleIn({ email: 'a@b.example', email_verified }, byEmail),
  )
  t.strictSame(roles, ['viewer', 'viewer', undefined, undefined])
})

t.test('Identity: operators see a verified email address, else the user name, else nothing', async (t) => {
  const email = 'a@b.example'
  t.equal(emailIn({ email, email_verified: true, preferred_username: 'anna' }), email)
  t.equal(emailIn({ email, email_verified: false, preferred_username: 'anna' }), 'anna')
  t.equal(emailIn({ email }), null)
  t.equal(emailIn({ preferred_username: 'Zoë van Dam' }), 'Zoë van Dam')
  for (const wrong of ['', 'a\0b', 'a\nb', '\ud800', 'x'.repeat(255)])
    t.equal(emailIn({ preferred_username: wrong }), null)
  for (const hiding of ['\u202eanna', 'anna\u00a0\u00a0x', `anna${' '.repeat(99)}x`, 'anna\u2028x', 'anna '])
    t.equal(emailIn({ preferred_username: hiding }), null, 'the host behind it would be reversed, or not be seen')
})

t.test('Roles: why claims give none, without any value', async (t) => {
  const viewer = { claim: 'groups', values: ['b'] }
  const rules = (claim: string) => ({
    admin: { claim, values: ['secret-group'] },
    viewer: { claim, values: ['other'] },
  })
  const missing = 'groups is missing or empty'
  const none = (claim: string, count: number) => `none of the values of ${claim} gives a role (values: ${count})`
  const overage = 'groups has too many values to be sent (overage): use app roles'
  const cases: [who: string, claims: object, claim: string, why: string][] = [
    ['Okta', { sub: '1' }, 'groups', missing],
    ['Okta', { groups: [] }, 'groups', missing],
    ['Entra ID, groups as ids', { groups: ['6a1b', '7c2d'] }, 'groups', none('groups', 2)],
    ['Keycloak', { groups: ['/secret-group'] }, 'groups', none('groups', 1)],
    ['Entra ID, overage', { _claim_names: { groups: 'src1' }, _claim_sources: {} }, 'groups', overage],
    ['Entra ID, overage', { hasgroups: true }, 'groups', overage],
    ['Auth0', { email: 'secret-group' }, 'email', 'email is not verified (email_verified)'],
    ['Google', { email: 'Secret-Group', email_verified: true }, 'email', none('email', 1)],
    ['JumpCloud', { memberOf: ['a', 'b'] }, 'memberOf', none('memberOf', 2)],
    ['ZITADEL', { [ZITADEL]: { support: { 1: 'company.example' } } }, ZITADEL, none(ZITADEL, 1)],
    ['Cognito', { 'cognito:groups': ['a'] }, 'cognito:groups', none('cognito:groups', 1)],
  ]
  for (const [who, claims, claim, why] of cases) {
    t.equal(roleIn(claims, rules(claim)), undefined, who)
    t.equal(whyNoRole(claims, rules(claim)), `${why}. Claims: ${Object.keys(claims).sort().join(', ')}`, who)
  }
  const mixed = { admin: { claim: 'roles', values: ['a'] }, viewer }
  const both = /^roles is missing or empty; none of the values of groups .*\. Claims: groups$/
  t.match(whyNoRole({ groups: ['c'] }, mixed), both)
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`c${n}`, n]))
  const hostile = whyNoRole({ 'a\nb\u001b[2J': 1, ...many }, mixed)
  t.match(hostile, /Claims: a\\u000ab\\u001b\[2J, c0, c1/)
  t.equal(hostile.length, 2000)
})
