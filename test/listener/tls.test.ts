import { once } from 'node:events'
import type http from 'node:http'
import https from 'node:https'
import { connect as connectPlainly, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import type { Test } from 'tap'
import { readConfig } from '../../src/config.ts'
import { createTls } from '../../src/listener/certificate.ts'
import { openCertificates } from '../../src/server/certificates.ts'
import { createServerFigures } from '../../src/server/figures.ts'
import { startOps } from '../../src/server/ops.ts'
import { createCounters } from '../../src/telemetry/metrics/counters.ts'
import { createAdminWorld } from '../support/admin.ts'
import { makeCertificate } from '../support/certificate.ts'
import { LIVE, said, statuses } from '../support/listening.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { ownCertificate, testByTls } from '../support/tls.ts'
import { createWorld } from '../support/world.ts'

const LAST = LIVE.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')

/** The public port of a world. `refused`: why connections were closed, and how many. */
async function openPort(t: Test, options: Parameters<typeof createWorld>[1] = {}) {
  const world = await createWorld(t, { counts: true, ...options })
  const port = Number(new URL(await world.app.listen({ port: 0, host: '127.0.0.1' })).port)
  const refused = () => world.measured.flatMap((event) => (event.type === 'connection closed' ? event.reason : []))
  return { ...world, port, refused }
}

/** A connection after its handshake. Rejects if that fails. */
async function shake(t: Test, port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', ca: ownCertificate(), servername: 'localhost', ...options })
  t.teardown(() => socket.destroy())
  await once(socket, 'secureConnect')
  return socket
}

async function dialPlainly(t: Test, port: number): Promise<Socket> {
  const socket = connectPlainly({ port, host: '127.0.0.1' })
  t.teardown(() => socket.destroy())
  await once(
    socket.on('error', () => {}),
    'connect',
  )
  return socket
}

/** The answers to a request, which is the last of a connection. */
async function ask(socket: Socket, request = LAST): Promise<number[]> {
  socket.write(request)
  return statuses(await said(socket))
}

testByTls('TLS: versions 1.2 and 1.3, and HTTP/1.1 only', async (t) => {
  const { port, refused } = await openPort(t)
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = await shake(t, port, { maxVersion: version, ALPNProtocols: ['h2', 'http/1.1'] })
    t.strictSame([socket.getProtocol(), socket.alpnProtocol], [version, 'http/1.1'])
    t.strictSame(await ask(socket), [200])
  }
  t.strictSame(await ask(await shake(t, port)), [200], 'without ALPN')
  await t.rejects(shake(t, port, { ALPNProtocols: ['h2'] }), { code: /NO_APPLICATION_PROTOCOL/ })
  const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
  await t.rejects(shake(t, port, old), { code: /PROTOCOL_VERSION/ })
  t.strictSame(refused(), Array(2).fill('TLS handshake failed'))
})

testByTls('TLS: what is not a handshake ends the connection, and is reported without any of its bytes', async (t) => {
  const { port, lines, refused } = await openPort(t)
  for (let times = 0; times < 2; times++) {
    const socket = await dialPlainly(t, port)
    socket.write('GET /SECRET HTTP/1.1\r\n\r\n')
    t.equal(await said(socket), '')
  }
  t.strictSame(refused(), Array(2).fill('TLS handshake failed'))
  t.equal(lines.length, 1)
  t.match(JSON.parse(lines[0] as string), { msg: 'connections closed', remote_address: '127.0.0.1', level: 40 })
  t.notMatch(lines[0], 'SECRET')
  const probe = await dialPlainly(t, port)
  probe.end()
  t.equal(await said(probe), '')
  t.equal(refused().length, 2, 'a probe that sends nothing is not reported')
})

testByTls('TLS: a handshake has as long as a request, and counts as a connection', async (t) => {
  const { port, app, refused } = await openPort(t, { requestTimeout: 200 })
  const [silent, slow] = [await dialPlainly(t, port), await dialPlainly(t, port)]
  // The head of a record, and then one byte at a time.
  slow.write(Buffer.from([22, 3, 1, 2, 0]))
  const dripping = setInterval(() => slow.write(Buffer.from([1])), 20)
  t.equal(await new Promise((resolve) => app.server.getConnections((_, count) => resolve(count))), 2)
  t.strictSame(await Promise.all([said(silent), said(slow)]), ['', ''])
  clearInterval(dripping)
  t.strictSame(refused(), Array(2).fill('TLS handshake failed'))
})

testByTls('TLS: at a limit a new connection replaces the oldest, whose handshake has not ended', async (t) => {
  const { port, refused } = await openPort(t, { connectionLimit: 2 })
  const [oldest, second] = [await dialPlainly(t, port), await dialPlainly(t, port)]
  const end = said(oldest)
  const third = await shake(t, port)
  t.equal(await end, '')
  t.strictSame(refused(), ['too many connections of one address'])
  t.notOk(second.destroyed)
  t.strictSame(await ask(third), [200])
})

testByTls('TLS: after the handshake, a malformed record or a renegotiation ends the connection', async (t) => {
  const { port } = await openPort(t)
  const raw = await dialPlainly(t, port)
  const socket = await shake(t, port, { socket: raw })
  socket.on('error', () => {})
  const closed = once(raw, 'close')
  raw.write('GET / HTTP/1.1\r\n\r\n')
  await closed
  const old = await shake(t, port, { maxVersion: 'TLSv1.2' })
  const error = await new Promise((resolve) => {
    old.once('error', resolve).once('close', resolve)
    old.renegotiate({}, resolve)
  })
  t.not(error, null)
})

