import t from 'tap'
import { refused } from '../support/refused.ts'
import { createWorldOfSuites, ID } from '../support/suites.ts'
import { PUBLIC_URL, START } from '../support/world.ts'

const PATH = '/v1/oauth/introspect'
const INACTIVE = '{"active":false}'

const basicOf = (pair: string) => ({ authorization: `Basic ${btoa(pair)}` })

t.test('RFC 7662 §2.2: an active token of an approved application is described', async (t) => {
  const { introspect, token, credentials, clock } = await createWorldOfSuites(t)
  const accessToken = await token()
  clock.time += 3_599_999
  const answer = await introspect(accessToken)
  t.equal(answer.statusCode, 200)
  t.match(answer.headers, { 'cache-control': 'no-store', 'content-type': /^application\/json/ })
  const { jti, ...rest } = answer.json()
  t.match(jti, ID)
  t.strictSame(rest, {
    active: true,
    client_id: credentials.client_id,
    sub: credentials.client_id,
    aud: 'store',
    iss: PUBLIC_URL,
    token_type: 'bearer',
    scope: '',
    iat: START / 1000,
    exp: START / 1000 + 3600,
    application_name: 'Störe ✓',
    'developer.email': 'developer@partner.example',
  })
})

t.test('RFC 7662 §2.2: a forged token, another secret behind a valid id and any text are not active', async (t) => {
  const { introspect, token } = await createWorldOfSuites(t)
  const accessToken = await token()
  const forged = accessToken.slice(0, 60) + (accessToken.endsWith('AAAA') ? 'BBBB' : 'AAAA')
  for (const text of [forged, 'A'.repeat(64), 'x', ' ', `${accessToken} `]) {
    t.equal((await introspect(text)).body, INACTIVE)
  }
})

t.test('RFC 7662 §4: a token is active only at a suite that its application is approved for', async (t) => {
  const { introspect, token, administration, credentials, lines } = await createWorldOfSuites(t)
  const accessToken = await token()
  await administration.withdraw(credentials.client_id, 'store')
  t.equal((await introspect(accessToken)).body, INACTIVE)
  t.match(JSON.parse(lines.at(-1) as string), { reason: 'application not approved', client_id: credentials.client_id })
  await administration.approve(credentials.client_id, 'store')
  t.equal((await introspect(accessToken)).json().active, true)
})

t.test('RFC 7662 §2.1: the suite authenticates by HTTP Basic, form-encoded or not, or in the body', async (t) => {
  const { post, token, suiteSecret, basic } = await createWorldOfSuites(t)
  const form = { token: await token(), token_type_hint: 'anything' }
  const encoded = [...suiteSecret].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('')
  const inBody = { ...form, client_id: 'store', client_secret: suiteSecret }
  const answers = [await post(inBody, {}, PATH)]
  for (const pair of [`store:${suiteSecret}`, `%73tore:${encoded}`]) {
    for (const scheme of ['Basic', 'basic', 'BASIC']) {
      answers.push(await post(form, { authorization: `${scheme} ${btoa(pair)}` }, PATH))
    }
  }
  t.strictSame(
    answers.map((answer) => answer.json().active),
    Array(7).fill(true),
  )
  const both = await post(inBody, { authorization: basic }, PATH)
  refused(t, both, 400, 'invalid_request', /both/)
  const empty = await post({ token: '' }, { authorization: basic }, PATH)
  refused(t, empty, 400, 'invalid_request', /token is missing/)
})

t.test('RFC 7662 §2.3: anyone else gets 401 with a Basic challenge, and is told nothing of the token', async (t) => {
  const { post, token, suiteSecret, credentials } = await createWorldOfSuites(t)
  const form = { token: await token() }
  const strangers: [form: Record<string, string>, headers?: Record<string, string>][] = [
    [form],
    [{}],
    [{ ...form, client_id: 'store' }],
    [{ ...form, client_id: 'store', client_secret: '' }],
    [{ ...form, client_id: 'store', client_secret: 'wrong' }],
    [{ ...form, client_id: credentials.client_id, client_secret: credentials.client_secret }],
    [form, basicOf('store:wrong')],
    [form, basicOf(`nobody:${suiteSecret}`)],
    [form, basicOf(`product-information:${suiteSecret}`)],
    [form, basicOf('no colon')],
    [form, basicOf('%zz:%zz')],
    [form, { authorization: 'Basic !' }],
    [form, { authorization: `Bearer ${form.token}` }],
  ]
  for (const [form, headers] of strangers) {
    const answer = await post(form, headers, PATH)
    refused(t, answer, 401, 'invalid_client', /./)
    t.match(answer.headers['www-authenticate'], /^Basic realm="/)
  }
})

t.test("RFC 7662 §2.1: a suite's new secret is valid at once, its old one until the overlap ends", async (t) => {
  const { post, administration, suiteSecret, token, clock } = await createWorldOfSuites(t)
  const form = { token: await token() }
  const statusWith = async (secret: string) => (await post(form, basicOf(`store:${secret}`), PATH)).statusCode
  const { clientSecret } = await administration.rotateSecret('store', 1000)
  t.strictSame([await statusWith(suiteSecret), await statusWith(clientSecret)], [200, 200])
  clock.time += 1000
  t.strictSame([await statusWith(suiteSecret), await statusWith(clientSecret)], [401, 200])
  await administration.removeSuite('store')
  t.equal(await statusWith(clientSecret), 401)
})
