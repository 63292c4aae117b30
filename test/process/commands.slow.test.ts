import { once } from 'node:events'
import fs from 'node:fs'
import type { IncomingMessage } from 'node:http'
import https from 'node:https'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { makeCertificate } from '../support/certificate.ts'
import { textOf } from '../support/console-world.ts'
import { askAgain, startLoad } from '../support/load.ts'
import { LATEST } from '../support/migrations.ts'
import { needs } from '../support/needs.ts'
import { command, register, run, runJson, start, startServer, startServing } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { until } from '../support/until.ts'

/** Runs a command whose standard output is full, or is closed before it comes. */
async function runInto(t: Test, args: string, env: NodeJS.ProcessEnv, stdout: 'full' | 'closed') {
  const out = stdout === 'closed' ? 'pipe' : fs.openSync('/dev/full', 'w')
  const child = start(t, args.split(' '), env, { stdio: ['ignore', out, 'pipe'] })
  child.stdout?.destroy()
  const [err, [status]] = await Promise.all([text(child.stderr as NodeJS.ReadableStream), once(child, 'exit')])
  return { err, status }
}

t.test('Output: a reader that has seen enough ends a list without a word, with the status of SIGPIPE', async (t) => {
  const { env } = temporaryDatabase(t)
  const { client_id } = await register(env)
  for (const list of ['apps list', `apps show ${client_id}`, `secrets list ${client_id}`, 'suites list']) {
    t.strictSame(await runInto(t, list, env, 'closed'), { err: '', status: 141 })
  }
  const err = /^The output could not be written: ENOSPC/
  t.match(await runInto(t, 'apps list', env, 'full'), { status: 1, err })
})

t.test('Output: where the result of a change cannot be written, it is said that the change was made', async (t) => {
  const { env } = temporaryDatabase(t)
  const { client_id } = await register(env)
  const silent = { ...env, LOG_LEVEL: 'silent' }
  const done = /^The change was made\. The output could not be written: .*(ENOSPC|EPIPE)/
  for (const [args, stdout] of [
    [`secrets rotate ${client_id}`, 'full'],
    [`secrets rotate ${client_id}`, 'closed'],
    ['suites register other --name Other', 'closed'],
    ['apps register --name Other --developer-email a@b.example', 'closed'],
  ] as const) {
    const { err, status } = await runInto(t, args, silent, stdout)
    t.equal(status, 1)
    t.match(err, done)
    t.match(err, /The new secret of \S+ is lost: "secrets rotate \S+" makes another one/)
  }
  t.equal((await runJson(['secrets', 'list', client_id], { env })).length, 3)
  t.match(await runInto(t, 'migrate', silent, 'full'), { status: 1, err: done })
})

t.test('Commands beside a server under load: they get their turn, and no client is refused', async (t) => {
  const { env, folder, credentials, server } = await startServing(t)
  const load = startLoad(() => askAgain(() => server.issue(credentials)), { clients: 8 })
  for (let n = 0; n < 3; n++) {
    t.match(await command(t, ['secrets', 'rotate', credentials.client_id], env), { status: 0 })
  }
  t.match(await command(t, ['seed', seedFile(folder, 3000)], env), { status: 0 })
  t.strictSame(await load.stop(), [200])
})

/** Makes the database large enough that copying it takes a while. */
function enlarge(file: string, bytes: number): void {
  const db = new Database(file)
  db.prepare('UPDATE applications SET name = ?').run('x'.repeat(bytes))
  db.close()
}

t.test('Backup: - is standard output, and nothing else is there, nor left behind', async (t) => {
  const { env, folder, file } = temporaryDatabase(t)
  await register(env)
  const child = start(t, ['backup', '-'], env)
  const [bytes, said] = await Promise.all([buffer(child.stdout as never), text(child.stderr as never)])
  t.match(said, /"msg":"backup made"[\s\S]*Backed up to -: \d+ bytes, applications: 1/)
  const elsewhere = { DATABASE_URL: `sqlite:${folder}/elsewhere.db` }
  const restore = start(t, ['restore', '-'], elsewhere)
  restore.stdin?.end(bytes)
  t.strictSame(await once(restore, 'exit'), [0, null])
  t.equal((await runJson(['apps', 'list'], { env: elsewhere })).length, 1)

  enlarge(file, 5_000_000)
  const unread = start(t, ['backup', '-'], env)
  unread.stdout?.destroy()
  t.strictSame(await once(unread, 'exit'), [1, null], 'its reader goes away')
  t.notOk(fs.readdirSync(folder).some((name) => name.includes('partial')))
})

/** What a restore makes beside the database, in this order. */
const STAGES = [/\.restore-/, /\.restore-\w+\/lock\.db/, /\.restore-\w+\/copy\.db/, /\.replaced-/]

