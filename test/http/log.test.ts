import t, { type Test } from 'tap'
import { registerImported } from '../support/imported.ts'
import { until } from '../support/until.ts'
import { createWorldOfSuites, createWorldWithFile } from '../support/world.ts'

const MARK = 'S3CR3T'
const [TOKEN, INTROSPECT, REVOKE] = ['/v1/oauth/accesstoken', '/v1/oauth/introspect', '/v1/oauth/revoke']

const basicOf = (pair: string) => `Basic ${btoa(pair)}`

/** A world, and a function that waits for the last line of its log. */
async function createLoggedWorld(t: Test, options?: Parameters<typeof createWorldOfSuites>[1]) {
  const world = await createWorldOfSuites(t, options)
  async function line(): Promise<Record<string, unknown>> {
    await until(() => world.lines.length > 0)
    return JSON.parse(world.lines.splice(0).at(-1) as string)
  }
  return { ...world, line }
}

t.test('Log: one line per token, with client, secret, address and the id of the token; never the token', async (t) => {
  const { post, store, lines, credentials, administration } = await createLoggedWorld(t)
  await registerImported(store, 'moved', 'legacy-secret')
  const { clientSecret } = await administration.rotateSecret(credentials.client_id, 1000)
  const [first, second] = await administration.listSecrets(credentials.client_id)
  const [imported] = await administration.listSecrets('moved')
  const moved = { ...credentials, client_id: 'moved', client_secret: 'legacy-secret' }
  const cases: [what: string, form: typeof credentials, secretId: number | undefined][] = [
    ['the first', credentials, first?.id],
    ['the second', { ...credentials, client_secret: clientSecret }, second?.id],
    ['an imported one, verified just now', moved, imported?.id],
    ['an imported one, remembered', moved, imported?.id],
  ]
  for (const [what, form, secret_id] of cases) {
    const { access_token } = (await post(form)).json()
    const [line = '', ...more] = lines.splice(0)
    const { token_id, ...said } = JSON.parse(line)
    const { client_id } = form
    t.match(said, { msg: 'token issued', client_id, secret_id, remote_address: '127.0.0.1' }, what)
    t.equal(token_id.replaceAll('-', ''), Buffer.from(access_token, 'base64url').subarray(0, 16).toString('hex'))
    t.notMatch(line, access_token)
    t.strictSame(more, [])
  }
})

