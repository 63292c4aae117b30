import t from 'tap'
import { createApiWorld } from '../../support/api.ts'

const ORIGIN = { remoteAddress: '192.0.2.7', userAgent: 'Firefox', requestId: 'r' }

t.test('API: operators are shown with their keys and sessions', async (t) => {
  const { call, administration, context } = await createApiWorld(t)
  const { code } = await administration.operators.makeLoginCode('anna')
  await context.signIn.logIn(code, ORIGIN)
  const { operators } = (await call('GET', '/operators')).body
  t.match(operators, [
    {
      name: 'anna',
      role: 'admin',
      keys: [{ id: 1, state: 'active', revoked_at: null }],
      sessions: [{ id: 1, remote_address: '192.0.2.7', user_agent: 'Firefox' }],
    },
    { name: 'viktor', role: 'viewer', sessions: [] },
  ])
  t.strictSame((await call('GET', '/operators/anna')).body, operators[0])
  t.equal((await call('GET', '/operators/nobody')).status, 404)
})

t.test('API: an admin ends sessions, revokes keys and removes operators, including themselves', async (t) => {
  const { call, administration, context } = await createApiWorld(t)
  const { code } = await administration.operators.makeLoginCode('viktor')
  await context.signIn.logIn(code, ORIGIN)
  t.equal((await call('DELETE', '/operators/viktor/sessions/1')).status, 204)
  t.strictSame((await call('GET', '/operators/viktor')).body.sessions, [])
  t.equal((await call('DELETE', '/operators/viktor/sessions/1')).status, 404)

  for (let n = 0; n < 2; n++) t.equal((await call('DELETE', '/operators/viktor/keys/2')).status, 204)
  t.match((await call('GET', '/operators/viktor')).body.keys, [{ state: 'revoked' }])
  t.equal((await call('GET', '/operators', { as: 'viewer' })).status, 401, 'from the next request on')

  for (const path of ['viktor/keys/1', 'viktor/keys/x', 'nobody/keys/1', 'nobody/sessions/1', 'nobody']) {
    t.equal((await call('DELETE', `/operators/${path}`)).status, 404, path)
  }
  for (const name of ['viktor', 'anna']) t.equal((await call('DELETE', `/operators/${name}`)).status, 204)
  t.equal((await call('GET', '/operators')).status, 401)
})

t.test('API: no request adds an operator or an admin key', async (t) => {
  const { call } = await createApiWorld(t)
  t.equal((await call('POST', '/operators', { json: { name: 'eve', role: 'admin' } })).status, 405)
  t.equal((await call('PATCH', '/operators/viktor', { json: { role: 'admin' } })).status, 405)
  t.equal((await call('POST', '/operators/anna/keys', { json: {} })).status, 404)
})
