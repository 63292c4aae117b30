import { setImmediate as turn } from 'node:timers/promises'
import fastify, { type FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'
import { ProblemError, problemOf, sendProblem } from '../../../src/admin/wire/problem.ts'
import { createNotFoundHandler, refuseUnstorable } from '../../../src/admin/wire/routing.ts'
import { takeTurns } from '../../../src/admin/wire/turns.ts'
import { OperatorError } from '../../../src/domain/operator-error.ts'

/** An app that answers errors with problems. */
function createApp(t: Test, options: FastifyServerOptions = {}) {
  const app = fastify(options)
  t.teardown(() => app.close())
  app.setErrorHandler((error, _request, reply) => sendProblem(reply, problemOf(error)))
  return app
}

t.test('Problems: an OperatorError has its own status and message; other errors get standard ones', async (t) => {
  const taken = { 'taken id': 409, 'idempotency key reused': 422 }
  const kinds = { invalid: 422, 'not found': 404, refused: 409, ...taken } as const
  for (const [kind, status] of Object.entries(kinds)) {
    const error = new OperatorError('It is so.', { kind: kind as keyof typeof kinds })
    t.match(problemOf(error), { status, detail: 'It is so.' }, kind)
  }
  const fields = [{ field: 'developer_email', message: 'must be an e-mail address' }]
  const { errors } = problemOf(new OperatorError('It is wrong.', { kind: 'invalid', fields }))
  t.strictSame(errors, [{ detail: 'must be an e-mail address', pointer: '#/developer_email' }])
  const refused = (statusCode: number) => problemOf(Object.assign(new Error('x'), { statusCode }))
  t.strictSame(refused(414), { code: 'path_too_long', status: 414, detail: 'URI Too Long' })
  t.match(refused(418), { code: 'malformed', status: 400 })
  const error = new ProblemError('too_many_requests', 'Not now.', { status: 429 })
  t.strictSame(problemOf(error), { code: 'too_many_requests', status: 429, detail: 'Not now.' })
})

t.test('RFC 9457: an invalid body is reported field by field', async (t) => {
  const customOptions = { coerceTypes: false, removeAdditional: false, allErrors: true } as const
  const app = createApp(t, { ajv: { customOptions } })
  const body = {
    type: 'object',
    required: ['name'],
    additionalProperties: false,
    minProperties: 1,
    properties: {
      name: { type: 'string' },
      suites: { type: 'array', items: { type: 'string' } },
      seconds: { type: 'integer', minimum: 0, maximum: 10 },
      more: { type: ['object', 'null'] },
    },
  }
  const querystring = { type: 'object', additionalProperties: false, properties: { limit: { type: 'string' } } }
  app.post('/', { schema: { body, querystring } }, () => '')
  const answer = async (payload: object, query = '') => {
    const { statusCode, headers, body } = await app.inject({ method: 'POST', url: `/${query}`, payload })
    t.equal(headers['content-type'], 'application/problem+json; charset=utf-8')
    return { statusCode, ...JSON.parse(body) }
  }
  t.strictSame(await answer({ suites: ['a', 1], other: 1 }), {
    statusCode: 422,
    title: 'Unprocessable Entity',
    status: 422,
    code: 'invalid',
    detail: 'The field name is missing. The field other is unknown. The field suites/1 must be text.',
    errors: [
      { detail: 'is missing', pointer: '#/name' },
      { detail: 'is unknown', pointer: '#/other' },
      { detail: 'must be text', pointer: '#/suites/1' },
    ],
  })
  const errors = async (payload: object) =>
    (await answer(payload)).errors.map(({ pointer, detail }: Record<string, string>) => `${pointer} ${detail}`)
  t.strictSame(await errors({ name: 'a', suites: 1, seconds: -1, more: 1 }), [
    '#/suites must be a list',
    '#/seconds must be 0 or more',
    '#/more must be an object',
  ])
  t.strictSame(await errors({ name: 'a', seconds: 11 }), ['#/seconds must be 10 or less'])
  t.strictSame(await errors({ name: 'a', '~/ü': 1 }), ['#/~0~1%C3%BC is unknown'])
  t.strictSame(await errors({}), ['# must have at least one field', '#/name is missing'])
  t.match(await answer([]), { detail: 'The body must be an object.', errors: [{ pointer: '#' }] })

  const unknown = await answer({ name: 'a' }, '?page=2')
  t.match(unknown, { statusCode: 400, title: 'Bad Request', detail: 'The parameter page is unknown.' })
  t.equal(unknown.errors, undefined)
  t.match(await answer({ name: 'a' }, '?limit=1&limit=2'), { detail: 'The parameter limit is given more than once.' })
})

t.test('RFC 9110 §15.5.6: an unsupported method gets the list of allowed ones', async (t) => {
  const app = createApp(t)
  app.setNotFoundHandler(createNotFoundHandler(app))
  app.get('/things', () => '')
  app.post('/things', () => '')
  app.delete('/things/:id', () => '')
  app.get('/things/:id/parts/:part', () => '')
  app.get('/files/*', () => '')
  const asked = async (method: 'GET' | 'PUT' | 'OPTIONS' | 'QUERY', url: string) => {
    const { statusCode, headers } = await app.inject({ method, url })
    return [statusCode, headers.allow]
  }
  t.strictSame(await asked('PUT', '/things?a=/b'), [405, 'GET, HEAD, POST'])
  t.strictSame(await asked('OPTIONS', '/things'), [405, 'GET, HEAD, POST'])
  t.strictSame(await asked('QUERY', '/things'), [405, 'GET, HEAD, POST'])
  t.strictSame(await asked('GET', '/things/a%2Fb'), [405, 'DELETE'])
  t.strictSame(await asked('PUT', '/things/a/parts/b'), [405, 'GET, HEAD'])
  t.strictSame(await asked('PUT', '/files/a/b'), [405, 'GET, HEAD'])
  const nothing = ['/', '/thing', '/things/', '/things/a/parts', '/things/a/parts/', '/things/a/parts/b/c', '/files']
  for (const url of nothing) t.strictSame(await asked('PUT', url), [404, undefined], url)
})

t.test('Texts: characters that a store cannot hold are refused anywhere in a request', async (t) => {
  const app = createApp(t)
  refuseUnstorable(app)
  app.all('/:id', async () => 'taken')
  const statusOf = async (url: string, payload?: object) =>
    (await app.inject({ url, ...(payload && { method: 'POST', payload }) })).statusCode
  t.equal(await statusOf('/a?b=c', { name: '漢字 😀', suites: ['store'], overlap_seconds: 1, none: null }), 200)
  t.equal(await statusOf('/a%00'), 400)
  t.equal(await statusOf('/a?b=%00&c=d'), 400)
  t.equal(await statusOf('/a', { name: 'half \ud83d' }), 400)
  t.equal(await statusOf('/a', { suites: ['store', '\0'] }), 400)
})

/** An app whose requests take turns. */
function createQueue(t: Test) {
  const app = fastify()
  t.teardown(() => app.close())
  app.addHook('onRequest', async (request) => {
    Object.assign(request, { caller: { operator: { name: request.headers.from ?? 'anna' } } })
  })
  takeTurns(app)
  return app
}

t.test('Turns: requests run one at a time, whatever their result, and other work runs in between', async (t) => {
  const app = createQueue(t)
  let atWork = 0
  let most = 0
  const order: string[] = []
  app.get<{ Params: { name: string } }>('/:name', async ({ params: { name } }) => {
    most = Math.max(most, ++atWork)
    await turn()
    atWork--
    order.push(name)
    if (name.startsWith('bad')) throw new Error('It failed.')
    return name
  })
  const names = ['a', 'bad', 'b', 'c']
  const answers = await Promise.all(names.map((name) => app.inject(`/${name}`)))
  const statuses = answers.map(({ statusCode }) => statusCode)
  t.strictSame(statuses, [200, 500, 200, 200])
  t.strictSame(order, names)
  t.equal(most, 1)
})

t.test('Turns: an unread response or a stream does not block the next request', async (t) => {
  const app = createQueue(t)
  const endless = new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from('more follows')) })
  app.get('/stream', (_request, reply) => reply.send(endless))
  app.get('/next', async () => 'next')
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const leaving = new AbortController()
  await fetch(`${address}/stream`, { signal: leaving.signal })
  t.equal(await (await fetch(`${address}/next`)).text(), 'next')
  leaving.abort()
})

t.test('Turns: operators alternate, each with a limited queue without those that have disconnected', async (t) => {
  const app = createQueue(t)
  app.setErrorHandler((error, _request, reply) => sendProblem(reply, problemOf(error)))
  const { promise: later, resolve: goOn } = Promise.withResolvers<void>()
  const order: unknown[] = []
  app.get('/', ({ headers }) => {
    order.push(headers.from)
    return later.then(() => 'done')
  })
  const ask = async (from = 'anna') => (await app.inject({ url: '/', headers: { from } })).statusCode
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const first = ask()
  const leaving = new AbortController()
  const gone = fetch(address, { signal: leaving.signal })
  const closed = new Promise<void>((resolve) => {
    app.server.once('connection', (connection) => connection.once('close', () => resolve()))
  })
  await new Promise<void>((resolve) => app.server.once('request', () => resolve()))
  await turn()
  const others = Array.from({ length: 31 }, () => ask())
  t.equal(await ask(), 503)
  others.push(ask('ben'))
  leaving.abort()
  await t.rejects(gone)
  await closed
  goOn()
  t.equal(await first, 200)
  t.strictSame(new Set(await Promise.all(others)), new Set([200]))
  t.strictSame([order.length, order.indexOf('ben')], [33, 1])
})
