import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { registerImported } from '../support/imported.ts'
import { createWorldOfSuites } from '../support/suites.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { createWorld } from '../support/world.ts'

const MARK = 'S3CR3T'
const [TOKEN, INTROSPECT, REVOKE] = ['/v1/oauth/accesstoken', '/v1/oauth/introspect', '/v1/oauth/revoke']

/** A world, and the last line of its log once there is one. */
async function createLoggedWorld(t: Test, options?: Parameters<typeof createWorldOfSuites>[1]) {
  const world = await createWorldOfSuites(t, options)
  async function line(): Promise<Record<string, unknown>> {
    await until(() => world.lines.length > 0)
    return JSON.parse(world.lines.splice(0).at(-1) as string)
  }
  return { ...world, line }
}

t.test('Log: one line per token, with the client, the id of the token and the caller; never the token', async (t) => {
  const { token, lines, credentials } = await createWorld(t)
  const accessToken = await token()
  t.equal(lines.length, 1)
  const { client_id, token_id, remote_address, msg } = JSON.parse(lines[0] as string)
  t.strictSame([client_id, remote_address, msg], [credentials.client_id, '127.0.0.1', 'token issued'])
  t.equal(token_id.replaceAll('-', ''), Buffer.from(accessToken, 'base64url').subarray(0, 16).toString('hex'))
  t.notMatch(lines[0], accessToken)
})

t.test("Log: a token's line says which of the client's secrets was shown", async (t) => {
  const { post, store, lines, credentials, administration } = await createWorld(t)
  const id = credentials.client_id
  const secretOf = async (client_secret: string, client_id = id) => {
    t.equal((await post({ ...credentials, client_id, client_secret })).statusCode, 200)
    return JSON.parse(lines.at(-1) as string).secret_id
  }
  await registerImported(store, 'moved', 'legacy-secret')
  const { clientSecret } = await administration.rotateSecret(id, 1000)
  const [first, second] = await administration.listSecrets(id)
  const [other] = await administration.listSecrets('moved')
  t.equal(await secretOf(credentials.client_secret), first?.id)
  t.equal(await secretOf(clientSecret), second?.id)
  t.equal(await secretOf('legacy-secret', 'moved'), other?.id, 'verified just now')
  t.equal(await secretOf('legacy-secret', 'moved'), other?.id, 'remembered')
})

t.test('Log: no secret, no token, no query and no body ever reaches it', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const { app, post, lines, credentials, basic, suiteSecret, store } = await createWorldOfSuites(t, {
    databaseUrl: `sqlite:${file}`,
  })
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
    [{ ...marked, client_id: '' }],
    [`${body}&client_secret=${MARK}`],
    [`${body}&${MARK}=1&${MARK}=2`],
    [`${MARK}&${MARK}`],
    [MARK],
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
    [suite, { authorization: `Basic ${btoa(`store:${MARK}`)}` }, INTROSPECT],
    [{ token }, { authorization: basic }, `${INTROSPECT}?token=${MARK}`],
    [{ token }, { authorization: `Basic ${btoa(`${MARK}:${MARK}`)}` }, INTROSPECT],
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

  const other = new Database(file)
  other.exec('ALTER TABLE secrets RENAME TO elsewhere')
  await send(marked)
  other.exec('ALTER TABLE elsewhere RENAME TO secrets; ALTER TABLE tokens RENAME TO elsewhere')
  await send()
  other.close()
  await store.close()
  await send(marked)

  const log = lines.join('')
  // The first token and the PUT have one, too; two checks pass, and have none.
  t.equal(lines.length, answers.length, 'one line per request, none for health')
  const tokens = answers.flatMap((answer) => /"access_token":"([^"]+)"/.exec(answer)?.[1] ?? [])
  t.equal(tokens.length, 2)
  const secrets = [MARK, credentials.client_secret, suiteSecret, ...[token, ...tokens].flatMap((one) => one.slice(22))]
  t.strictSame(
    secrets.filter((secret) => log.includes(secret)),
    [],
  )
})

t.test('Log: a check that answers yes has a line for those who ask for details only', async (t) => {
  for (const logDetails of [false, true]) {
    const { verify, introspect, token, lines, credentials } = await createWorldOfSuites(t, { logDetails })
    const accessToken = await token()
    lines.length = 0
    const answers = [await verify(accessToken), await verify(accessToken, ''), await introspect(accessToken)]
    t.strictSame(
      answers.map(({ statusCode }) => statusCode),
      [200, 200, 200],
    )
    const said = lines.map((text) => JSON.parse(text))
    t.strictSame(
      said.map(({ msg, suite, client_id, remote_address }) => [msg, suite, client_id, remote_address]),
      logDetails
        ? ['store', undefined, 'store'].map((of) => ['token accepted', of, credentials.client_id, '127.0.0.1'])
        : [],
    )
  }
})

t.test('Log: a refusal says which method and endpoint; of an unknown path its words, never the query', async (t) => {
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

t.test('Log: a refusal names the client that was sent, if it is registered, and no other', async (t) => {
  const { post, line, credentials, basic } = await createLoggedWorld(t)
  const { client_id, client_secret } = credentials
  const basicOf = (pair: string) => `Basic ${btoa(pair)}`
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

t.test('Log: a refusal of a check names the suite, if there is such a suite', async (t) => {
  const { app, post, line, basic } = await createLoggedWorld(t)
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
})

t.test('Log: an application that introspects is no suite, and no unknown client', async (t) => {
  const { post, line, credentials } = await createLoggedWorld(t)
  const { client_id, client_secret } = credentials
  const cases = [
    [client_id, 'not a suite', client_id],
    ['nobody', 'unknown client', 'nobo... (6 characters)'],
    ['x'.repeat(201), 'unknown client', 'xxxx... (201 characters)'],
  ]
  for (const [sent, reason, named] of cases) {
    const answer = await post({ client_id: sent as string, client_secret, token: 'x' }, {}, INTROSPECT)
    t.equal(answer.statusCode, 401)
    t.match(await line(), { msg: 'authentication refused', reason, client_id: named })
  }
})

t.test('Log: the address is the one that a trusted proxy forwards, without port, brackets and zone', async (t) => {
  const trusted = await createLoggedWorld(t, { trustProxy: ['127.0.0.1'] })
  const untrusted = await createLoggedWorld(t, { trustProxy: ['10.0.0.0/8'] })
  const cases = {
    '192.0.2.1': '192.0.2.1',
    '192.0.2.1:5678': '192.0.2.1',
    '2001:db8::1': '2001:db8::1',
    'anything, 2001:db8::1': '2001:db8::1',
    '[2001:db8::1]': '2001:db8::1',
    '[2001:db8::1]:5': '2001:db8::1',
    '::1%any-text': '::1',
    '[fe80::1%any-text]:5': 'fe80::1',
    'no address': '127.0.0.1',
    'a:b': '127.0.0.1',
    '192.0.2.1:port': '127.0.0.1',
    '<script>': '127.0.0.1',
    '': '127.0.0.1',
  }
  for (const [forwarded, expected] of Object.entries(cases)) {
    for (const [{ app, line }, address] of [
      [trusted, expected],
      [untrusted, '127.0.0.1'],
    ] as const) {
      await app.inject({ url: '/nowhere', headers: { 'x-forwarded-for': forwarded } })
      t.equal((await line()).remote_address, address, forwarded)
    }
  }
})
