import type { Test } from 'tap'
import { listenForOperators } from '../../src/ops/listener.ts'
import { createAdminWorld } from '../support/admin.ts'
import { dialPort, said, statuses } from '../support/listening.ts'
import { testBoth, tlsOf } from '../support/tls.ts'
import { createWorld } from '../support/world.ts'

// The same protection on the public, admin and ops ports.

/** A port, and a path that it answers without credentials. */
interface Port {
  name: string
  path: string
  /** Resolves to the port, and to a function that returns what was logged. */
  open: (t: Test) => Promise<{ port: number; logged: () => string }>
}

const PORTS: Port[] = [
  {
    name: 'public',
    path: '/health/live',
    async open(t) {
      const { app, lines } = await createWorld(t, { connectionLimit: 64 })
      const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))
      return { port: Number(port), logged: () => lines.join('') }
    },
  },
  {
    name: 'admin',
    path: '/login',
    async open(t) {
      const { listen, lines } = await createAdminWorld(t)
      return { port: Number(new URL(await listen()).port), logged: () => lines.join('') }
    },
  },
  {
    name: 'ops',
    path: '/page',
    async open(t) {
      const logged: string[] = []
      const pages = { '/page': () => ({ type: 'text/plain', body: 'page' }) }
      const { address, close } = await listenForOperators(
        { host: '127.0.0.1', port: 0 },
        pages,
        (event) => logged.push(JSON.stringify(event)),
        tlsOf(t),
      )
      t.teardown(close)
      return { port: Number(new URL(address).port), logged: () => logged.join('') }
    },
  },
]

for (const { name, path, open } of PORTS) {
  const get = (headers = '', version = '1.1') => `GET ${path} HTTP/${version}\r\nHost: localhost\r\n${headers}\r\n`
  const ask = async (t: Test, port: number, bytes: string) => said(await dialPort(t, port, bytes))

  testBoth(`Pipelining (${name} port): the parser stops after 32 unanswered requests at most`, async (t) => {
    const { port } = await open(t)
    const answers = statuses(await ask(t, port, get().repeat(1500)))
    t.strictSame(answers, Array(name === 'ops' ? 1 : 32).fill(200))
  })

  testBoth(`RFC 9112 §3.2, §6.1 (${name} port): ambiguous framing is refused, and the connection ends`, async (t) => {
    const { port } = await open(t)
    const cases: [bytes: string, status: number][] = [
      [get('Host: other\r\n'), 400],
      [get('host: localhost\r\n'), 400],
      [get('Transfer-Encoding: gzip, chunked\r\n'), 400],
      [`${get('Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n', '1.0')}0\r\n\r\n`, 400],
      [get('', '2.0'), 400],
      [`CONNECT localhost:443 HTTP/1.1\r\nHost: localhost\r\n\r\n`, 400],
      ['nonsense\r\n\r\n', 400],
    ]
    for (const [bytes, status] of cases) {
      const answer = await ask(t, port, bytes + get())
      t.strictSame(statuses(answer), [status], bytes)
      t.match(answer, /\r\nconnection: close\r\n/i, bytes)
    }
    t.strictSame(statuses(await ask(t, port, get('Connection: close\r\n', '1.0'))), [200], 'HTTP/1.0 is answered')
  })

  testBoth(`RFC 9110 §7.8 (${name} port): after a request for an upgrade the connection ends`, async (t) => {
    const { port } = await open(t)
    const answer = await ask(t, port, get('Connection: Upgrade\r\nUpgrade: websocket\r\n') + get())
    t.strictSame(statuses(answer), [200])
    t.match(answer, /\r\nconnection: close\r\n/i, 'so that a client sends the next request again')
  })

  testBoth(`Bodies (${name} port): a request with a huge body is answered before it is read`, async (t) => {
    const { port } = await open(t)
    const answer = await ask(t, port, `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n`)
    t.match(statuses(answer), [/^(403|405|413|415)$/])
  })

  testBoth(`Connections (${name} port): at the limit, a new one replaces the oldest idle one`, async (t) => {
    const { port, logged } = await open(t)
    const oldest = said(await dialPort(t, port))
    for (let others = 1; others < 64; others++) await dialPort(t, port)
    t.strictSame(statuses(await ask(t, port, get('Connection: close\r\n'))), [200])
    t.equal(await oldest, '', 'the oldest was ended')
    t.match(logged(), /"reason":"too many connections( of one address)?"/)
    t.equal(/"listener":"(\w+)"/.exec(logged())?.[1], name === 'public' ? undefined : name)
  })
}
