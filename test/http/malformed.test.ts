import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { answerMalformed } from '../../src/http/malformed.ts'
import { createWorld } from '../world.ts'

t.test('RFC 9112 §2.2: what is not HTTP is refused in the same shape, and nothing of it is logged', async (t) => {
  const { app, lines } = await createWorld(t)
  const { port } = new URL(await app.listen({ port: 0 }))
  const exchange = async (bytes: string) => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.end(bytes)
    return text(socket)
  }

  const garbage = await exchange('SECRET nonsense\r\n\r\n')
  t.match(garbage, /^HTTP\/1\.1 400 Bad Request\r\ncache-control: no-store\r\n/)
  t.match(garbage, /connection: close\r\n\r\n\{"error":"invalid_request","error_description":"[^"]+"\}$/)
  const long = await exchange(`GET / HTTP/1.1\r\nHost: a\r\nX: ${'SECRET'.repeat(5000)}\r\n\r\n`)
  t.match(long, /^HTTP\/1\.1 431 /)
  t.notMatch(lines.join(''), /SECRET/)
})

t.test('RFC 9110 §15.5.9: a request that takes too long gets 408; who is gone gets nothing', async (t) => {
  const { app } = await createWorld(t)
  const { port } = new URL(await app.listen({ port: 0 }))
  app.server.once('connection', (socket) => {
    answerMalformed(Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket)
    answerMalformed(new Error('a second one, when the socket is closed'), socket)
  })
  const socket = connect(Number(port), '127.0.0.1')
  const answer = text(socket)
  await once(socket, 'close')
  t.match(await answer, /^HTTP\/1\.1 408 Request Timeout\r\n/)
})
