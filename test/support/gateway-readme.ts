import type { Test } from 'tap'
import { createGatewayWorld, type Gateway, readExample, SUITES, startGateway } from './gateways.ts'
import { startRecorder } from './recorder.ts'
import { type send, sendBytes } from './send.ts'
import { PUBLIC_URL } from './world.ts'

type World = Awaited<ReturnType<typeof createGatewayWorld>>
type Answer = Pick<Awaited<ReturnType<typeof send>>, 'status' | 'headers' | 'body'>

/** The rows of a table in the README of a gateway. Of two with the same columns, the second is in the section on one host. */
function rowsOf({ name, folder = name, oneHost }: Gateway, columns: string): string[][] {
  const [plain, host] = readExample(`${folder}/README.md`).split('## One host with TLS')
  const [, table] = (oneHost && host?.includes(columns) ? host : plain)?.split(`${columns}\n`) ?? []
  const lines = table?.split('\n\n')[0]?.split('\n').slice(1) ?? []
  return lines.map((line) => line.slice(2, -2).split(' | '))
}

const codesIn = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code as string)

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD']

/** What the table of paths says. A goal is a suite, a path of the token server, or nothing. */
const pathsOf = (gateway: Gateway) =>
  rowsOf(gateway, '| path | methods | goes to |').map(([paths = '', methods, goal = '']) => ({
    paths: codesIn(paths),
    isPrefix: paths.endsWith(' and below'),
    methods: methods === 'any' ? METHODS : codesIn(methods),
    suite: SUITES.find((suite) => goal === `the suite \`${suite}\`, after its check`),
    atTokenServer: /^the token server, at `(\S+)`$/.exec(goal)?.[1],
    isNowhere: goal === '404',
  }))

/** The columns of the refusals. */
const REFUSALS = '| when | status | `error` |'

/** Every path goes where the table of paths says, by every method. */
export async function goesAsWritten(t: Test, gateway: Gateway): Promise<void> {
  const tokenServer = await startRecorder(t, (response, { authorization = '' }) => {
    const [suite] = atob(/^Basic (.+)/.exec(authorization)?.[1] ?? '').split(':')
    const active = { active: true, client_id: 'a', sub: 'a', aud: suite, exp: Math.floor(Date.now() / 1000) + 60 }
    response.setHeader('x-client-id', 'a').setHeader('content-type', 'application/json')
    response.end(gateway.asks && JSON.stringify(active))
  })
  const front = await startGateway(t, gateway, tokenServer.address)
  const [, ...unknown] = rowsOf(gateway, REFUSALS).find(([when]) => when === 'another path') ?? []
  const known = pathsOf(gateway).flatMap(({ paths }) => paths)
  for (const { paths, isPrefix, methods, suite, atTokenServer, isNowhere } of pathsOf(gateway)) {
    for (const [path, method] of paths.flatMap((path) => methods.map((method) => [path, method] as const))) {
      const name = `${method} ${path}`
      const ask = (url: string) => front.send(url, { method, headers: { authorization: 'Bearer abc' } })
      const before = [tokenServer.arrived.length, front.reached()] as const
      const arrived = () => [tokenServer.arrived.length - before[0], front.reached() - before[1]]
      if (isNowhere) {
        isRefusal(t, await ask(path), unknown, name, method)
        t.strictSame(arrived(), [0, 0], name)
      } else if (suite) {
        for (const url of [path, ...(isPrefix ? [`${path}/`, `${path}/x?a=b`] : [])]) {
          t.equal((await ask(url)).status, 200, `${method} ${url}`)
          t.match(front.last(suite), { method, url })
          t.match(tokenServer.arrived.at(-1)?.url, gateway.asks ?? `/v1/oauth/verify/${suite}`)
        }
        if (!known.includes(`${path}x`)) t.equal((await ask(`${path}x`)).status, 404, `${name}x`)
      } else {
        t.ok(atTokenServer, `the row of ${path} says where it goes`)
        t.equal((await ask(path)).status, 200, name)
        t.match(tokenServer.arrived.at(-1), { method, url: atTokenServer })
        t.strictSame(arrived(), [1, 0], name)
      }
    }
  }
  t.match(known, gateway.oneHost ? ['/v1/oauth/accesstoken'] : ['/store'])
}

