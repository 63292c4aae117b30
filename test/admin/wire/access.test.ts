import t from 'tap'
import { EXCEPTIONS } from '../../../src/admin/wire/access.ts'
import { createAdminWorld } from '../../support/admin.ts'
import { createConsoleWorld } from '../../support/console-world.ts'

const SAFE = ['GET', 'HEAD']

/** What a browser says of a form of the console. */
const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' }

t.test('Access: no route but the login and the assets is answered without authentication', async (t) => {
  const { routes, ask } = await createAdminWorld(t)
  for (const { method, url, path } of routes) {
    const { statusCode, headers } = await ask(path, { method, headers: SAME_ORIGIN })
    const isRefused = statusCode === 401 || (statusCode === 303 && headers.location === '/login')
    t.equal(isRefused, EXCEPTIONS[`${method} ${url}`] !== 'anyone', `${method} ${url}: ${statusCode}`)
  }
})

t.test('Access: a viewer passes no route that changes anything, but to end the own session', async (t) => {
  const { routes, ask, signIn } = await createConsoleWorld(t)
  const browser = await signIn('viewer')
  for (const { method, url, path } of routes.filter(({ method }) => !SAFE.includes(method))) {
    if (EXCEPTIONS[`${method} ${url}`]) continue
    const isApi = path.startsWith('/admin/v1/')
    const { statusCode } = isApi
      ? await ask(path, { method, as: 'viewer' })
      : await browser(path, { method, headers: SAME_ORIGIN })
    t.equal(statusCode, 403, `${method} ${url}`)
  }
})

t.test('Access: the exceptions are routes that there are', async (t) => {
  const world = await createAdminWorld(t)
  const routes = world.routes.map(({ method, url }) => `${method} ${url}`)
  for (const exception of Object.keys(EXCEPTIONS)) t.ok(routes.includes(exception), exception)
  t.ok(routes.length > Object.keys(EXCEPTIONS).length)
})
