import { createServer, type ServerResponse } from 'node:http'
import { parse } from 'node:querystring'
import { newRequestId } from '../../../../src/domain/request-id.ts'
import { ACCESS_TOKEN_PATH } from '../../../../src/http/access-token.ts'
import { ANSWER_HEADERS, JSON_TYPE } from '../../../../src/http/wire/refuse.ts'
import { VERIFY_STORE_PATH } from '../../world/requests.ts'
import { keepTicksFast } from '../ticks.ts'
import { CHALLENGE, check, isClient, issue, REFUSED_CLIENT, REFUSED_TOKEN } from './issuer.ts'

// The simplest durable issuer on node:http, without a framework.

keepTicksFast()
const json = { ...ANSWER_HEADERS, 'content-type': JSON_TYPE }

function send(response: ServerResponse, status: number, headers: Record<string, string>, body = ''): void {
  response.writeHead(status, { ...headers, 'content-length': body.length }).end(body)
}

const server = createServer((request, response) => {
  const requestId = newRequestId()
  const own = { ...json, 'x-request-id': requestId }
  if (request.url === ACCESS_TOKEN_PATH) {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString('latin1')))
    request.on('end', () => {
      if (!isClient(parse(body))) send(response, 401, own, REFUSED_CLIENT)
      else issue(requestId, request.socket.remoteAddress, (token) => send(response, 200, own, token))
    })
  } else if (request.url === VERIFY_STORE_PATH) {
    check(request.headers.authorization, (verified) => {
      if (verified) send(response, 200, { ...ANSWER_HEADERS, 'x-request-id': requestId, ...verified })
      else send(response, 401, { ...own, 'www-authenticate': CHALLENGE }, REFUSED_TOKEN)
    })
  } else send(response, 200, ANSWER_HEADERS)
})

server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('listening'))
