import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { type ClientOptions, createClient, TokenRequestError } from '../../examples/client/client.ts'
import { listenHere } from '../support/listen-here.ts'
import { runProgram } from '../support/run-program.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { createWorld, START } from '../support/world.ts'

const MAIN = join(import.meta.dirname, '../../examples/client/main.ts')

const listen = async (t: Test, listener: RequestListener) =>
  `http://${(await listenHere(t, createServer(listener))).address}`

/** A listening token server, an API that asks it about every request, and a client of both. */
async function createParties(t: Test, databaseUrl = 'sqlite::memory:') {
  const world = await createWorld(t, { databaseUrl })
  const authUrl = await world.app.listen({ port: 0, host: '127.0.0.1' })
  const { client_id, client_secret } = world.credentials

  const calls: { status: number; authorization: string | undefined; body: string }[] = []
  const gate = { atSlow: () => {}, opened: Promise.resolve() }
  const api = await listen(t, async (request, response) => {
    const { authorization } = request.headers
    const body = await text(request)
    const headers = { ...(authorization && { authorization }) }
    const verified = await fetch(`${authUrl}/v1/oauth/verify`, { headers })
    const status = request.url === '/closed' ? 401 : verified.status
    calls.push({ status, authorization, body })
    if (request.url === '/slow') {
      gate.atSlow()
      await gate.opened
    }
    response.writeHead(status).end(`${request.method} ${request.url} ${body}`)
  })

  const settings = { authUrl, clientId: client_id, clientSecret: client_secret, now: () => world.clock.time }
  const client = (options: Partial<ClientOptions> = {}) => createClient({ ...settings, ...options })
  const issued = () => world.lines.filter((line) => JSON.parse(line).msg === 'token issued').length
  /** A client that has a token which is revoked by now. */
  async function revokedClient() {
    const { request } = client()
    await request(api)
    await world.administration.revokeAllTokens(client_id)
    return request
  }
  const statuses = () => calls.map(({ status }) => status)
  return { ...world, authUrl, api, calls, statuses, gate, client, revokedClient, issued }
}

const failure = (promise: Promise<unknown>): Promise<TokenRequestError> =>
  promise.then(
    () => Promise.reject(new Error('it did not fail')),
    (error) => error,
  )

t.test('Client: a token is used for as long as it is valid, and renewed a minute before its end', async (t) => {
  const { api, calls, statuses, client, clock, issued } = await createParties(t)
  const { request } = client()
  for (const [age, tokens] of [
    [0, 1],
    [0, 1],
    // The answer says 3599 seconds.
    [3_538_999, 1],
    [3_539_000, 2],
    [3_600_000, 2],
    [3_539_000 + 3_539_000, 3],
  ] as const) {
    clock.time = START + age
    t.equal((await request(api)).status, 200)
    t.equal(issued(), tokens, `${tokens} tokens after ${age} ms`)
  }
  t.strictSame(new Set(statuses()), new Set([200]), 'the API refused none')
  t.equal(new Set(calls.map(({ authorization }) => authorization)).size, 3)
})

t.test('Client: the margin is a setting, and the time that the token request takes counts as used', async (t) => {
  const { client, clock, issued } = await createParties(t)
  const slow: typeof fetch = async (url, init) => {
    const response = await fetch(url, init)
    clock.time += 5_000
    return response
  }
  const { token } = client({ margin: 0, fetch: slow })
  const first = await token()
  clock.time = START + 3_598_999
  t.equal(await token(), first)
  clock.time += 1
  t.not(await token(), first)
  t.equal(issued(), 2)
})

t.test('Client: twenty callers at once cause one renewal, even after a refusal', async (t) => {
  const { api, client, clock, issued, revokedClient, statuses } = await createParties(t)
  const callers = (request: Awaited<ReturnType<typeof revokedClient>>) =>
    Promise.all(Array.from({ length: 20 }, () => request(api)))
  const { request } = client()
  for (const tokens of [1, 2]) {
    t.match(await callers(request), Array(20).fill({ status: 200 }))
    t.equal(issued(), tokens)
    clock.time += 3_600_000
  }
  t.match(await callers(await revokedClient()), Array(20).fill({ status: 200 }))
  t.equal(statuses().filter((status) => status === 401).length, 20)
  t.equal(issued(), 4)
})

t.test('Client: on a 401 it renews and sends the same request once more', async (t) => {
  const { api, calls, revokedClient, issued } = await createParties(t)
  const request = await revokedClient()
  const init = { method: 'PUT', body: 'an order', headers: { 'content-type': 'text/plain' } }
  const response = await request(new URL('/orders', api), init)
  t.equal(response.status, 200)
  t.equal(await response.text(), 'PUT /orders an order')
  t.match(calls, [
    { status: 200, body: '' },
    { status: 401, body: 'an order' },
    { status: 200, body: 'an order' },
  ])
  t.equal(calls[1]?.authorization, calls[0]?.authorization)
  t.equal(issued(), 2)
})

t.test('Client: a 401 that comes after the renewal takes the new token', async (t) => {
  const { api, statuses, revokedClient, gate, issued } = await createParties(t)
  const request = await revokedClient()
  const opening = Promise.withResolvers<void>()
  gate.opened = opening.promise
  const refused = Promise.withResolvers<void>()
  gate.atSlow = refused.resolve
  const slow = request(`${api}/slow`)
  await refused.promise
  t.equal((await request(api)).status, 200)
  opening.resolve()
  t.equal((await slow).status, 200)
  t.strictSame(statuses(), [200, 401, 401, 200, 200])
  t.equal(issued(), 2)
})