/** How a test makes a gateway refuse, by the words of the README. `alone`: nothing else works afterwards. */
interface Cause {
  ask: (world: World, at: { store: string; productInformation: string }) => Promise<Answer>
  alone?: true
  edit?: (gateway: Gateway) => (example: string) => string
}

const bytes = async ({ front }: World, text: string, ca = front.ca) => {
  const answer = await sendBytes(front.address, text, ca)
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  const headers = head.split('\r\n').map((line) => line.toLowerCase().split(': ') as [string, string])
  return { status: Number(head.slice(9, 12)), headers: Object.fromEntries(headers), body }
}

const stopTokenServer = async ({ app }: World) => {
  app.server.closeAllConnections()
  await app.close()
}

/** Shortens a time after which a gateway does not wait any longer. */
const within =
  (from: string, to: string, inEnvoy: [string, string] = [from, to]) =>
  ({ name }: Gateway) =>
  (example: string) => {
    const [before, after] = name === 'envoy' ? inEnvoy : [from, to]
    if (!example.includes(before)) throw new Error(`Not in the example: ${before}`)
    return example.replaceAll(before, after)
  }

const CAUSES: Record<string, Cause> = {
  'no token': { ask: ({ front }, { store }) => front.send(`${store}/x.html`) },
  'an invalid token': { ask: ({ front }, { store }) => front.send(store, { headers: { authorization: 'Bearer x' } }) },
  'the application is not approved for the suite': {
    ask: ({ front, authorization }, { productInformation }) =>
      front.send(productInformation, { headers: { authorization } }),
  },
  'a malformed or repeated `Authorization` header': {
    ask: ({ front, authorization }, { store }) =>
      front.send(store, { headers: { authorization: [authorization, authorization] } }),
  },
  'an ambiguous path': {
    ask: ({ front, authorization }, { store }) => front.send(`${store}/..%2fx.html`, { headers: { authorization } }),
  },
  'a malformed request': { ask: (world, { store }) => bytes(world, `GET ${store} HTTP/1.1\r\n\r\n`) },
  'another path': { ask: ({ front }) => front.send('/x.html') },
  'another host (one host only)': {
    ask: ({ front, authorization }, { store }) =>
      front.send(`${store}/x.html`, { headers: { authorization, host: 'other.example' } }),
  },
  'plain HTTP (one host only)': {
    ask: (world, { store }) => bytes(world, `GET ${store} HTTP/1.1\r\nHost: localhost\r\n\r\n`, ''),
  },
  'the method `TRACE`': {
    ask: ({ front, authorization }, { store }) => front.send(store, { method: 'TRACE', headers: { authorization } }),
  },
  'a body of more than 1 MB': {
    ask: ({ front, authorization }, { store }) =>
      front.send(store, { method: 'POST', headers: { authorization }, body: 'x'.repeat(1_100_000) }),
  },
  'an address of more than 8 KB': { ask: ({ front }, { store }) => front.send(`${store}/${'x'.repeat(9000)}`) },
  'a header of more than 8 KB': { ask: ({ front }, { store }) => front.send(store, withHeaders(9000)) },
  'headers of more than 16 KB, which the check refuses': {
    ask: ({ front }, { store }) => front.send(store, withHeaders(7000, 7000, 7000)),
  },
  'headers of more than 60 KB': { ask: ({ front }, { store }) => front.send(store, withHeaders(70_000)) },
  'the suite is not registered': {
    alone: true,
    ask: async ({ front, administration, authorization }, { store }) => {
      await administration.removeSuite('store')
      return front.send(store, { headers: { authorization } })
    },
  },
  'the token server is down': {
    alone: true,
    ask: async (world, { store }) => {
      await stopTokenServer(world)
      return world.front.send(store, { headers: { authorization: world.authorization } })
    },
  },
  'the token server is down, at a token request (one host only)': {
    alone: true,
    ask: async (world) => {
      await stopTokenServer(world)
      return world.front.send('/v1/oauth/accesstoken', { method: 'POST', body: 'a=b' })
    },
  },
  'the token server does not answer the check for 5 s': {
    alone: true,
    edit: within('5s', '200ms', ['timeout: 5s', 'timeout: 0.2s']),
    ask: async ({ app, front, authorization }, { store }) => {
      app.server.removeAllListeners('request').on('request', () => {})
      const answer = await front.send(store, { headers: { authorization } })
      app.server.closeAllConnections()
      return answer
    },
  },
  'the suite is down': {
    alone: true,
    ask: ({ front, authorization }, { store }) => {
      front.stopSuites()
      return front.send(store, { headers: { authorization } })
    },
  },
  // By default nginx waits for 60 s, Envoy for 15 s.
  'the suite does not answer for 60 s': hanging(
    ['proxy_set_header X-Client-Id', 'proxy_read_timeout 200ms; $&'],
    ['response-timeout: 60s', 'response-timeout: 200ms'],
  ),
  'the suite does not answer for 15 s': hanging(['cluster: store }', 'cluster: store, timeout: 0.2s }']),
}

