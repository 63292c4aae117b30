import t from 'tap'
import { refused } from '../support/refused.ts'
import { createWorldOfSuites } from '../support/world.ts'

const PATH = '/v1/oauth/introspect'

const basicOf = (pair: string) => ({ authorization: `Basic ${btoa(pair)}` })

t.test('RFC 7662 §2.2, §4: a token is active until it expires, if its application is approved', async (t) => {
  const { introspect, token, administration, credentials, clock, logged } = await createWorldOfSuites(t)
  const accessToken = await token()
  const forged = accessToken.slice(0, 60) + (accessToken.endsWith('AAAA') ? 'BBBB' : 'AAAA')
  for (const text of [forged, 'A'.repeat(64), 'x', ' ', `${accessToken} `]) {
    t.equal((await introspect(text)).body, '{"active":false}')
  }
  await administration.withdraw(credentials.client_id, 'store')
  t.equal((await introspect(accessToken)).body, '{"active":false}')
  t.match(logged().at(-1), { reason: 'application not approved', client_id: credentials.client_id })
  await administration.approve(credentials.client_id, 'store')
  clock.time += 3_599_999
  const active = (await introspect(accessToken)).json()
  t.match(active, { active: true, application_name: 'Störe ✓' })
  t.notOk('scope' in active, 'RFC 7662 §2.2: without scopes, there is no scope')
})

t.test('RFC 7662 §2.1: the suite authenticates by HTTP Basic, form-encoded or not, or in the body', async (t) => {
  const { post, token, suiteSecret, basic } = await createWorldOfSuites(t)
  const form = { token: await token(), token_type_hint: 'anything' }
  const encoded = [...suiteSecret].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('')
  const inBody = { ...form, client_id: 'store', client_secret: suiteSecret }
  const requests: Parameters<typeof post>[] = [
    [inBody, {}, PATH],
    ...['Basic', 'basic', 'BASIC'].map(
      (scheme): Parameters<typeof post> => [form, { authorization: `${scheme} ${btoa(`%73tore:${encoded}`)}` }, PATH],
    ),
    [form, { authorization: basic }, PATH],
  ]
  for (const request of requests) t.equal((await post(...request)).json().active, true)
  refused(t, await post(inBody, { authorization: basic }, PATH), 400, 'invalid_request', /in two ways/)
  refused(t, await post({ token: '' }, { authorization: basic }, PATH), 400, 'invalid_request', /token is missing/)
})

t.test('RFC 7662 §2.3: anyone else gets 401 with a Basic challenge, and learns nothing about the token', async (t) => {
  const { post, token, suiteSecret, credentials } = await createWorldOfSuites(t)
  const form = { token: await token() }
  const strangers: [form: Record<string, string>, headers?: Record<string, string>][] = [
    [{}],
    [{ ...form, client_id: 'store' }],
    [{ ...form, client_id: 'store', client_secret: '' }],
    [{ ...form, client_id: 'store', client_secret: 'wrong' }],
    [{ ...form, client_id: credentials.client_id, client_secret: credentials.client_secret }],
    [form, basicOf(`nobody:${suiteSecret}`)],
    [form, basicOf(`product-information:${suiteSecret}`)],
    [form, { authorization: `Bearer ${form.token}` }],
  ]
  for (const [form, headers] of strangers) {
    refused(t, await post(form, headers, PATH), 401, 'invalid_client', /./)
  }
})
