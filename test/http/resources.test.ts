import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { refused } from '../support/refused.ts'
import { createWorldOfSuites, PUBLIC_URL } from '../support/world.ts'

const URL = 'https://mcp.example/mcp'
const METADATA = '/.well-known/oauth-protected-resource'

/** A world whose suite `store` has a URL. `product-information` has none; `hidden` has one, and nobody is approved for it. */
async function createWorldOfResources(t: Test, options?: Parameters<typeof createWorldOfSuites>[1]) {
  const world = await createWorldOfSuites(t, options)
  const { administration, credentials, post } = world
  await administration.updateSuite('store', { url: URL })
  await administration.registerSuite({ suiteId: 'hidden', name: 'Hidden', url: 'https://hidden.example/' })
  await administration.approve(credentials.client_id, 'product-information')
  async function ask(resource: string) {
    const answer = await post({ ...credentials, resource })
    // The log may have the line of a refused request shortly after its answer.
    await nextTurn()
    return answer
  }
  const tokenFor = async (resource: string): Promise<string> => (await ask(resource)).json().access_token
  return { ...world, ask, tokenFor }
}

t.test('RFC 6749 §4.1.2.1: the authorization endpoint refuses everybody, and its query is not logged', async (t) => {
  const { app, logged } = await createWorldOfSuites(t)
  const query = '?response_type=code&client_id=S3CRET&redirect_uri=https%3A%2F%2Fclient.example'
  for (const target of ['', '?', query]) {
    const answer = await app.inject(`/v1/oauth/authorize${target}`)
    refused(t, answer, 400, 'unsupported_response_type', /client credentials/)
  }
  const lines = logged()
  t.equal(lines.length, 3)
  t.match(lines[2], { msg: 'request refused', reason: 'unsupported response type', endpoint: '/v1/oauth/authorize' })
  t.notMatch(JSON.stringify(lines), /S3CRET|client\.example/)
})

t.test('RFC 9728 §5.1: a refusal of the gateway check names the metadata of a suite with a URL', async (t) => {
  const { app, verify, token, administration, credentials } = await createWorldOfResources(t)
  const at = (suite: string) => `Bearer realm="${PUBLIC_URL}", resource_metadata="${PUBLIC_URL}${METADATA}/${suite}"`
  const challengeOf = async (accessToken: string | undefined, path?: string) =>
    (await verify(accessToken, path)).headers['www-authenticate']
  t.equal(await challengeOf(undefined), at('store'))
  t.equal(await challengeOf('x'), `${at('store')}, error="invalid_token", error_description="The token is invalid"`)
  const accessToken = await token()
  t.match(await challengeOf(accessToken, '/hidden'), `${at('hidden')}, error="insufficient_scope"`)
  t.equal(await challengeOf(undefined, '/product-information'), `Bearer realm="${PUBLIC_URL}"`)
  t.equal(await challengeOf(undefined, ''), `Bearer realm="${PUBLIC_URL}"`)
  t.equal(await challengeOf(accessToken), undefined)

  const described = await app.inject(`${METADATA}/store`)
  t.strictSame(described.json(), {
    resource: URL,
    authorization_servers: [PUBLIC_URL],
    bearer_methods_supported: ['header'],
  })
  t.equal((await app.inject('/.well-known/oauth-authorization-server')).json().issuer, PUBLIC_URL)
  for (const suite of ['product-information', 'nowhere', '', `/${credentials.client_id}`]) {
    refused(t, await app.inject(`${METADATA}/${suite}`), 404, 'invalid_request', /endpoint/)
  }
  await administration.updateSuite('store', { url: '' })
  t.equal(await challengeOf(undefined), `Bearer realm="${PUBLIC_URL}"`)
  t.equal((await app.inject(`${METADATA}/store`)).statusCode, 404)
})

t.test('RFC 8707 §2: a token for the URL of a suite is valid there alone', async (t) => {
  const { tokenFor, token, verify, introspect, post, otherSecret, logged, credentials } =
    await createWorldOfResources(t)
  const [limited, unlimited] = [await tokenFor(URL), await token()]
  const issued = logged().filter(({ msg }) => msg === 'token issued')
  t.strictSame(
    issued.map(({ suite }) => suite),
    ['store', undefined],
  )
  const ofOther = (accessToken: string) => {
    const form = { token: accessToken, client_id: 'product-information', client_secret: otherSecret }
    return post(form, {}, '/v1/oauth/introspect')
  }
  t.equal((await verify(limited)).statusCode, 200)
  t.match((await introspect(limited)).json(), { active: true, client_id: credentials.client_id, aud: URL })
  t.match((await introspect(unlimited)).json(), { active: true, aud: 'store' })
  t.match((await ofOther(unlimited)).json(), { active: true, aud: 'product-information' })
  const reason = 'token for another suite'
  for (const path of ['/product-information', '/hidden', '']) {
    refused(t, await verify(limited, path), 401, 'invalid_token', /./)
    t.match(logged().at(-1), { msg: 'token refused', reason, client_id: credentials.client_id }, path)
  }
  t.equal((await ofOther(limited)).body, '{"active":false}')
  t.match(logged().at(-1), { reason, suite: 'product-information' })
  for (const path of ['/product-information', '']) t.equal((await verify(unlimited, path)).statusCode, 200)
})