testByTls('TLS: while the server closes, a handshake does not delay the end', async (t) => {
  const { port, app } = await openPort(t)
  const silent = await dialPlainly(t, port)
  await app.close()
  t.equal(await said(silent), '')
})

testByTls(
  'TLS: a session is resumed with another certificate, by each process with the same ticket keys',
  async (t) => {
    const folder = temporaryFolder(t)
    const pairs = ['one', 'two'].map((name) => makeCertificate(folder, { name }))
    const keys = Buffer.alloc(48, 1)
    const other = Buffer.alloc(48, 2)
    const [one, two] = pairs as [(typeof pairs)[0], (typeof pairs)[0]]
    let tls = createTls(one, keys)
    const { port } = await openPort(t, { tls: () => tls })
    const options = { ca: [one.certificate, two.certificate] }
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const first = await shake(t, port, { ...options, maxVersion: version })
      let session = first.getSession()
      first.on('session', (given) => (session = given))
      await ask(first)
      const isResumed = async () =>
        (await shake(t, port, { ...options, maxVersion: version, session: session as Buffer })).isSessionReused()
      tls = createTls(two, keys)
      t.equal(await isResumed(), true, version)
      tls = createTls(two, other)
      t.equal(await isResumed(), false, 'other keys')
      tls = createTls(one, keys)
    }
  },
)

testByTls(
  'TLS: OPS_CLIENT_CA_FILE keeps the metrics from clients without a certificate of that authority',
  async (t) => {
    const folder = temporaryFolder(t)
    const server = makeCertificate(folder)
    const [ca, stranger] = ['ca', 'stranger'].map((name) => makeCertificate(folder, { name })) as [
      typeof server,
      typeof server,
    ]
    const signedBy = ({ files }: typeof server, name: string, days = 1) =>
      makeCertificate(folder, { name, days, options: ['-CA', files.certificate, '-CAkey', files.key] })
    const config = readConfig({
      OPS_ADDRESS: '127.0.0.1:0',
      ...{ OPS_TLS_CERT_FILE: server.files.certificate, OPS_TLS_KEY_FILE: server.files.key },
      OPS_CLIENT_CA_FILE: ca.files.certificate,
    })
    const certificates = await openCertificates(config, { observe: () => {} })
    const figures = createServerFigures(createCounters(), { expected: 1, serving: () => 1 })
    const ops = await startOps(config, { figures, observe: () => {}, certificates })
    t.teardown(() => ops?.close())
    t.match(ops?.address, /^https:/)
    const get = async (path: string, client: ConnectionOptions = {}) => {
      const agent = new https.Agent({ maxCachedSessions: 0 })
      const request = https.get(`${ops?.address}${path}`, {
        agent,
        ca: server.certificate,
        servername: 'localhost',
        ...client,
      })
      const [response] = (await once(request, 'response')) as [http.IncomingMessage]
      return { status: response.statusCode, body: await text(response) }
    }
    const client = ({ certificate, key }: typeof server) => ({ cert: certificate, key })
    const own = client(signedBy(ca, 'prometheus'))
    const { status, body } = await get('/metrics', own)
    t.equal(status, 200)
    t.match(body, /^token_server_certificate_expiry_seconds\{listener="ops"\} 7\d{6}/m)
    t.match(body, /^token_server_certificate_refused\{listener="ops"\} 0$/m)
    const strangers = { none: {}, another: client(signedBy(stranger, 'a')), 'self-signed': client(stranger) }
    for (const [who, options] of Object.entries(strangers)) {
      t.match(await get('/metrics', options), { status: 403, body: /OPS_CLIENT_CA_FILE/ }, who)
      t.equal((await get('/health/live', options)).status, 200, who)
    }

    const { port } = new URL(String(ops?.address))
    const request = 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n'
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      const first = await shake(t, Number(port), { ca: server.certificate, maxVersion })
      let session = first.getSession()
      first.on('session', (given) => (session = given))
      t.strictSame(await ask(first, request), [403])
      const resumed = await shake(t, Number(port), { ca: server.certificate, session: session as Buffer, maxVersion })
      t.equal(resumed.isSessionReused(), true)
      t.strictSame(await ask(resumed, request), [403], 'a resumed session has no certificate either')
    }
  },
)

testByTls('TLS: the console tells browsers to use it always, where they reach it by ADMIN_URL', async (t) => {
  const { listen } = await createAdminWorld(t, { adminUrl: 'https://console.example' })
  const url = new URL(await listen())
  t.equal(url.protocol, 'https:')
  const get = async (host: string, headers = {}, method = 'GET', path = '/login') => {
    const options = { method, ca: ownCertificate(), servername: 'localhost', headers: { host, ...headers } }
    const [response] = await once(https.request(`${url.origin}${path}`, options).end(), 'response')
    response.resume()
    return response as http.IncomingMessage
  }
  const header = 'strict-transport-security'
  t.equal((await get('console.example')).headers[header], 'max-age=31536000')
  t.equal((await get('localhost')).headers[header], undefined, 'not for all that listens on this machine')
  t.not((await get('localhost', { origin: 'https://localhost' }, 'POST', '/nothing')).statusCode, 403)
  t.equal((await get('localhost', { origin: 'http://localhost' }, 'POST', '/nothing')).statusCode, 403)
})
