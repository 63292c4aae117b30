import fastify from 'fastify'
import t from 'tap'
import { ProblemError, problemOf, sendProblem } from '../../../src/admin/wire/problem.ts'
import { OperatorError } from '../../../src/domain/operator-error.ts'

t.test('Problems: what an operator can mend is told with its status, in its own words', async (t) => {
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

t.test('RFC 9457: what a schema refuses is told field by field, of the body', async (t) => {
  const app = fastify({ ajv: { customOptions: { coerceTypes: false, removeAdditional: false, allErrors: true } } })
  app.setErrorHandler((error, _request, reply) => sendProblem(reply, problemOf(error)))
  const body = {
    type: 'object',
    required: ['name'],
    additionalProperties: false,
    properties: { name: { type: 'string' }, suites: { type: 'array', items: { type: 'string' } } },
  }
  const querystring = { type: 'object', properties: { limit: { type: 'string', pattern: '^\\d+$' } } }
  app.post('/', { schema: { body, querystring } }, () => '')
  const answer = async (payload: object, query = '') => {
    const { statusCode, headers, body } = await app.inject({ method: 'POST', url: `/${query}`, payload })
    t.equal(headers['content-type'], 'application/problem+json; charset=utf-8')
    return { statusCode, ...JSON.parse(body) }
  }
  t.match(await answer({ suites: ['a', 1], other: 1 }), {
    statusCode: 422,
    title: 'Unprocessable Entity',
    status: 422,
    errors: [
      { detail: "must have required property 'name'", pointer: '#/name' },
      { detail: 'must NOT have additional properties', pointer: '#/other' },
      { detail: 'must be string', pointer: '#/suites/1' },
    ],
  })
  const wrong = await answer({ name: 'a' }, '?limit=x')
  t.match(wrong, { statusCode: 400, title: 'Bad Request', detail: /^querystring\/limit must match pattern/ })
  t.equal(wrong.errors, undefined)
})

t.test('Problems: a status that needs no words has its own', async (t) => {
  t.strictSame(problemOf(Object.assign(new Error('x'), { statusCode: 414 })), { status: 414, detail: 'URI Too Long' })
  const problem = { status: 404, detail: 'There is no such thing.', headers: { allow: 'GET' } }
  t.equal(problemOf(new ProblemError(problem)), problem)
})
