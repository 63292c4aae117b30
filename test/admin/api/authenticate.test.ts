import t from 'tap'
import { createAdminWorld } from '../../support/admin.ts'

const PATH = '/admin/v1/nothing'
const DAY = 24 * 60 * 60_000

t.test('RFC 6750 §3: a request without a key or with a wrong one is refused, and the reason is logged', async (t) => {
  const { ask, keys, events, lines, administration, clock } = await createAdminWorld(t)
  const refused = async (authorization: string | undefined) => {
    const before = events.length
    const answer = await ask(PATH, { headers: authorization === undefined ? {} : { authorization } })
    t.equal(answer.headers['content-type'], 'application/problem+json; charset=utf-8')
    t.match(answer.json(), { title: 'Unauthorized', status: 401 })
    t.equal(events.length, before + 1)
    return [answer.headers['www-authenticate'], (events.at(-1) as { reason?: string }).reason]
  }
  const invalid = 'Bearer realm="admin", error="invalid_token"'
  t.strictSame(await refused(undefined), ['Bearer realm="admin"', 'no credentials'])
  for (const malformed of ['', 'Basic YTpi', 'Bearer', 'Bearer a b', 'Bearer x', `Bearer ${keys.admin}x`]) {
    t.strictSame(await refused(malformed), [invalid, 'malformed key'], malformed)
  }
  const { adminKey, id } = await administration.operators.addKey('anna', DAY)
  const other = await createAdminWorld(t)
  t.strictSame(await refused(`Bearer ${other.keys.admin}`), [invalid, 'unknown key'])
  await administration.operators.revokeKey('anna', id)
  t.strictSame(await refused(`Bearer ${adminKey}`), [invalid, 'revoked key'])
  t.match(events.at(-1), { operator: 'anna', keyId: id }, 'to find the program that still uses it')
  clock.time += 30 * DAY
  t.strictSame(await refused(`Bearer ${keys.admin}`), [invalid, 'expired key'])
  t.match(events.at(-1), { type: 'operator refused', remoteAddress: '127.0.0.1' })
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
