import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { listenForAdmin } from '../../src/admin/listener.ts'
import type { AdminPlace } from '../../src/config.ts'
import { checkOperators, checkSocketFolder } from '../../src/doctor/access.ts'
import { checkCertificate } from '../../src/doctor/certificates.ts'
import { checkAdminListener, checkOpsListener, checkServer } from '../../src/doctor/listeners.ts'
import { listenForOperators } from '../../src/ops/listener.ts'
import { VERSION } from '../../src/version.ts'
import { createAdminWorld } from '../support/admin.ts'
import { makeCertificate } from '../support/certificate.ts'
import { freePort } from '../support/free-port.ts'
import { leaveSocket } from '../support/leave-socket.ts'
import { startRecorder } from '../support/recorder.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testByTls, tlsOf } from '../support/tls.ts'
import { createWorld } from '../support/world.ts'

const DAY = 24 * 60 * 60_000
const NOW = Date.UTC(2026, 0, 1)
const host = '127.0.0.1'

/** A server that answers like this, which the test may change. */
async function startServer(t: Test, answer = { status: 200, body: '' }) {
  const { address } = await startRecorder(t, (response) => {
    response.statusCode = answer.status
    response.end(answer.body)
  })
  return { answer, port: Number(address.split(':')[1]) }
}

t.test('Doctor: a server that is ready is all right, and every other answer is an error that says which', async (t) => {
  const { answer, port } = await startServer(t)
  const check = () => checkServer({ HOST: host, PORT: port })
  t.match(await check(), [{ level: 'ok', text: `The server at http://127.0.0.1:${port} is ready.` }])
  answer.status = 503
  t.match(await check(), [{ level: 'error', text: `The server at http://127.0.0.1:${port} is not ready.` }])
  answer.status = 404
  t.match(await check(), [{ level: 'error', text: /is not this server: 404\.$/ }])
  const PORT = await freePort()
  const text = `No server answers at http://localhost:${PORT} (ECONNREFUSED).`
  t.match(await checkServer({ HOST: '0.0.0.0', PORT }), [{ level: 'error', text }])
  t.match(await checkServer({ HOST: '::1', PORT: 0 }), [{ level: 'note', text: /^PORT is 0/ }])
})

t.test('Doctor: the version of the server that runs is compared, where its metrics tell it', async (t) => {
  const { answer, port } = await startServer(t)
  const check = () => checkOpsListener({ host, port })
  const other = `The program that answers at http://127.0.0.1:${port}/metrics is not this server.`
  t.match(await check(), [{ level: 'error', text: other }])
  const body = (version: string) =>
    `# TYPE token_server_build_info gauge\ntoken_server_build_info{node="24.21.0",version="${version}"} 1\n`
  answer.body = body(VERSION)
  t.match(await check(), [{ level: 'ok' }])
  answer.body = body('99.0.0')
  t.match(await check(), [{ level: 'warning', text: `The running server is 99.0.0, and this program ${VERSION}.` }])
  t.match(await checkOpsListener({ host, port: await freePort() }), [{ level: 'error', text: /ECONNREFUSED/ }])
  t.match(await checkOpsListener({ host, port: 0 }), [{ level: 'note' }])
})

testByTls('Doctor: by TLS it asks the listeners, and compares what they show with the files', async (t) => {
  const folder = temporaryFolder(t)
  const [own, other] = [
    { certificate: join(folder, 'own'), key: join(folder, 'own.key') },
    makeCertificate(folder).files,
  ]
  const { app, logged } = await createWorld(t)
  const PORT = Number(new URL(await app.listen({ port: 0, host })).port)
  const url = `https://127.0.0.1:${PORT}`
  t.match(await checkServer({ HOST: host, PORT, TLS_CERT_FILE: own.certificate }), [
    { level: 'ok', text: `The server at ${url} is ready.` },
  ])
  t.match(await checkServer({ HOST: host, PORT }), [{ level: 'error' }], 'without TLS nothing answers')
  const now = () => Date.now()
  const text = `The server at ${url} does not show the certificate in ${other.certificate}.`
  chmodSync(other.key, 0o600)
  const isPrivate = { level: 'ok', text: `TLS_KEY_FILE, ${other.key} (mode 600), is private.` }
  t.match(await checkCertificate('public', other, now, url), [{ level: 'ok' }, isPrivate, { level: 'error', text }])
  t.strictSame(
    logged().filter(({ msg }) => msg === 'request refused'),
    [],
    'it asks for what the server has',
  )
  const nowhere = `https://127.0.0.1:${await freePort()}`
  t.match(await checkCertificate('public', other, now, nowhere), [{ level: 'ok' }, isPrivate])
  chmodSync(other.key, 0o644)
  t.match(await checkCertificate('ops', other, () => Date.now() + 77 * DAY), [
    { level: 'warning', text: /is valid until .*Z\.$/ },
    { level: 'note', text: /^OPS_TLS_KEY_FILE, .* \(mode 644\), can be read by other users/ },
  ])
  await t.rejects(checkCertificate('public', own, now), { message: /^Cannot read / })

  const pages = { '/metrics': () => ({ status: 403, type: 'text/plain', body: '' }) }
  const ops = await listenForOperators({ host, port: 0 }, pages, () => {}, tlsOf(t))
  t.teardown(ops.close)
  const found = await checkOpsListener({ host, port: Number(new URL(ops.address).port) }, true)
  t.match(found, [{ level: 'note', text: /^OPS_CLIENT_CA_FILE keeps/ }])
  const admin = Number(new URL(await (await createAdminWorld(t)).listen()).port)
  t.match(await checkAdminListener({ host, port: admin }, true), [{ level: 'ok' }])
})

