import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t from 'tap'
import { refused } from '../support/refused.ts'
import { createWorldOfSuites, ENDINGS, ID } from '../support/suites.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { PUBLIC_URL, START } from '../support/world.ts'

const PATH = '/v1/oauth/introspect'
const INACTIVE = '{"active":false}'

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

for (const [token, [end, reason]] of Object.entries(ENDINGS)) {
  t.test(`RFC 7662 §2.2: ${token} is not active, no more is told, and the log has the reason`, async (t) => {
    const world = await createWorldOfSuites(t)
    const accessToken = await world.token()
    t.equal((await world.introspect(accessToken)).json().active, true)
    await end(world, accessToken)
    const answer = await world.introspect(accessToken)
    t.strictSame([answer.statusCode, answer.body], [200, INACTIVE])
    t.match(JSON.parse(world.lines.at(-1) as string), { msg: 'token refused', suite: 'store', reason })
  })
}

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

t.test(
  'RFC 7662 §2.1: the suite authenticates by HTTP Basic, split at the first colon, both halves form-decoded',
  async (t) => {
    const { post, token, suiteSecret } = await createWorldOfSuites(t)
    const form = { token: await token() }
    const encoded = [...suiteSecret].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('')
    for (const pair of [`store:${suiteSecret}`, `%73tore:${encoded}`]) {
      for (const scheme of ['Basic', 'basic', 'BASIC']) {
        t.equal((await post(form, { authorization: `${scheme} ${btoa(pair)}` }, PATH)).json().active, true)
      }
    }
  },
)

t.test('RFC 7662 §2.1: or in the body', async (t) => {
  const { post, token, suiteSecret } = await createWorldOfSuites(t)
  const form = { client_id: 'store', client_secret: suiteSecret, token: await token(), token_type_hint: 'anything' }
  t.equal((await post(form, {}, PATH)).json().active, true)
})

t.test('RFC 6749 §2.3: but never both', async (t) => {
  const { post, token, suiteSecret, basic } = await createWorldOfSuites(t)
  const form = { client_id: 'store', client_secret: suiteSecret, token: await token() }
  refused(t, await post(form, { authorization: basic }, PATH), 400, 'invalid_request', /both/)
})

t.test('RFC 7662 §2.3: anyone else gets 401 with a Basic challenge, and is told nothing of the token', async (t) => {
  const { post, token, suiteSecret, credentials, administration, clock } = await createWorldOfSuites(t)
  const form = { token: await token() }
  const basic = (pair: string) => ({ authorization: `Basic ${btoa(pair)}` })
  const strangers = [
    await post(form, {}, PATH),
    await post({ ...form, client_id: 'store' }, {}, PATH),
    await post({ ...form, client_id: 'store', client_secret: '' }, {}, PATH),
    await post({ ...form, client_id: 'store', client_secret: 'wrong' }, {}, PATH),
    await post({ ...form, client_id: credentials.client_id, client_secret: credentials.client_secret }, {}, PATH),
    await post(form, basic('store:wrong'), PATH),
    await post(form, basic(`nobody:${suiteSecret}`), PATH),
    await post(form, basic(`product-information:${suiteSecret}`), PATH),
    await post(form, basic('no colon'), PATH),
    await post(form, basic('%zz:%zz'), PATH),
    await post(form, { authorization: 'Basic !' }, PATH),
    await post(form, { authorization: `Bearer ${form.token}` }, PATH),
    await post({}, {}, PATH),
  ]
  await administration.rotateSecret('store', 0)
  clock.time += 1
  strangers.push(await post(form, basic(`store:${suiteSecret}`), PATH))
  for (const answer of strangers) {
    refused(t, answer, 401, 'invalid_client', /./)
    t.match(answer.headers['www-authenticate'], /^Basic realm="/)
  }
})

t.test("RFC 7662 §2.1: a suite's new secret is valid at once, its old one until the overlap ends", async (t) => {
  const { post, administration, basic, token, clock } = await createWorldOfSuites(t)
  const form = { token: await token() }
  const { clientSecret } = await administration.rotateSecret('store', 1000)
  t.equal((await post(form, { authorization: basic }, PATH)).statusCode, 200)
  t.equal((await post(form, { authorization: `Basic ${btoa(`store:${clientSecret}`)}` }, PATH)).statusCode, 200)
  clock.time += 1000
  t.equal((await post(form, { authorization: basic }, PATH)).statusCode, 401)
  await administration.removeSuite('store')
  t.equal((await post(form, { authorization: `Basic ${btoa(`store:${clientSecret}`)}` }, PATH)).statusCode, 401)
})

t.test('RFC 7662 §2.1: a request without a token, with two, with a query or no form is refused', async (t) => {
  const { app, post, basic } = await createWorldOfSuites(t)
  const headers = { authorization: basic }
  refused(t, await post({}, headers, PATH), 400, 'invalid_request', /token is missing/)
  refused(t, await post({ token: '' }, headers, PATH), 400, 'invalid_request', /token is missing/)
  refused(t, await post('token=a&token=b', headers, PATH), 400, 'invalid_request', /token is given more than once/)
  refused(t, await post({ token: 'a' }, headers, `${PATH}?a`), 400, 'invalid_request', /query/)
  const json = { ...headers, 'content-type': 'application/json' }
  refused(t, await post('{"token":"a"}', json, PATH), 400, 'invalid_request', /Content-Type/)
  const get = await app.inject(PATH)
  refused(t, get, 405, 'invalid_request', /method/)
  t.equal(get.headers.allow, 'POST')
})

t.test('RFC 7662 §2.3: where the store cannot be read the answer is 503, neither active nor inactive', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const { introspect, token } = await createWorldOfSuites(t, { databaseUrl: `sqlite:${file}` })
  const accessToken = await token()
  const other = new Database(file)
  other.exec('ALTER TABLE tokens RENAME TO elsewhere')
  refused(t, await introspect(accessToken), 503, 'temporarily_unavailable', /try again/)
  other.exec('ALTER TABLE elsewhere RENAME TO tokens; ALTER TABLE changes RENAME TO elsewhere')
  await nextTurn()
  refused(t, await introspect(accessToken), 503, 'temporarily_unavailable', /try again/)
  other.close()
})
