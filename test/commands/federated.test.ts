import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { REGISTRATION_OPTIONS } from '../support/registration.ts'
import { expectAll, fails, misused, startShell } from '../support/shell.ts'
import { createSigner, SUBJECT, sign } from '../support/workload-issuer.ts'

const ISSUER = 'https://issuer.example'
const OTHER = 'federated add a --issuer https://other.example --subject x --audience x --ends 2030-01-31'
const RULE = `--issuer ${ISSUER} --subject ${SUBJECT}`
/** The default of PUBLIC_URL. */
const AUDIENCE = 'http://localhost:8080'

/** The applications `a` and `b`, a file with the keys of an issuer, and a function that signs JWTs into a file. */
async function setting(t: Parameters<typeof startShell>[0]) {
  const shell = await startShell(t, async ({ applications, suites }) => {
    for (const clientId of ['a', 'b']) await applications.register({ clientId })
    await suites.register({ suiteId: 's', name: 'S' })
  })
  const signer = await createSigner()
  const write = (name: string, text: string) => {
    writeFileSync(join(shell.folder, name), text)
    return join(shell.folder, name)
  }
  let files = 0
  const signed = async (claims: object = {}) =>
    write(`token-${files++}`, `${await sign(signer, { iss: ISSUER, aud: AUDIENCE, ...claims }, { now: Date.now() })}\n`)
  return { ...shell, write, signed, jwks: write('jwks.json', JSON.stringify({ keys: [signer.jwk] })) }
}

t.test('Federated: a credential is added, listed, tested and removed, and the secret stays', async (t) => {
  const { run, json, jwks, signed, file } = await setting(t)
  const options = `${RULE} --claim ref=main --claim a.b=1=2 --ends 90d --jwks-file ${jwks}`
  const added = await run(`federated add a ${options}`)
  t.match(added, { status: 0, out: 'The federated credential 4 is added to a.\n' })
  t.match(added.events, [{ msg: 'secret added', client_id: 'a' }])
  await expectAll(t, { run }, [
    [OTHER, { json: { client_id: 'a', id: 5, status: 'added' } }],
    [OTHER, fails('a already has this federated credential: 5.\n')],
    ['federated add s https://issuer.example', misused(/--issuer/)],
    [`federated add s ${RULE}`, fails(/^There is no application with the client id s\.\n$/)],
    [
      `federated add a --issuer http://x --subject app-*`,
      fails(/^In the subject, \* must be .*; The issuer must be an https URL/),
    ],
    [
      'federated add a --issuer https://x.example --subject *:*/*',
      fails(/^A subject of \* alone is everybody of the issuer/),
    ],
    [`federated add a ${RULE} --ends tomorrow`, misused(/It must be a date and a time, or how long from now/)],
    [`federated add a ${RULE} --jwks-file -`, fails('The keys must be a list of JWKs.\n', 'x')],
    [`federated add a ${RULE} --jwks-file -`, fails('The keys must be a list of JWKs.\n', '{}')],
    [`federated add a ${RULE} --jwks-file -`, fails('The keys must be a list of JWKs.\n', '{"kty":"RSA","n":"x"}')],
    [
      `federated add a ${RULE} --jwks-file -`,
      fails('The keys cannot be used: it has no public key for RS256, PS256, ES256, EdDSA.\n', '{"keys":[]}'),
    ],
  ])
  const database = new Database(file)
  database.prepare('INSERT INTO secret_uses (secret_id, last_used_at) VALUES (5, 0)').run()
  database.close()
  await expectAll(t, { run }, [
    [
      'federated list',
      /^client id +id +issuer .*\na +4 +https:\/\/issuer\.example +system:\S+ +PUBLIC_URL +a\.b=1=2 ref=main +given: 1 +never +ends at \S+\na +5 .* x +from the issuer +1970-01-01T00:00:00\.000Z +ends at 2030-01-31T00:00:00\.000Z\n$/,
    ],
    ['federated list b', /^client id .* state\n$/],
    ['federated list nobody', fails(/no application/)],
    ['secrets list a', /\n4 +federated: system:serviceaccount:shop:web +/],
    ['secrets rotate a --overlap 0', {}],
  ])
  const [one, other] = await json('federated list a')
  const rule = { issuer: ISSUER, subject: SUBJECT, audience: null, claims: { ref: 'main' }, keys: [{ kty: 'EC' }] }
  t.match(one, { client_id: 'a', id: 4, origin: 'federated', state: 'active', federated: rule })
  t.match(other, { federated: { audience: 'x', keys: null } })
  t.equal(Math.round((Date.parse(one.ends_at) - Date.now()) / 86_400_000), 90)
  const ok = await signed({ ref: 'main', a: { b: '1=2' } })
  await expectAll(t, { run }, [
    [
      `federated test a --token-file ${ok}`,
      /^ok {4}It is a JWT[\s\S]*\nok {4}It matches the federated credential 4\.\n$/,
    ],
    [`federated test a --token-file ${ok}`, { json: { client_id: 'a', accepted: true } }],
    ['apps suspend a', {}],
    [
      `federated test a --token-file ${ok}`,
      { status: 1, out: /\nFAIL {2}The application is suspended\.\n$/, err: 'This token would be refused.\n' },
    ],
    ['apps resume a', {}],
    [
      `federated test a --token-file ${await signed({ ref: 'dev' })}`,
      { status: 1, out: /FAIL {2}Federated token mismatch: /, err: /refused/ },
    ],
    [
      'federated test a --token-file -',
      { stdin: 'x', status: 1, out: /^FAIL {2}Federated token not trusted: it is not a JWT\.\n$/, err: /refused/ },
    ],
    [
      'federated test b --token-file -',
      { stdin: 'x', status: 1, out: /^FAIL {2}The application has no federated credential\.\n$/, err: /refused/ },
    ],
    ['federated test b --token-file /nowhere', fails(/^Cannot read \/nowhere/)],
    ['federated remove a 6', fails('a has no federated credential 6.\n')],
    ['federated remove a 5', /^The federated credential 5 of a is removed\.\n$/],
    ['secrets revoke a 6', {}],
    ['federated remove a 4', fails(/is the last active one of a.* use --force\.\n$/)],
    ['federated remove a 4 --force', { json: { client_id: 'a', id: 4, status: 'removed' } }],
    [
      `federated test a --token-file ${ok}`,
      { status: 1, out: /^ok .*\nFAIL {2}Revoked secret: it is the federated credential 4\.\n$/, err: /refused/ },
    ],
  ])
})

