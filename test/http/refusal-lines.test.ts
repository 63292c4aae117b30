import t, { type Test } from 'tap'
import { createWorldOfSuites } from '../support/suites.ts'
import { until } from '../support/until.ts'

/** A world, and the last line of its log once there are so many. */
async function createLoggedWorld(t: Test, options?: Parameters<typeof createWorldOfSuites>[1]) {
  const world = await createWorldOfSuites(t, options)
  async function line(): Promise<Record<string, unknown>> {
    await until(() => world.lines.length > 0)
    return JSON.parse(world.lines.splice(0).at(-1) as string)
  }
  return { ...world, line }
}

t.test('Log: a refusal says which method and endpoint; of an unknown path its words, never the query', async (t) => {
  const { app, line } = await createLoggedWorld(t)
  const cases: [method: 'GET' | 'POST' | 'PUT', url: string, endpoint: string | undefined, path: string][] = [
    ['POST', '/v1/oauth?client_secret=S3CR3T', undefined, '/v1/oauth'],
    ['PUT', '/v1/oauth/accesstoken', undefined, '/v1/oauth/accesstoken'],
    ['GET', '/oauth2/Token', undefined, '/oauth2/Token'],
    ['GET', '/v1/fGRB0YkSebqKmtSvwMb7Sfa1sR97KK3Z/x', undefined, '/v1/*/x'],
    ['GET', '/v1/averyveryverylongwordthatmaybeatoken', undefined, '/v1/*'],
    ['GET', `/${'a/'.repeat(100)}`, undefined, '/a/a/a/a/a/a/a'],
    ['GET', '/v1/%zz', undefined, '/v1/*'],
  ]
  for (const [method, url, endpoint, path] of cases) {
    await app.inject({ method, url })
    const said = await line()
    t.match(said, { msg: 'request refused', method, path }, url)
    t.equal(said.endpoint, endpoint)
  }
})

t.test('Log: a refusal names the client that was sent, if it is registered, and no other', async (t) => {
  const { post, line, credentials, basic } = await createLoggedWorld(t)
  const { client_id, client_secret } = credentials
  const clientOf = async (form: Record<string, string> | string, path?: string, headers = {}) => {
    await post(form, headers, path)
    const { client_id: clientId, msg, ...rest } = await line()
    t.match({ msg, ...rest }, { msg: 'request refused', method: 'POST', endpoint: path ?? '/v1/oauth/accesstoken' })
    return clientId
  }
  t.equal(await clientOf({ client_id, grant_type: 'client_credentials' }), client_id, 'a missing secret')
  t.equal(await clientOf({ ...credentials, grant_type: 'password' }), client_id, 'a wrong grant type')
  t.equal(await clientOf({ client_id: 'store', client_secret: 'x' }, '/v1/oauth/revoke'), 'store', 'a suite')
  t.equal(await clientOf({ client_id: client_secret, grant_type: 'x' }), undefined, 'a secret in the wrong field')
  t.equal(await clientOf({ client_id: 'x'.repeat(201), grant_type: 'x' }), undefined)
  t.equal(await clientOf(`client_id=${client_id}&client_id=${client_id}`), undefined)
  const inHeader = (authorization: string) => clientOf('', undefined, { authorization })
  t.equal(await inHeader(`Basic ${btoa(`${client_id}:${client_secret}`)}`), client_id)
  for (const other of [`Basic ${btoa(`nobody:${client_secret}`)}`, `Bearer ${client_id}`, 'Basic YQ=', 'Basic']) {
    t.equal(await inHeader(other), undefined, other)
  }
  const twice = { ...credentials, token: 'x' }
  t.equal(await clientOf(twice, '/v1/oauth/introspect', { authorization: basic }), client_id)
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
  const unknown = await verify('stroe', 'Bearer x')
  t.match(unknown, { reason: 'no such suite', path: '/v1/oauth/verify/stroe' })
  t.equal(unknown.suite, undefined)
  t.match(await verify('S3CR3T', 'Bearer x'), { path: '/v1/oauth/verify/*' })

  await post({}, { authorization: basic }, '/v1/oauth/introspect')
  t.match(await line(), { msg: 'request refused', field: 'token', suite: 'store' })
})

t.test('Log: an application that introspects is no suite, and no unknown client', async (t) => {
  const { post, line, credentials } = await createLoggedWorld(t)
  const { client_id, client_secret } = credentials
  const answer = await post({ client_id, client_secret, token: 'x' }, {}, '/v1/oauth/introspect')
  t.equal(answer.statusCode, 401)
  t.match(await line(), { msg: 'authentication refused', reason: 'not a suite', client_id })
  await post({ client_id: 'nobody', client_secret, token: 'x' }, {}, '/v1/oauth/introspect')
  t.match(await line(), { reason: 'unknown client', client_id: 'nobo... (6 characters)' })
  await post({ client_id: 'x'.repeat(201), client_secret, token: 'x' }, {}, '/v1/oauth/introspect')
  t.match(await line(), { reason: 'unknown client' })
})

t.test('Log: the address is one, whatever a trusted proxy forwards', async (t) => {
  const { post, line } = await createLoggedWorld(t, { trustProxy: ['127.0.0.1'] })
  const addressOf = async (forwarded: string) => {
    await post(undefined, { 'x-forwarded-for': forwarded })
    return (await line()).remote_address
  }
  t.equal(await addressOf('203.0.113.9'), '203.0.113.9')
  t.equal(await addressOf('anything, 2001:db8::1'), '2001:db8::1')
  for (const text of ['unknown', '<script>', '']) t.equal(await addressOf(text), '127.0.0.1', text)
})

t.test('Refusals: 404 and 405 say where tokens are and which method is right', async (t) => {
  const { app } = await createLoggedWorld(t)
  const told = async (method: 'PUT' | 'GET', url: string) =>
    (await app.inject({ method, url })).json().error_description
  t.match(await told('PUT', '/v1/oauth/accesstoken'), /: use POST$/)
  t.match(await told('PUT', '/health/live'), /: use GET or HEAD$/)
  t.match(await told('GET', '/v1/oauth'), /tokens are at POST \/v1\/oauth\/accesstoken$/)
})

t.test('Contract rule 8: who sends an Authorization header too is told to leave it out', async (t) => {
  const { post } = await createLoggedWorld(t)
  const { error_description } = (await post(undefined, { authorization: 'Bearer x' })).json()
  t.equal(error_description, 'Credentials belong in the body: leave out the Authorization header')
})

t.test('RFC 6749 §2.3.1: a client id that is too long to be one is refused like any unknown one', async (t) => {
  const { post, store, credentials } = await createLoggedWorld(t)
  const asked: string[] = []
  const { findApplication } = store
  t.capture(store, 'findApplication', (clientId: string) => {
    asked.push(clientId)
    return findApplication.call(store, clientId)
  })
  const [unknown, long] = [
    await post({ ...credentials, client_id: 'x'.repeat(200) }),
    await post({ ...credentials, client_id: 'x'.repeat(201) }),
  ]
  t.strictSame([long.statusCode, long.body], [unknown.statusCode, unknown.body])
  t.strictSame(asked, ['x'.repeat(200)], 'it is not looked for')
})
