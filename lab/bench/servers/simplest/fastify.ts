import formbody from '@fastify/formbody'
import fastify from 'fastify'
import { newRequestId } from '../../../../src/domain/request-id.ts'
import { ACCESS_TOKEN_PATH } from '../../../../src/http/access-token.ts'
import { READY_PATH } from '../../../../src/http/metadata.ts'
import { ANSWER_HEADERS, JSON_TYPE } from '../../../../src/http/wire/refuse.ts'
import { VERIFY_STORE_PATH } from '../../world/requests.ts'
import { keepTicksFast } from '../ticks.ts'
import { CHALLENGE, check, isClient, issue, REFUSED_CLIENT, REFUSED_TOKEN } from './issuer.ts'

// The simplest durable issuer on Fastify: no schemas, no hooks, no async functions.

keepTicksFast()
const app = fastify({ bodyLimit: 8192 })
app.removeAllContentTypeParsers()
await app.register(formbody)

app.post(ACCESS_TOKEN_PATH, (request, reply) => {
  const requestId = newRequestId()
  reply.headers(ANSWER_HEADERS).header('x-request-id', requestId).type(JSON_TYPE)
  if (isClient(request.body as Record<string, string>)) issue(requestId, request.ip, (json) => void reply.send(json))
  else reply.code(401).send(REFUSED_CLIENT)
})

app.get(VERIFY_STORE_PATH, (request, reply) => {
  check(request.headers.authorization, (verified) => {
    reply.headers(ANSWER_HEADERS).header('x-request-id', newRequestId())
    if (verified) reply.headers(verified).send()
    else reply.code(401).header('www-authenticate', CHALLENGE).type(JSON_TYPE).send(REFUSED_TOKEN)
  })
})

app.get(READY_PATH, (_request, reply) => void reply.send())
console.log(await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) }))