t.test('Federated: an application can be registered without a secret', async (t) => {
  const { run, json, jwks } = await setting(t)
  const register = `applications register ${REGISTRATION_OPTIONS} --suite s`
  const { out } = await run(`${register} --client-id c ${RULE}`)
  t.match(out, /client_id {6}c\n {2}client_secret {2}none: it has federated credentials\n/)
  t.notMatch(out, 'shown only now')
  t.match(await json(`${register} --client-id d ${RULE}`), { client_id: 'd', client_secret: '' })
  t.match(await json('secrets list d'), [{ origin: 'federated', federated: { subject: SUBJECT } }])
  await expectAll(t, { run }, [
    [`${register} --client-id e --subject x`, fails(/^The issuer must be 1 to 500 characters.*\n$/)],
    [
      `${register} --client-id e --issuer x --subject x`,
      fails(/^The issuer must be an https URL without a user, a query or a fragment\.\n$/),
    ],
    [`${register} --client-id e --jwks-file ${jwks}`, fails(/^The issuer must be 1 to 500 characters/)],
    ['apps show e', fails(/no application/)],
  ])
  t.match(
    (await run(`${register} --client-id f ${RULE} --client-secret-file -`, { stdin: 'legacy-secret-17' })).out,
    /the imported one/,
  )
  t.match(await json('secrets list f'), [{ origin: 'imported' }, { origin: 'federated' }])
  await run(`${register} --client-id g --issuer g --subject * --claim a=b --jwks-file ${jwks}`)
  t.match(await json('secrets list g'), [{ federated: { subject: '*', claims: { a: 'b' }, keys: [{ kty: 'EC' }] } }])
})
