import fastify from 'fastify'
import t from 'tap'
import { ProblemError, problemOf, sendProblem } from '../../../src/admin/wire/problem.ts'
import { OperatorError } from '../../../src/domain/operator-error.ts'

t.test('Problems: an OperatorError has its own status and message', async (t) => {
  const statuses = {
    invalid: 422,
    'not found': 404,
    conflict: 409,
    'idempotency key reused': 422,
    refused: 409,
  } as const
  for (const [kind, status] of Object.entries(statuses)) {
    const error = new OperatorError('It is so.', { kind: kind as keyof typeof statuses })
    t.match(problemOf(error), { status, detail: 'It is so.' }, kind)
  }
  const fields = [{ field: 'developer_email', message: 'must be an e-mail address' }]
  t.strictSame(problemOf(new OperatorError('It is wrong.', { kind: 'invalid', fields })).errors, [
    { detail: 'must be an e-mail address', pointer: '#/developer_email' },
  ])
})

t.test('RFC 9457: an invalid body is reported field by field', async (t) => {
  const app = fastify({ ajv: { customOptions: { coerceTypes: false, removeAdditional: false, allErrors: true } } })
  app.setErrorHandler((error, _request, reply) => sendProblem(reply, problemOf(error)))
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
    detail: 'The field name is missing. The field other is not known here. The field suites/1 must be text.',
    errors: [
      { detail: 'is missing', pointer: '#/name' },
      { detail: 'is not known here', pointer: '#/other' },
      { detail: 'must be text', pointer: '#/suites/1' },
    ],
  })
  const errors = async (payload: object) => (await answer(payload)).errors
  t.strictSame(await errors({ name: 'a', suites: 1, seconds: -1, more: 1 }), [
    { detail: 'must be a list', pointer: '#/suites' },
    { detail: 'must be 0 or more', pointer: '#/seconds' },
    { detail: 'must be an object', pointer: '#/more' },
  ])
  t.strictSame(await errors({ name: 'a', seconds: 11 }), [{ detail: 'must be 10 or less', pointer: '#/seconds' }])
  t.strictSame(await errors({ name: 'a', '~/ü': 1 }), [{ detail: 'is not known here', pointer: '#/~0~1%C3%BC' }])
  t.match(await answer([]), { detail: 'The body must be an object.', errors: [{ pointer: '#' }] })
  t.match(await errors({}), [{ detail: 'must have a field', pointer: '#' }, { detail: 'is missing' }])

  const unknown = await answer({ name: 'a' }, '?page=2')
  t.match(unknown, { statusCode: 400, title: 'Bad Request', detail: 'The parameter page is not known here.' })
  t.equal(unknown.errors, undefined)
  t.match(await answer({ name: 'a' }, '?limit=1&limit=2'), { detail: 'The parameter limit must be given once.' })
})

t.test('Problems: a status without a message gets a standard one', async (t) => {
  t.strictSame(problemOf(Object.assign(new Error('x'), { statusCode: 414 })), { status: 414, detail: 'URI Too Long' })
  const problem = { status: 404, detail: 'There is no such thing.', headers: { allow: 'GET' } }
  t.equal(problemOf(new ProblemError(problem)), problem)
})