t.test('Log: it never contains a secret, a token, a query or a body', async (t) => {
  const { app, post, lines, credentials, basic, suiteSecret, store, other } = await createWorldWithFile(t)
  const imported = `imported-${MARK}`
  const answers: string[] = []
  const send = async (...args: Parameters<typeof post>) => answers.push((await post(...args)).body)
  const marked = { ...credentials, client_secret: MARK }
  const body = new URLSearchParams(credentials).toString()

  const token = (await post()).json().access_token as string
  const suite = { client_id: 'store', client_secret: suiteSecret, token }
  const bearer = { authorization: `Bearer ${MARK}` }
  const requests: Parameters<typeof post>[] = [
    [{ ...credentials, extra: MARK, scope: MARK }],
    [marked],
    [{ ...marked, client_id: 'nobody' }],
    [{ ...credentials, client_id: `half-${MARK}`, client_secret: 'swapped' }],
    [{ ...credentials, client_id: credentials.client_secret, client_secret: credentials.client_id }],
    [{ ...marked, grant_type: MARK }],
    [`${body}&client_secret=${MARK}`],
    [`${body}&${MARK}=1&${MARK}=2`],
    [`%${MARK}%zz=%ff`],
    [`{"client_secret":"${MARK}"}`, { 'content-type': 'application/json' }],
    [body, { 'content-type': MARK }],
    [body, { ...bearer, cookie: MARK, 'x-secret': MARK }],
    [body.padEnd(9000, MARK)],
    [body, {}, `${TOKEN}?client_secret=${MARK}`],
    [body, {}, `/nowhere/${MARK}?client_secret=${MARK}`],
    [body, {}, `/%zz/${MARK}`],
    [{ ...suite, token: MARK }, {}, INTROSPECT],
    [{ ...suite, client_secret: MARK }, {}, INTROSPECT],
    [suite, {}, INTROSPECT],
    [suite, { authorization: basicOf(`store:${MARK}`) }, INTROSPECT],
    [{ token }, { authorization: basic }, `${INTROSPECT}?token=${MARK}`],
    [{ token }, { authorization: basicOf(`${MARK}:${MARK}`) }, INTROSPECT],
    [{ token }, { authorization: `Basic ${MARK}` }, INTROSPECT],
    ['', { authorization: `Bearer ${token}` }, `/v1/oauth/verify/store/${MARK}?${MARK}`],
    ['', bearer, `/v1/oauth/verify/${MARK}`],
    ['', bearer, '/v1/oauth/verify/store'],
    ['', { authorization: `Bearer ${MARK} ${MARK}` }, '/v1/oauth/verify/store'],
    [{ ...marked, token }, {}, REVOKE],
    [{ ...credentials, token: MARK }, {}, REVOKE],
    [{ ...credentials, token }, {}, REVOKE],
  ]
  for (const request of requests) await send(...request)
  await app.inject({ method: 'PUT', url: `${TOKEN}?${MARK}`, payload: MARK })
  await app.inject(`/health/ready?${MARK}`)
  await registerImported(store, 'moved', imported)
  await send({ ...credentials, client_id: 'moved', client_secret: imported })

  other.exec('ALTER TABLE secrets RENAME TO elsewhere')
  await send(marked)
  other.exec('ALTER TABLE elsewhere RENAME TO secrets; ALTER TABLE tokens RENAME TO elsewhere')
  await send()
  await store.close()
  await send(marked)

  const log = lines.join('')
  // The first token and the PUT have a line, too; the two checks that pass have none.
  t.equal(lines.length, answers.length, 'one line per request, none for health')
  const tokens = answers.flatMap((answer) => /"access_token":"([^"]+)"/.exec(answer)?.[1] ?? [])
  t.equal(tokens.length, 2)
  const secrets = [MARK, credentials.client_secret, suiteSecret, ...[token, ...tokens].flatMap((one) => one.slice(22))]
  const found = secrets.filter((secret) => log.includes(secret))
  t.strictSame(found, [])
})

t.test('Log: a check that passes has a line only at the level debug', async (t) => {
  for (const logDetails of [false, true]) {
    const { verify, introspect, token, lines, logged, credentials } = await createWorldOfSuites(t, { logDetails })
    const accessToken = await token()
    lines.length = 0
    for (const suite of ['/store', '']) t.equal((await verify(accessToken, suite)).statusCode, 200)
    t.equal((await introspect(accessToken)).json().active, true)
    const line = { msg: 'token accepted', client_id: credentials.client_id, remote_address: '127.0.0.1' }
    const expected = ['store', undefined, 'store'].map((suite) => ({ ...line, suite }))
    t.match(logged(), logDetails ? expected : [])
    t.equal(logged().length, logDetails ? 3 : 0)
  }
})

t.test('Log: a refusal has method and endpoint, or words of an unknown path; never the query', async (t) => {
  const { app, line } = await createLoggedWorld(t)
  const cases: [method: 'GET' | 'POST' | 'PUT', url: string, path: string][] = [
    ['POST', '/v1/oauth?client_secret=S3CR3T', '/v1/oauth'],
    ['PUT', TOKEN, TOKEN],
    ['GET', '/oauth2/Token', '/oauth2/Token'],
    ['GET', '/v1/fGRB0YkSebqKmtSvwMb7Sfa1sR97KK3Z/x', '/v1/*/x'],
    ['GET', '/v1/averyveryverylongwordthatmaybeatoken', '/v1/*'],
    ['GET', `/${'a/'.repeat(100)}`, '/a/a/a/a/a/a/a'],
    ['GET', '/v1/%zz', '/v1/*'],
  ]
  for (const [method, url, path] of cases) {
    await app.inject({ method, url })
    t.match(await line(), { msg: 'request refused', method, path, endpoint: undefined }, url)
  }
})