t.test('Doctor: an admin listener is found; a missing one, or another program, is an error', async (t) => {
  const socket = join(temporaryFolder(t), 'admin.sock')
  const [port, other] = [await freePort(), await freePort()]
  const advice = 'If ADMIN_ADDRESS was set after the server had started, restart the server.'
  const missing = async (place: AdminPlace, address: string, code: string) => {
    const text = `The admin listener does not answer at ${address} (${code}).`
    t.match(await checkAdminListener(place), [{ level: 'error', text, advice }])
  }
  await missing({ host, port }, `http://127.0.0.1:${port}`, 'ECONNREFUSED')
  await missing({ socket }, socket, 'ENOENT')
  await leaveSocket(socket)
  await missing({ socket }, socket, 'ECONNREFUSED')
  t.match(await checkAdminListener({ host, port: 0 }), [{ level: 'note' }])
  const places: [place: AdminPlace, text: string][] = [
    [{ host, port }, `http://127.0.0.1:${port}`],
    [{ host: '0.0.0.0', port: other }, `http://localhost:${other}`],
    [{ socket }, socket],
  ]
  for (const [place, at] of places) {
    await listenForAdmin((await createAdminWorld(t)).app.server, place)
    t.strictSame(await checkAdminListener(place), [{ level: 'ok', text: `The admin listener answers at ${at}.` }])
  }
  const server = await startServer(t, { status: 200, body: 'Hello' })
  const text = `The program that answers at http://127.0.0.1:${server.port} is not this server's admin listener.`
  t.match(await checkAdminListener({ host, port: server.port }), [{ level: 'error', text }])
})

t.test('Doctor: what listens and does not answer within 3 s is not said to be missing', async (t) => {
  const { address } = await startRecorder(t, () => {})
  const port = Number(address.split(':')[1])
  const { timeout } = AbortSignal
  const timeouts = t.capture(AbortSignal, 'timeout', () => timeout.call(AbortSignal, 20))
  const text = (path: string) => `The program that listens at http://${address}${path} did not answer within 3 s.`
  t.match(await checkServer({ HOST: host, PORT: port }), [{ level: 'error', text: text('') }])
  t.match(await checkOpsListener({ host, port }), [{ level: 'error', text: text('/metrics') }])
  t.match(await checkAdminListener({ host, port }), [{ level: 'error', text: text('') }])
  const given = timeouts().map(({ args }) => args[0])
  t.strictSame(given, [3000, 3000, 3000])
})

t.test('Doctor: the folder of the admin socket must exist and not be writable by others', async (t) => {
  const folder = join(temporaryFolder(t), 'run')
  const found = () => checkSocketFolder(join(folder, 'admin.sock'))
  t.match(await found(), [
    {
      level: 'error',
      text: `The folder of ADMIN_ADDRESS, ${folder}, does not exist.`,
      advice: /^systemd makes it .*; else create it\.$/,
    },
  ])
  mkdirSync(folder)
  for (const mode of [0o700, 0o755, 0o1777]) {
    chmodSync(folder, mode)
    t.match(await found(), [{ level: 'ok', text: `The folder of ADMIN_ADDRESS is ${folder}.` }], mode.toString(8))
  }
  for (const mode of [0o770, 0o702]) {
    chmodSync(folder, mode)
    const text = new RegExp(`^Other users may write to ${folder} \\(mode ${mode.toString(8)}\\), `)
    t.match(await found(), [{ level: 'warning', text, advice: `chmod go-w ${folder}` }])
  }
  await t.rejects(checkSocketFolder('/dev/null/run/admin.sock'), { code: 'ENOTDIR' })
})

t.test('Doctor: it reports a listener without operators, and operators whose last key ends soon', async (t) => {
  t.match(checkOperators([], NOW), [{ level: 'note', text: 'There is no operator who can use ADMIN_ADDRESS.' }])
  const lastKeys = { anna: NOW + 8 * DAY, nobody: null, ben: NOW + 7 * DAY, cleo: NOW }
  const all = Object.entries(lastKeys).map(([name, lastKeyEndsAt]) => ({ name, lastKeyEndsAt }))
  t.match(checkOperators(all.slice(0, 2), NOW), [{ level: 'ok', text: 'No admin key expires within a week.' }])
  const text = 'OPERATORS is provider, but these operators have admin keys, which stay valid: anna, ben.'
  const advice = 'Remove those of people: "operators remove NAME".'
  t.match(checkOperators(all, NOW, true)[0], { level: 'note', text, advice })
  t.equal(checkOperators(all.slice(1, 2), NOW, true).length, 1)
  const findings = checkOperators(all, NOW)
  t.equal(findings.length, 2)
  const ending = 'The last admin key of the operator ben expires at 2026-01-08T00:00:00Z.'
  const ended = 'The last admin key of the operator cleo expired at 2026-01-01T00:00:00Z.'
  const another = { level: 'warning', text: ending, advice: '"operators key ben --expires 90d" makes another one.' }
  t.match(findings, [another, { level: 'warning', text: ended }])
})