t.test('Restore: kill -9 at any moment leaves the old database or the new one, whole', async (t) => {
  const { env, folder, file } = temporaryDatabase(t)
  const copy = join(folder, 'copy.db')
  await register(env)
  enlarge(file, 20_000_000)
  t.match(await run(['backup', copy], { env }), { status: 0 })
  await register(env)
  const whole = new Set<number>()
  for (const stage of STAGES) {
    fs.copyFileSync(file, `${file}.before`)
    const restore = start(t, ['restore', copy], env)
    const exited = once(restore, 'exit')
    const paths = () => fs.readdirSync(folder, { recursive: true }).map((path) => join(folder, String(path)))
    await until(() => restore.exitCode !== null || paths().some((path) => stage.test(path)))
    restore.kill('SIGKILL')
    await exited
    const after = new Database(file)
    t.equal(after.pragma('integrity_check', { simple: true }), 'ok', String(stage))
    const applications = after.prepare('SELECT count(*) FROM applications').pluck().get() as number
    after.close()
    t.ok([1, 2].includes(applications), `${applications} at ${stage}`)
    whole.add(applications)
    for (const path of paths().filter((path) => /\.re(store|placed)-/.test(path)))
      fs.rmSync(path, { recursive: true, force: true })
    fs.renameSync(`${file}.before`, file)
  }
  t.ok(whole.has(2), 'some were early enough')
})

const skip = process.platform !== 'linux' && 'it looks into /proc'
t.test('Restore: who waits for the database while it is replaced does not work on the old one', { skip }, async (t) => {
  const { env, file } = temporaryDatabase(t)
  await register(env)
  const restore = new Database(file)
  restore.pragma('locking_mode = EXCLUSIVE')
  restore.exec('BEGIN EXCLUSIVE')
  const waiting = start(t, ['apps', 'suspend', 'a'], env)
  const err = text(waiting.stderr as never)
  const files = `/proc/${waiting.pid}/fd`
  const { ino } = fs.statSync(file)
  const inodeOf = (fd: string) => fs.statSync(join(files, fd), { throwIfNoEntry: false })?.ino
  await until(() => fs.readdirSync(files).some((fd) => inodeOf(fd) === ino))
  fs.copyFileSync(file, `${file}.new`)
  fs.renameSync(`${file}.new`, file)
  restore.close()
  t.strictSame(await once(waiting, 'exit'), [1, null])
  t.match(await err, /the file .*store\.db was removed or replaced/)
})

/** A seed file of so many applications. */
function seedFile(folder: string, count: number): string {
  const file = join(folder, 'seed.json')
  const applications = Array.from({ length: count }, (_, n) => ({ name: `A ${n}`, developer_email: 'a@b.example' }))
  fs.writeFileSync(file, JSON.stringify({ suites: [{ id: 'store', name: 'Store' }], applications }))
  return file
}

t.test('Seed: a signal ends it after a step, with a whole document, and the next run does the rest', async (t) => {
  const COUNT = 20_000
  const { folder, env } = temporaryDatabase(t)
  const silent = { ...env, LOG_LEVEL: 'silent' }
  const file = seedFile(folder, COUNT)
  const child = start(t, ['seed', file, '--create', '--json'], silent)
  child.stdout?.once('data', () => child.kill('SIGTERM'))
  const [out, err, [status]] = await Promise.all([
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
    once(child, 'exit'),
  ])
  t.equal(status, 1)
  t.match(JSON.parse(err), { error: 'Stopped by SIGTERM. Run seed again to register the rest.' })
  const first = JSON.parse(out)
  const second = JSON.parse((await command(t, ['seed', file, '--create', '--json'], silent)).out)
  t.equal(second.existing, first.suites.length + first.applications.length)
  t.equal(first.applications.length + second.applications.length, COUNT)
  t.ok(second.applications.length > 0)
})

t.test('Seed: an output that cannot be written ends it; the next run registers everything', async (t) => {
  const { folder, env } = temporaryDatabase(t)
  const file = seedFile(folder, 3)
  const err =
    /^The output could not be written: ENOSPC.*[\s\S]*Entries that could not be printed are not registered\. Run seed again/
  for (let n = 0; n < 2; n++) {
    t.match(await runInto(t, `seed ${file} --create`, { ...env, LOG_LEVEL: 'silent' }, 'full'), { status: 1, err })
  }
  const made = {
    suites: [{ id: 'store', client_secret: String }],
    applications: Array(3).fill({ client_secret: String }),
  }
  t.match(await runJson(['seed', file], { env }), { ...made, existing: 0 })
})

