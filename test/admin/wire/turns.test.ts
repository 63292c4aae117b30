import t from 'tap'
import { createConsoleWorld } from '../../support/console-world.ts'

const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' }

t.test('Turns: while one request takes long, only live figures and the sign-in at the provider go on', async (t) => {
  const { routes, ask, signIn, store } = await createConsoleWorld(t)
  const [anna, viktor] = [await signIn(), await signIn('viewer')]
  const { promise: listed, resolve: goOn } = Promise.withResolvers<[]>()
  store.listOperators = () => listed
  // One runs, and as many wait as may.
  const waiting = [anna, viktor].map((browser) => Array.from({ length: 34 }, () => browser('/operators')))
  for (const requests of waiting) t.equal((await Promise.race(requests)).statusCode, 503)
  const answered: string[] = []
  for (const { method, url, path } of routes) {
    const isOfApi = url.startsWith('/admin/v1/')
    // Before its turn, a change through the API would be refused for its body.
    if (isOfApi && method !== 'GET') continue
    const sent = { method, headers: SAME_ORIGIN }
    const { statusCode } = await (isOfApi ? ask(path, { as: 'admin' }) : anna(path, sent))
    if (statusCode !== 503) answered.push(`${method} ${url}`)
  }
  const inTurn = ['/login/complete', '/login/provider'].flatMap((url) => [`GET ${url}`, `HEAD ${url}`])
  t.strictSame(answered.sort(), ['GET /live', ...inTurn].sort())
  goOn([])
  const statuses = (await Promise.all(waiting.flat())).map(({ statusCode }) => statusCode)
  t.strictSame([...new Set(statuses)].sort(), [200, 503])
})
