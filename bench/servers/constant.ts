import formbody from '@fastify/formbody'
import fastify from 'fastify'
import { introspection, noStore, token, verified } from './constants.ts'

// The same HTTP work and none of the other: what a Fastify server with these schemas can do at most.

const form = (required: string[]) => ({
  type: 'object',
  required,
  properties: Object.fromEntries(required.map((name) => [name, { type: 'string', minLength: 1 }])),
  additionalProperties: { type: 'string' },
})

const tokenResponse = {
  type: 'object',
  properties: {
    access_token: { type: 'string' },
    token_type: { type: 'string' },
    expires_in: { type: 'integer' },
    scope: { type: 'string' },
    application_name: { type: 'string' },
    'developer.email': { type: 'string' },
    issued_at: { type: 'string' },
    client_id: { type: 'string' },
  },
}

const introspectionResponse = {
  type: 'object',
  required: ['active'],
  properties: {
    active: { type: 'boolean' },
    client_id: { type: 'string' },
    sub: { type: 'string' },
    aud: { type: 'string' },
    iss: { type: 'string' },
    jti: { type: 'string' },
    token_type: { type: 'string' },
    scope: { type: 'string' },
    iat: { type: 'integer' },
    exp: { type: 'integer' },
    application_name: { type: 'string' },
    'developer.email': { type: 'string' },
  },
}

const app = fastify({ bodyLimit: 8192 })
app.removeAllContentTypeParsers()
await app.register(formbody)

app.post(
  '/v1/oauth/accesstoken',
  { schema: { body: form(['grant_type', 'client_id', 'client_secret']), response: { 200: tokenResponse } } },
  async (_request, reply) => {
    reply.headers(noStore)
    return token
  },
)

app.post(
  '/v1/oauth/introspect',
  { schema: { body: form([]), response: { 200: introspectionResponse } } },
  async (_request, reply) => {
    reply.headers(noStore)
    return introspection
  },
)

app.get('/v1/oauth/verify/:suite', async (_request, reply) => {
  reply.headers({ ...noStore, ...verified })
  return reply.send()
})

app.get('/health/ready', async () => ({ status: 'ok' }))

console.log(await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) }))