t.test('Healthcheck: it fails where the server has lost its store, none answers, or the port is unknown', async (t) => {
  const { env, file } = temporaryDatabase(t)
  const server = await startServer(t, { ...env, HOST: '0.0.0.0' })
  const PORT = new URL(server.address).port
  t.match(await command(t, ['healthcheck'], { HOST: '0.0.0.0', PORT }), { status: 0 })
  const healthy = { address: `http://127.0.0.1:${PORT}`, status: 'ready' }
  t.strictSame(await runJson(['healthcheck'], { env: { PORT } }), healthy)
  fs.unlinkSync(file)
  for (const [settings, err] of [
    [{ PORT }, `The server at http://127.0.0.1:${PORT} is not ready: 503.\n`],
    [{ HOST: '127.0.0.1', PORT: '1' }, 'The server at http://127.0.0.1:1 is not ready: no answer.\n'],
    [{ HOST: '0.0.0.0', PORT: '1' }, 'The server at http://localhost:1 is not ready: no answer.\n'],
    [{ HOST: '::1', PORT: '1' }, 'The server at http://[::1]:1 is not ready: no answer.\n'],
    [{ PORT: '0' }, 'PORT is 0, so the port of the server is not known: set a fixed one.\n'],
  ] as const) {
    t.match(await run(['healthcheck'], { env: settings }), { status: 1, err })
  }
})

/** Starts `demo` and waits for what it says. */
async function startDemo(t: Test, env: NodeJS.ProcessEnv) {
  const child = start(t, ['demo'], env)
  let out = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk) => (out += chunk))
  await until(() => out.includes('nonsense'))
  return { child, out, all: () => out }
}

t.test('Demo: it prints a login link and a curl command that gets a token, whatever the settings', async (t) => {
  const { env } = temporaryDatabase(t)
  const demo = await startDemo(t, { ...env, HOST: '0.0.0.0' })
  const [, url = '', form] = /curl -s (\S+) \\\n +-d '([^']+)'/.exec(demo.out) ?? []
  t.match(url, /^http:\/\/127\.0\.0\.1:/)
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(form) })
  const { access_token, ...rest } = (await answer.json()) as Record<string, string>
  t.match(rest, { token_type: 'bearer', application_name: 'Demo application (for you to try)' })
  const checks = [...demo.out.matchAll(/curl -i (\S+) *(?:-H (?:"([^"]+)"|'([^']+)'))?$/gm)]
  const statuses = checks.map(async ([, address = '', valid, invalid]) => {
    const authorization = (valid ?? invalid)?.replace('$TOKEN', access_token as string).replace('Authorization: ', '')
    return (await fetch(address, { headers: authorization ? { authorization } : {} })).status
  })
  t.strictSame(await Promise.all(statuses), [200, 401, 401], 'and shows one request let through and two refused')

  const { origin, hash } = new URL(/http:\S+#\S+/.exec(demo.out)?.[0] as string)
  const body = new URLSearchParams({ code: hash.slice(1) })
  const login = await fetch(`${origin}/login`, { method: 'POST', body, headers: { origin }, redirect: 'manual' })
  const cookie = String(login.headers.get('set-cookie')).split(';')[0] as string
  const page = async (path: string) => textOf(await (await fetch(origin + path, { headers: { cookie } })).text())
  t.match(await page('/applications'), /Warehouse scanner/, 'its first link leads to a console')
  t.match(await page('/audit'), /Application suspended/)
  t.match(await page('/'), /This is a demo ?, with/)
  t.match(await page('/login'), 'Open the link that the demo printed when it started.')
  await until(async () => /wrong secret/.test(await page('/')))
  const mine = `/applications/${new URLSearchParams(form).get('client_id')}`
  await until(async () => !/Last token never/.test(await page(mine)))
  t.notMatch(demo.out, /Enter/, 'no hint to press Enter without a terminal')

  const second = await startDemo(t, env)
  t.notMatch(second.out, `${url} `, 'a second one finds a port of its own')
  for (const { child, all } of [demo, second]) {
    child.kill('SIGTERM')
    t.strictSame(await once(child, 'close'), [0, null])
    t.match(all(), /\nStopped\. Everything in the demo is gone\.\n$/)
  }
})

t.test('Demo: with a certificate in the environment it speaks TLS', { skip: needs('openssl') }, async (t) => {
  const { env, folder } = temporaryDatabase(t)
  const { files, certificate } = makeCertificate(folder)
  const tls = { TLS_CERT_FILE: files.certificate, TLS_KEY_FILE: files.key }
  const { out, child } = await startDemo(t, { ...env, ...tls })
  t.match(out, /https:\/\/localhost:\d+\/login#/)
  const [, ca = '', url = ''] = /curl --cacert (\S+) -s (https:\/\/localhost\S+) /.exec(out) ?? []
  t.equal(ca, files.certificate)
  const request = https.get(url, { ca: certificate, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  t.equal(response.resume().statusCode, 405)
  child.kill('SIGTERM')
  t.strictSame(await once(child, 'close'), [0, null])
})

t.test('Migrate: of several processes that start at once one migrates and all go on', async (t) => {
  const { env } = temporaryDatabase(t)
  const results = await Promise.all(Array.from({ length: 5 }, () => command(t, ['migrate', '--json'], env)))
  t.match(results, Array(5).fill({ status: 0, err: '' }))
  const from = results.map(({ out }) => JSON.parse(out).from as number)
  t.strictSame(from.sort(), [0, ...Array(4).fill(LATEST)].sort())
})