function hanging(...edits: [from: string, to: string][]): Cause {
  return {
    alone: true,
    edit: () => (example) => edits.reduce((text, [from, to]) => text.replace(from, to), example),
    ask: ({ front, authorization }, { store }) =>
      front.send(store, { headers: { authorization, 'x-answer-with': 'nothing' } }),
  }
}

function withHeaders(...sizes: number[]) {
  return { headers: Object.fromEntries(sizes.map((size, n) => [`x-${n}`, 'x'.repeat(size)])) }
}

/** Every refusal has the status and the body that its table says. */
export async function refusesAsWritten(t: Test, gateway: Gateway): Promise<void> {
  const at = gateway.oneHost
    ? { store: '/v2/store', productInformation: '/v1/products' }
    : { store: '/store', productInformation: '/product-information' }
  const rows = rowsOf(gateway, REFUSALS)
  const shared = await createGatewayWorld(t, gateway)
  for (const [when = '', ...expected] of rows) {
    if (when.endsWith('(one host only)') && !gateway.oneHost) continue
    const cause = CAUSES[when]
    if (!cause) throw new Error(`How does it come about? ${when}`)
    const world = cause.alone ? await createGatewayWorld(t, gateway, cause.edit?.(gateway)) : shared
    isRefusal(t, await cause.ask(world, at), expected, when)
  }
  t.ok(rows.length > 10)
}

/** Whether an answer is the refusal of a row: its status, and the error of its JSON, or no JSON for a dash. */
function isRefusal(t: Test, { status, headers, body }: Answer, row: string[], name: string, method = 'GET'): void {
  const [expected, error = ''] = row
  t.equal(String(status), expected, name)
  if (error.startsWith('–')) return void t.notMatch(headers['content-type'], 'json', name)
  t.match(headers['content-type'], /^application\/json(; charset=utf-8)?$/, name)
  t.equal(headers['cache-control'], 'no-store', name)
  const challenge = new RegExp(`^Bearer realm="${PUBLIC_URL}"(, error="[^"]+", error_description="[^"]+")?$`)
  t.match(headers['www-authenticate'] ?? '', status === 401 || status === 403 ? challenge : /^$/, name)
  if (method === 'HEAD') return
  const json = JSON.parse(body)
  t.strictSame(Object.keys(json), ['error', 'error_description'], name)
  t.equal(json.error, codesIn(error)[0], name)
  t.match(json.error_description, /^[^"\\]+$/, name)
}
