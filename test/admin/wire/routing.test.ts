import fastify from 'fastify'
import t from 'tap'
import { problemOf, sendProblem } from '../../../src/admin/wire/problem.ts'
import { createNotFoundHandler } from '../../../src/admin/wire/routing.ts'

t.test('RFC 9110 §15.5.6: an unsupported method gets the list of allowed ones', async (t) => {
  const app = fastify()
  app.setErrorHandler((error, _request, reply) => sendProblem(reply, problemOf(error)))
  app.setNotFoundHandler(createNotFoundHandler(app))
  app.get('/things', () => '')
  app.post('/things', () => '')
  app.delete('/things/:id', () => '')
  app.get('/things/:id/parts/:part', () => '')
  app.get('/files/*', () => '')
  const asked = async (method: 'GET' | 'PUT' | 'OPTIONS', url: string) => {
    const { statusCode, headers } = await app.inject({ method, url })
    return [statusCode, headers.allow]
  }
  t.strictSame(await asked('PUT', '/things?a=/b'), [405, 'GET, HEAD, POST'])
  t.strictSame(await asked('OPTIONS', '/things'), [405, 'GET, HEAD, POST'])
  t.strictSame(await asked('GET', '/things/a%2Fb'), [405, 'DELETE'])
  t.strictSame(await asked('PUT', '/things/a/parts/b'), [405, 'GET, HEAD'])
  t.strictSame(await asked('PUT', '/files/a/b'), [405, 'GET, HEAD'])
  for (const url of [
    '/',
    '/thing',
    '/things/',
    '/things/a/parts',
    '/things/a/parts/',
    '/things/a/parts/b/c',
    '/files',
  ]) {
    t.strictSame(await asked('PUT', url), [404, undefined], url)
  }
})
