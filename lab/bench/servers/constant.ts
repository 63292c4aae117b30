import formbody from '@fastify/formbody'
import fastify from 'fastify'
import { ACCESS_TOKEN_PATH } from '../../../src/http/access-token.ts'
import { INTROSPECT_PATH } from '../../../src/http/introspect.ts'
import { READY_PATH } from '../../../src/http/metadata.ts'
import { VERIFY_PATH } from '../../../src/http/verify.ts'
import { ANSWER_HEADERS } from '../../../src/http/wire/refuse.ts'
import {
  introspectionRequest,
  introspectionResponse,
  tokenRequest,
  tokenResponse,
} from '../../reference/openapi/forms-and-answers.ts'
import { introspection, token, verified } from './answers.ts'
import { keepTicksFast } from './ticks.ts'

// The same HTTP with constant answers: the upper limit for a Fastify server with this product's schemas.

keepTicksFast()
const app = fastify({ bodyLimit: 8192 })
app.removeAllContentTypeParsers()
await app.register(formbody)

app.post(
  ACCESS_TOKEN_PATH,
  { schema: { body: tokenRequest, response: { 200: tokenResponse } } },
  async (_request, reply) => {
    reply.headers(ANSWER_HEADERS)
    return token
  },
)

app.post(
  INTROSPECT_PATH,
  { schema: { body: introspectionRequest, response: { 200: introspectionResponse } } },
  async (_request, reply) => {
    reply.headers(ANSWER_HEADERS)
    return introspection
  },
)

app.get(`${VERIFY_PATH}/:suite`, async (_request, reply) => {
  reply.headers({ ...ANSWER_HEADERS, ...verified })
  return reply.send()
})

app.get(READY_PATH, async () => ({ status: 'ok' }))

console.log(await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) }))