t.test('RFC 8707 §2: a token for a suite ends like any other, and needs the approval', async (t) => {
  const { tokenFor, verify, introspect, administration, credentials, post } = await createWorldOfResources(t)
  const [one, two, three] = [await tokenFor(URL), await tokenFor(URL), await tokenFor(URL)]
  t.equal((await post({ ...credentials, token: one }, {}, '/v1/oauth/revoke')).statusCode, 200)
  t.equal((await verify(one)).statusCode, 401)
  await administration.withdraw(credentials.client_id, 'store')
  t.equal((await verify(two)).statusCode, 403)
  await administration.approve(credentials.client_id, 'store')
  t.equal((await verify(two)).statusCode, 200)
  await administration.updateSuite('store', { url: '' })
  t.match((await introspect(two)).json(), { active: true, aud: 'store' }, 'it is for the suite, whatever its URL')
  await administration.revokeAllTokens(credentials.client_id)
  t.equal((await verify(two)).statusCode, 401)
  t.equal((await introspect(three)).body, '{"active":false}')
})

t.test('RFC 8707 §2: a resource is compared as the URL standard writes it', async (t) => {
  const { ask, administration } = await createWorldOfResources(t)
  for (const resource of [URL, 'HTTPS://MCP.example:443/mcp', 'https://mcp.example/a/../mcp', ` ${URL}`]) {
    t.equal((await ask(resource)).statusCode, 200, resource)
  }
  await administration.updateSuite('store', { url: 'https://mcp.example/' })
  t.match(await administration.showSuite('store'), { url: 'https://mcp.example' })
  for (const resource of ['https://mcp.example', 'https://mcp.example/']) {
    t.equal((await ask(resource)).statusCode, 200, resource)
  }
})

t.test('RFC 8707 §2: any other resource is an invalid target, whether or not a suite has it', async (t) => {
  const { ask, post, credentials, logged } = await createWorldOfResources(t)
  const others = ['/', '/x', '?a=b', '#a'].map((end) => URL + end)
  const unknown = [
    'store',
    'mcp.example/mcp',
    'http://mcp.example/mcp',
    'https://u@mcp.example/mcp',
    'x',
    '//',
    ...others,
  ]
  for (const resource of unknown) {
    refused(t, await ask(resource), 400, 'invalid_target', /^The resource is not the URL of a suite that/)
    t.match(logged().at(-1), { msg: 'request refused', reason: 'unknown resource', client_id: credentials.client_id })
  }
  const known = await ask('https://hidden.example')
  t.equal(known.body, (await ask('https://nowhere.example')).body, 'nobody learns which URLs suites have')
  t.match(logged().at(-2), { reason: 'resource not approved', suite: 'hidden' })
  refused(t, await post({ ...credentials, resource: 'x', client_secret: 'wrong' }), 401, 'invalid_client', /./)
  const body = new URLSearchParams({ ...credentials, resource: URL })
  refused(t, await post(`${body}&${body}`), 400, 'invalid_request', /given more than once/)
  refused(t, await post(`${body}&resource=${URL}`), 400, 'invalid_request', /^The field resource is given more/)
  t.equal((await ask('')).statusCode, 200, 'RFC 6749 §3.1: an empty one is none')
})

t.test('RFC 8707 §2: while no suite has a URL, a resource is an unknown field', async (t) => {
  const { post, credentials, verify } = await createWorldOfSuites(t)
  const { access_token } = (await post({ ...credentials, resource: 'anything' })).json()
  t.equal((await verify(access_token, '')).statusCode, 200)
})

t.test('RFC 8707 §2: a token for a suite counts for the quota, and a refused resource does not', async (t) => {
  const { ask } = await createWorldOfResources(t, { tokenQuota: 1 })
  const statuses: number[] = []
  for (const resource of ['x', URL, URL]) statuses.push((await ask(resource)).statusCode)
  t.strictSame(statuses, [400, 200, 429])
})
