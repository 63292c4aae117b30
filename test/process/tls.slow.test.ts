import { once } from 'node:events'
import { renameSync, symlinkSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import https from 'node:https'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { makeCertificate } from '../support/certificate.ts'
import { startLoad } from '../support/load.ts'
import { needs } from '../support/needs.ts'
import { runProgram } from '../support/run-program.ts'
import { type Credentials, command, run, startServer, startServing } from '../support/spawn.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const skip = needs('openssl')

/** Two pairs, and links to one of them, which `swap` turns to the other. */
function createLinks(t: Test) {
  const folder = temporaryFolder(t)
  const pairs = ['one', 'two'].map((name) => makeCertificate(folder, { name }))
  let shown = 0
  const link = (name: string, target: string) => {
    symlinkSync(target, join(folder, 'new'))
    renameSync(join(folder, 'new'), join(folder, name))
  }
  const show = (n: number) => {
    link('live.crt', pairs[n]?.files.certificate as string)
    link('live.key', pairs[n]?.files.key as string)
  }
  const swap = () => {
    shown = 1 - shown
    show(shown)
  }
  show(0)
  const settings = { TLS_CERT_FILE: join(folder, 'live.crt'), TLS_KEY_FILE: join(folder, 'live.key') }
  return { settings, ca: pairs.map(({ certificate }) => certificate), swap, folder }
}

/** Asks for tokens, on new connections and on kept ones, which may resume sessions. */
function clientsOf(t: Test, address: string, ca: string[], credentials: Credentials) {
  const kept = new https.Agent({ keepAlive: true, ca })
  const resuming = new https.Agent({ ca })
  t.teardown(() => kept.destroy())
  const form = new URLSearchParams({ grant_type: 'client_credentials', ...credentials }).toString()
  return async (client: number): Promise<number> => {
    const agent = [kept, resuming, new https.Agent({ ca, maxCachedSessions: 0 })][client % 3]
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const options = { method: 'POST', agent, headers, servername: 'localhost' }
    const request = https.request(`${address}/v1/oauth/accesstoken`, options).end(form)
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    await json(response)
    return response.statusCode as number
  }
}

/** The name in the certificate that a new connection gets, and whether it resumed this session. */
async function shake(address: string, ca: string[], session?: Buffer) {
  const socket = connect({
    port: Number(new URL(address).port),
    host: '127.0.0.1',
    ca,
    servername: 'localhost',
    session,
  })
  let given = session
  socket.on('session', (next) => {
    given = next
  })
  await once(socket, 'secureConnect')
  // TLS 1.3 sends sessions before the first answer.
  socket.write('GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(socket, 'data')
  const shaken = { name: String(socket.getPeerCertificate().subject?.CN), isResumed: socket.isSessionReused() }
  socket.destroy()
  return { ...shaken, session: given }
}

t.test('TLS: certificates are swapped 50 times under load, and no request fails', { skip }, async (t) => {
  const { settings, ca, swap } = createLinks(t)
  const { server, credentials, env } = await startServing(t, settings)
  t.match(server.address, /^https:/)
  const load = startLoad(clientsOf(t, server.address, ca, credentials), { clients: 6 })
  for (let times = 1; times <= 50; times++) {
    swap()
    server.child.kill('SIGHUP')
    await until(() => server.logged('certificate loaded').length === times)
    t.equal((await shake(server.address, ca)).name, times % 2 ? 'two' : 'one')
  }
  t.strictSame(await load.stop(), [200])
  const { PORT } = { PORT: new URL(server.address).port }
  t.match(await run(['healthcheck'], { env: { ...env, ...settings, PORT } }), { status: 0 })
  t.strictSame(await server.stop(), { status: 0, signal: null })
  t.notMatch(server.lines.join(''), /BEGIN|PRIVATE/)
})

t.test(
  "TLS: workers show what their leader read, resume each other's sessions, and outlive a wrong pair",
  { skip },
  async (t) => {
    const { settings, ca, swap, folder } = createLinks(t)
    const slow = join(folder, 'slow.mjs')
    writeFileSync(slow, 'await new Promise((resolve) => setTimeout(resolve, 200))')
    const NODE_OPTIONS = `--import ${slow}`
    const { server, credentials } = await startServing(t, { ...settings, NODE_OPTIONS, WORKERS: '2' })
    const ask = clientsOf(t, server.address, ca, credentials)
    const load = startLoad(ask, { clients: 3 })
    await until(() => server.issuers().length === 2)
    const { session } = await shake(server.address, ca)
    const resumed = async () => {
      for (let times = 0; times < 4; times++) {
        t.equal((await shake(server.address, ca, session)).isResumed, true)
      }
    }
    await resumed()
    swap()
    await until(() => server.logged('certificate loaded').length === 1)
    t.equal((await shake(server.address, ca)).name, 'two', 'within seconds, without a signal')
    await resumed()

    symlinkSync(join(folder, 'one.key'), join(folder, 'new'))
    renameSync(join(folder, 'new'), join(folder, 'live.key'))
    await server.restart()
    t.match(server.logged('certificate refused'), [{ listener: 'public', problem: /does not fit/ }])
    for (let times = 0; times < 2; times++)
      t.equal((await shake(server.address, ca)).name, 'two', 'also by new workers')
    t.strictSame(await load.stop(), [200])
    t.strictSame(await server.stop(), { status: 0, signal: null })
  },
)

t.test('TLS: at the start a wrong pair is refused, and doctor tells what is wrong', { skip }, async (t) => {
  const { settings, folder } = createLinks(t)
  const wrong = { ...settings, TLS_KEY_FILE: join(folder, 'two.key') }
  for (const WORKERS of ['1', '2']) {
    const { status, err } = await command(t, ['serve', '--create'], {
      ...wrong,
      WORKERS,
      PORT: '0',
      DATABASE_URL: `sqlite:${folder}/a.db`,
    })
    t.equal(status, 1)
    t.match(err, /^The key in .*two\.key does not fit the certificate in .*live\.crt: .*\.\n$/)
  }
  for (const PORT of ['0', '1']) {
    const { out } = await run(['doctor', '--json'], { env: { ...wrong, PORT, DATABASE_URL: `sqlite:${folder}/a.db` } })
    t.match(out, /The key in [^"]*two\.key does not fit/)
  }
  const server = await startServer(t, { ...settings, DATABASE_URL: `sqlite:${folder}/b.db` })
  const env = { ...settings, DATABASE_URL: `sqlite:${folder}/b.db`, PORT: new URL(server.address).port }
  const found = async (env: NodeJS.ProcessEnv) => (await run(['doctor', '--json'], { env })).out
  t.match(await found(env), /The certificate in [^"]*live\.crt is valid until /)
  const other = { TLS_CERT_FILE: join(folder, 'two.crt'), TLS_KEY_FILE: join(folder, 'two.key') }
  t.match(
    await found({ ...env, ...other }),
    /The server at https:[^"]* does not show the certificate in [^"]*two\.crt\./,
  )
})

t.test('TLS: curl gets a token, and openssl s_client an answer, in both versions', { skip }, async (t) => {
  const { settings, ca, folder } = createLinks(t)
  const { server, credentials } = await startServing(t, settings)
  const file = join(folder, 'ca.pem')
  writeFileSync(file, ca.join(''))
  const input = new URLSearchParams({ grant_type: 'client_credentials', ...credentials }).toString()
  const { port } = new URL(server.address)
  const curl = ['-sS', '--data', '@-', `https://localhost:${port}/v1/oauth/accesstoken`]
  for (const version of ['1.2', '1.3']) {
    const versions = [`--tlsv${version}`, '--tls-max', version]
    const { out, err } = await runProgram('curl', [...curl, '--cacert', file, ...versions], { input })
    t.equal(JSON.parse(out).expires_in, 3599, err)

    const trust = ['-CAfile', file, '-verify_return_error', '-verify_hostname', 'localhost']
    const client = ['s_client', '-connect', `127.0.0.1:${port}`, `-tls${version.replace('.', '_')}`, '-quiet', ...trust]
    const request = 'GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
    t.match(await runProgram('openssl', client, { input: request }), { status: 0, out: /^HTTP\/1\.1 200 / }, version)
  }
  t.equal((await runProgram('curl', curl, { input })).status, 60, 'a certificate that curl does not know')
})
