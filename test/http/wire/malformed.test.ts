import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { answerMalformed } from '../../../src/http/wire/malformed.ts'
import { createWorld } from '../../support/world.ts'

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
  t.match(
    lines.map((line) => JSON.parse(line)),
    [
      { msg: 'request refused', reason: 'not HTTP', status: 400, remote_address: '127.0.0.1' },
      { msg: 'request refused', reason: 'headers too large', status: 431, remote_address: '127.0.0.1' },
    ],
    'that it was refused is',
  )
})

t.test('RFC 9110 §15.5.9: a request that takes too long gets 408; who is gone gets nothing', async (t) => {
  const { app } = await createWorld(t)
  const { port } = new URL(await app.listen({ port: 0 }))
  app.server.once('connection', (socket) => {
    answerMalformed({ observe: () => {} }, Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket)
    answerMalformed({ observe: () => {} }, new Error('a second one, when the socket is closed'), socket)
  })
  const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })
  let answer = ''
  socket.on('data', (chunk) => (answer += chunk))
  await once(socket, 'end')
  t.match(answer, /^HTTP\/1\.1 408 Request Timeout\r\n/)
  let served = 0
  app.server.on('request', () => served++)
  socket.on('error', () => {})
  socket.write('GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n')
  await sleep(100)
  socket.destroy()
  t.equal(served, 0, 'and what comes afterwards is not read')
})