t.test('Client: a second 401 is handed back', async (t) => {
  const { api, calls, client, issued } = await createParties(t)
  const response = await client().request(`${api}/closed`)
  t.equal(response.status, 401)
  t.equal(await response.text(), 'GET /closed ', 'its body can be read')
  t.equal(calls.length, 2)
  t.equal(issued(), 2)
})

t.test('Client: a refused token request is an error with what the server said, without the secret', async (t) => {
  const { api, calls, client, lines } = await createParties(t)
  const clientSecret = 'a-secret-that-is-wrong'
  const error = await failure(client({ clientSecret }).request(api))
  t.ok(error instanceof TokenRequestError)
  t.match(error, { status: 401, error: 'invalid_client', errorDescription: 'Unknown client or wrong secret' })
  const said = 'The token request failed: 401, invalid_client, Unknown client or wrong secret, request '
  t.equal(error.message, said + error.requestId)
  const { reason, request_id } = JSON.parse(lines.at(-1) as string)
  t.strictSame([reason, request_id], ['wrong secret', error.requestId], 'by which the operator finds the reason')
  t.notMatch(`${error.stack} ${JSON.stringify(error)}`, clientSecret)
  t.equal(calls.length, 0)
})

t.test('Client: a failed token request is not cached', async (t) => {
  const { administration, api, client, clock, credentials, issued } = await createParties(t)
  const { request } = client()
  for (const tokens of [1, 2]) {
    await administration.suspend(credentials.client_id)
    const errors = await Promise.all([failure(request(api)), failure(request(api))])
    t.match(errors, [{ error: 'invalid_client' }, { error: 'invalid_client' }])
    await administration.resume(credentials.client_id)
    t.equal((await request(api)).status, 200)
    t.equal(issued(), tokens)
    clock.time += 3_600_000
  }
})

t.test('Client: a token that was refused is not tried again where its renewal failed', async (t) => {
  const { administration, api, statuses, revokedClient, credentials } = await createParties(t)
  const request = await revokedClient()
  await administration.suspend(credentials.client_id)
  await failure(request(api))
  await administration.resume(credentials.client_id)
  t.equal((await request(api)).status, 200)
  t.strictSame(statuses(), [200, 401, 200])
})

t.test('Client: with 503 the error says when to try again', async (t) => {
  const { file, env } = temporaryDatabase(t)
  const { token } = (await createParties(t, env.DATABASE_URL)).client()
  const other = new Database(file)
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  t.match(await failure(token()), { status: 503, error: 'temporarily_unavailable', retryAfter: 5 })
  other.exec('COMMIT')
  t.ok(await token())
})

t.test("Client: an answer that is not the token server's is an error too", async (t) => {
  const { authUrl, client, issued } = await createParties(t)
  const isFailure = async (authUrl: string, expected: object) => {
    const error = await failure(client({ authUrl }).token())
    t.ok(error instanceof TokenRequestError)
    t.match(error, { error: undefined, ...expected })
  }
  for (const [status, body] of [
    [502, '<html>'],
    [200, '<html>'],
    [200, 'null'],
    [200, '{}'],
  ] as const) {
    const url = await listen(t, (_request, response) => response.writeHead(status).end(body))
    await isFailure(url, { status, message: `The token request failed: ${status}` })
  }
  const noAnswer = { status: undefined, message: 'The token request failed: no answer', cause: TypeError }
  await isFailure('http://127.0.0.1:1', noAnswer)
  const location = `${authUrl}/v1/oauth/accesstoken`
  await isFailure(await listen(t, (_request, response) => response.writeHead(307, { location }).end()), noAnswer)
  t.equal(issued(), 0, 'the secret does not follow a redirect')
})

t.test('The contract: the client sends the token request byte for byte', async (t) => {
  const { client, credentials, authUrl } = await createParties(t)
  const sent: unknown[] = []
  const recording: typeof fetch = (url, init) => {
    const { method, headers, body } = init as RequestInit
    sent.push({ url, method, headers, body })
    return fetch(url, init)
  }
  await client({ fetch: recording }).token()
  const { client_id, client_secret } = credentials
  t.strictSame(sent, [
    {
      url: `${authUrl}/v1/oauth/accesstoken`,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `grant_type=client_credentials&client_id=${client_id}&client_secret=${client_secret}`,
    },
  ])
})

t.test('Client: the program takes its settings from the environment', async (t) => {
  const { api, authUrl, credentials } = await createParties(t)
  const run = (settings: NodeJS.ProcessEnv) =>
    runProgram(process.execPath, [MAIN], { env: { AUTH_URL: authUrl, ...settings } })
  const { client_id: CLIENT_ID, client_secret: CLIENT_SECRET } = credentials
  t.match(await run({ CLIENT_ID, CLIENT_SECRET, API_URL: `${api}/orders` }), { out: '200 GET /orders \n', status: 0 })
  t.match(await run({ CLIENT_ID, CLIENT_SECRET: 'wrong', API_URL: api }), { err: /invalid_client/, status: 1 })
  t.match(await run({ CLIENT_ID, CLIENT_SECRET }), { err: /must be set/, status: 1 })
})
