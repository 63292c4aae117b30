import t from 'tap'
import { createAdminWorld } from '../../support/admin.ts'

const PATH = '/admin/v1/nothing'

t.test('RFC 6750 §3: a request without a key or with a wrong one is refused, and the reason is logged', async (t) => {
  const { ask, keys, events, lines, administration } = await createAdminWorld(t)
  const { adminKey, id } = await administration.operators.addKey('anna', 86_400_000)
  await administration.operators.revokeKey('anna', id)
  const other = await createAdminWorld(t)
  const malformed = ['', 'Basic YTpi', 'Bearer', 'Bearer a b', 'Bearer x', `Bearer ${keys.admin}x`]
  const cases: [authorization: string | undefined, reason: string][] = [
    [undefined, 'no credentials'],
    ...malformed.map((text): [string, string] => [text, 'malformed key']),
    [`Bearer ${other.keys.admin}`, 'unknown key'],
    [`Bearer ${adminKey}`, 'revoked key'],
  ]
  for (const [authorization, reason] of cases) {
    events.length = 0
    const { headers, json } = await ask(PATH, { headers: authorization === undefined ? {} : { authorization } })
    t.match(json(), { title: 'Unauthorized', status: 401 })
    t.match(headers, {
      'content-type': 'application/problem+json; charset=utf-8',
      'www-authenticate': `Bearer realm="admin"${authorization === undefined ? '' : ', error="invalid_token"'}`,
    })
    t.equal(events.length, 1)
    t.match(events, [{ type: 'operator refused', reason, remoteAddress: '127.0.0.1' }], authorization)
  }
  t.match(events, [{ operator: 'anna', keyId: id }], 'to find the program that still uses it')
  for (const key of [keys.admin, adminKey, other.keys.admin]) t.notMatch(lines.join(''), key.slice(5, 20))
})

t.test('API: a key is accepted in the header only, before the body is read and the path is looked up', async (t) => {
  const { ask, keys } = await createAdminWorld(t)
  const status = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).statusCode
  t.equal(await status(PATH, { method: 'POST', json: {} }), 401)
  t.equal(await status('/admin/v1/suites', { method: 'POST', payload: 'x'.repeat(1e6) }), 401)
  t.equal(await status(PATH, { as: 'admin' }), 404)
  t.equal(await status(PATH, { headers: { authorization: `bearer  ${keys.admin} ` } }), 404, 'a scheme in any case')
  t.equal(await status(`${PATH}?access_token=${keys.admin}`), 401)
  t.equal(await status(PATH, { headers: { cookie: `access_token=${keys.admin}` } }), 401)
})