t.test('Log: a refusal has the client id of the request only if it is registered', async (t) => {
  const { post, line, credentials, basic } = await createLoggedWorld(t)
  const { client_id, client_secret } = credentials
  const cases: [form: Record<string, string> | string, named: string | undefined, path?: string, header?: string][] = [
    [{ client_id, grant_type: 'client_credentials' }, client_id],
    [{ ...credentials, grant_type: 'password' }, client_id],
    [{ client_id: 'store', client_secret: 'x' }, 'store', REVOKE],
    [{ client_id: client_secret, grant_type: 'a secret in the wrong field' }, undefined],
    [{ client_id: 'x'.repeat(201), grant_type: 'x' }, undefined],
    [`client_id=${client_id}&client_id=${client_id}`, undefined],
    ['', client_id, TOKEN, basicOf(`${client_id}:${client_secret}`)],
    ...[basicOf(`nobody:${client_secret}`), `Bearer ${client_id}`, 'Basic YQ=', 'Basic'].map(
      (header): (typeof cases)[number] => ['', undefined, TOKEN, header],
    ),
    [{ ...credentials, token: 'x' }, client_id, INTROSPECT, basic],
  ]
  for (const [form, named, path = TOKEN, authorization] of cases) {
    await post(form, authorization === undefined ? {} : { authorization }, path)
    const expected = { msg: 'request refused', method: 'POST', endpoint: path, client_id: named }
    t.match(await line(), expected, JSON.stringify([form, authorization]))
  }
})

t.test('Log: a refused check has the suite if it exists; an application is not a suite', async (t) => {
  const { app, post, line, basic, credentials } = await createLoggedWorld(t)
  const verify = async (suite: string, authorization: string) => {
    await app.inject({ url: `/v1/oauth/verify/${suite}`, headers: { authorization } })
    return line()
  }
  const endpoint = '/v1/oauth/verify/:suite'
  t.match(await verify('store', 'Bearer x'), { msg: 'token refused', suite: 'store', method: 'GET', endpoint })
  t.match(await verify('store', 'Bearer x y'), { msg: 'request refused', suite: 'store', method: 'GET', endpoint })
  const unknown = { reason: 'no such suite', path: '/v1/oauth/verify/stroe', suite: undefined }
  t.match(await verify('stroe', 'Bearer x'), unknown)
  t.match(await verify('S3CR3T', 'Bearer x'), { path: '/v1/oauth/verify/*' })

  await post({}, { authorization: basic }, INTROSPECT)
  t.match(await line(), { msg: 'request refused', field: 'token', suite: 'store' })
  const cases: [sent: string, reason: string, named: string][] = [
    [credentials.client_id, 'not a suite', credentials.client_id],
    ['nobody', 'unknown client', 'nobo... (6 characters)'],
    ['x'.repeat(201), 'unknown client', 'xxxx... (201 characters)'],
  ]
  for (const [client_id, reason, named] of cases) {
    await post({ ...credentials, client_id, token: 'x' }, {}, INTROSPECT)
    t.match(await line(), { msg: 'authentication refused', reason, client_id: named })
  }
})

t.test('Log: the address is the one that a trusted proxy forwards, without port, brackets and zone', async (t) => {
  const trusted = await createLoggedWorld(t, { trustProxy: ['127.0.0.1'] })
  const untrusted = await createLoggedWorld(t, { trustProxy: ['10.0.0.0/8'] })
  const cases = {
    '192.0.2.1': ['192.0.2.1', '192.0.2.1:5678'],
    '2001:db8::1': ['2001:db8::1', 'anything, 2001:db8::1', '[2001:db8::1]', '[2001:db8::1]:5'],
    '::1': ['::1%any-text'],
    'fe80::1': ['[fe80::1%any-text]:5'],
    '127.0.0.1': ['no address', 'a:b', '192.0.2.1:port', '<script>', ''],
  }
  for (const [expected, texts] of Object.entries(cases)) {
    for (const forwarded of texts) {
      const request = { url: '/nowhere', headers: { 'x-forwarded-for': forwarded } }
      await trusted.app.inject(request)
      t.equal((await trusted.line()).remote_address, expected, forwarded)
      await untrusted.app.inject(request)
      t.equal((await untrusted.line()).remote_address, '127.0.0.1', forwarded)
    }
  }
})
