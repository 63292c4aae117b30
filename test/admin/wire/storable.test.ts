import fastify from 'fastify'
import t from 'tap'
import { problemOf, sendProblem } from '../../../src/admin/wire/problem.ts'
import { refuseUnstorable } from '../../../src/admin/wire/storable.ts'

t.test('Texts: characters that a store cannot hold are refused anywhere in a request', async (t) => {
  const app = fastify()
  t.teardown(() => app.close())
  app.setErrorHandler((error, _request, reply) => sendProblem(reply, problemOf(error)))
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
