import t from 'tap'
import { createApiWorld, type Method } from '../../support/api.ts'

t.test(
  'API: a viewer can read everything, and every change by a viewer is refused before its body is read',
  async (t) => {
    const { call, routes, events, administration } = await createApiWorld(t)
    await administration.suites.register({ suiteId: 'x', name: 'X' })
    const api = routes.filter(({ url }) => url.startsWith('/admin/v1/'))
    const changes = api.filter(({ method }) => !['GET', 'HEAD'].includes(method))
    t.ok(changes.length >= 18)
    for (const { method, path } of changes) {
      const target = path.replace('/admin/v1', '')
      for (const payload of ['{', 'x'.repeat(70_000)]) {
        const headers = { 'content-type': 'application/json' }
        const answer = await call(method as Method, target, { as: 'viewer', payload, headers })
        t.match(answer, { status: 403, body: { detail: /A viewer can look at everything/ } }, `${method} ${path}`)
      }
    }
    t.equal(events.filter(({ type }) => type === 'operator refused').length, 2 * changes.length)
    t.notOk(
      events.some(({ type }) => type !== 'operator refused'),
      'nothing was changed',
    )
    for (const { method, path } of api.filter(({ method }) => method === 'GET')) {
      const { status } = await call(method as Method, path.replace('/admin/v1', ''), { as: 'viewer' })
      t.ok([200, 404].includes(status), path)
    }
  },
)

t.test('API: without a valid admin key every path is refused', async (t) => {
  const { call, routes } = await createApiWorld(t)
  const paths = routes.filter(({ url }) => url.startsWith('/admin/v1/'))
  const wrong = ['Bearer otsa_x', 'Basic YTpi', 'Bearer', `Bearer otsa_${'a'.repeat(49)}`]
  for (const { method, path } of [...paths, { method: 'GET', path: '/admin/v1/nowhere' }]) {
    for (const authorization of [undefined, ...wrong]) {
      const headers = authorization === undefined ? {} : { authorization }
      const sent = { as: 'none', headers } as const
      const { status, headers: answered } = await call(method as Method, path.replace('/admin/v1', ''), sent)
      t.equal(status, 401, `${method} ${path} ${authorization}`)
      t.match(answered['www-authenticate'], /^Bearer realm="admin"/)
    }
  }
})
