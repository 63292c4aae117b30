import { once } from 'node:events'
import { closeSync, existsSync, openSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { readConfig } from '../../src/config.ts'
import { findGenerated } from '../../src/domain/secret.ts'
import { openStore } from '../../src/store/open.ts'
import { askAgain, startLoad } from '../support/load.ts'
import { command, preload, register, run, runJson, start, startServer } from '../support/spawn.ts'
import { SQLITE, startPostgresStore } from '../support/stores.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

/** A file of so many applications; `more`: further fields of each. */
function applyFile(folder: string, count: number, more: object = {}): string {
  const file = join(folder, 'apply.json')
  const applications = Array.from({ length: count }, (_, n) => ({
    ...{ client_id: `a-${n}`, name: `A ${n}`, developer_email: 'a@b.example', suites: ['store'], quota: 60 },
    ...more,
  }))
  writeFileSync(file, JSON.stringify({ suites: [{ id: 'store', name: 'Store' }], applications }))
  return file
}

/** How many applications have a secret that one of the files has, as the last one for it or, of several files, as any. */
async function countKnown(env: { DATABASE_URL: string }, files: string[]): Promise<number> {
  // The document of the next run may begin right behind the last line of one that was killed.
  const known = files.flatMap((file) => [...readFileSync(file, 'utf8').matchAll(/^ {4}(\{.*?\})[,{]?$/gm)])
  const lines = known.map(([, line = '']) => JSON.parse(line))
  const secrets = Map.groupBy(lines, ({ client_id }) => client_id)
  const store = await openStore(readConfig(env).DATABASE_URL, { lockTimeout: 2000 })
  const all = await store.listApplications({ limit: 30_000 })
  await store.close()
  return all.filter(({ clientId, secrets: stored }) =>
    (secrets.get(clientId) ?? [])
      .slice(-files.length)
      .some(({ client_secret }) => stored.length === 1 && findGenerated(stored, client_secret)),
  ).length
}

for (const [name, options] of Object.entries({ Apply: ['--yes', '--secrets-to', 'secrets'], Seed: [] })) {
  t.test(`${name}: however often it is killed, each application has one secret, the last in the file`, async (t) => {
    const COUNT = 3000
    const cwd = temporaryFolder(t)
    const env = await SQLITE.createEnv(t)
    const args = [name.toLowerCase(), applyFile(cwd, COUNT), '--create', '--json', ...options]
    const secrets = join(cwd, 'secrets')
    const file = openSync(secrets, 'a')
    t.teardown(() => closeSync(file))
    const out = options.length > 0 ? 'ignore' : file
    const begin = () => start(t, args, { ...env, LOG_LEVEL: 'silent' }, { cwd, stdio: ['ignore', out, 'inherit'] })
    for (let killed = 0; killed < 6; killed++) {
      const before = statSync(secrets).size
      const child = begin()
      const exited = once(child, 'exit')
      await until(() => child.exitCode !== null || statSync(secrets).size > before)
      // At another moment each time: before, while or after a step is registered, on a fast machine and on a slow one.
      await new Promise((resolve) => setTimeout(resolve, killed * 8))
      child.kill('SIGKILL')
      const ended = await exited
      if (killed === 0) t.strictSame(ended, [null, 'SIGKILL'])
    }
    t.strictSame(await once(begin(), 'exit'), [0, null])
    t.equal(await countKnown(env, [secrets]), COUNT)
  })
}

/** Kills the program at one of the moments before and after each request, and each time it writes or removes a file. */
const KILLED = preload(`
  import fs from 'node:fs'
  import { syncBuiltinESMExports } from 'node:module'
  let left = Number(process.env.KILL_AT)
  const pass = (result) => (left-- === 0 ? process.kill(process.pid, 'SIGKILL') : result)
  const around = (call) => (...values) => pass(call(...pass(values)))
  for (const name of ['writeFileSync', 'rmSync']) fs[name] = around(fs[name])
  const { appendFile } = fs
  fs.appendFile = (...values) => appendFile(...pass(values).slice(0, -1), (error) => values.at(-1)(pass(error)))
  syncBuiltinESMExports()
  const ask = fetch
  globalThis.fetch = async (...values) => pass(await ask(...pass(values)))
`)

t.test('Apply to a server: at whatever moment it is killed, the next run writes each secret', async (t) => {
  const folder = temporaryFolder(t)
  const env = { ...(await SQLITE.createEnv(t)), ADMIN_ADDRESS: '127.0.0.1:0' }
  const { logged } = await startServer(t, env)
  await runJson(['operators', 'add', 'anna', '--role', 'admin'], { env })
  const { admin_key } = await runJson(['operators', 'key', 'anna', '--expires', '1d'], { env })
  const secrets = join(folder, 'secrets')
  const to = ['--server', logged('ready')[0].admin, '--yes', '--json', '--secrets-to', secrets]
  let count = 0
  const apply = (moment: string) =>
    command(t, ['apply', applyFile(folder, ++count), ...to], {
      ...{ ...KILLED, KILL_AT: moment, TOKEN_SERVER_KEY: admin_key },
    })
  // Each run has one application more, after what the run before has left.
  let ended: Awaited<ReturnType<typeof apply>>
  do ended = await apply(`${count}`)
  while (ended.status === null)
  t.match(ended, { status: 0, err: '' })
  t.ok(count > 15, `${count} moments`)
  t.equal(await countKnown(env, [secrets]), count)
  t.strictSame(readdirSync(folder).sort(), ['apply.json', 'secrets'])
})

t.test('Apply: 5,000 beside a server under load; a signal ends it, and the next run does the rest', async (t) => {
  const COUNT = 5_000
  const folder = temporaryFolder(t)
  const env = { ...(await SQLITE.createEnv(t)), LOG_LEVEL: 'error' }
  const server = await startServer(t, { ...env, LOG_LEVEL: 'info' })
  const credentials = await register(env)
  const load = startLoad(() => askAgain(() => server.issue(credentials)), { clients: 4 })
  const secrets = join(folder, 'secrets')
  const apply = ['apply', applyFile(folder, COUNT), '--yes', '--secrets-to', secrets]
  const child = start(t, apply, env)
  const err = text(child.stderr as NodeJS.ReadableStream)
  child.stdout?.resume()
  const exited = once(child, 'exit')
  // Before the first credentials are written, a signal ends it at once.
  await until(() => child.exitCode !== null || (existsSync(secrets) && statSync(secrets).size > 0), 120_000)
  child.kill('SIGTERM')
  const [status] = await exited
  t.equal(status, 1)
  t.match(await err, /changes were made\. Run apply again to do the rest\.\nStopped by SIGTERM\.\n$/)
  t.match(await command(t, apply, env), { status: 0 })
  t.match(await command(t, apply, env), { status: 0, out: 'No changes.\n' })
  t.strictSame(await load.stop(), [200])
  const drift = applyFile(folder, COUNT, { name: 'Renamed' })
  const { status: differs, out } = await command(t, ['apply', drift, '--dry-run', '--json'], env)
  t.match([differs, JSON.parse(out)], [2, { change: COUNT, unchanged: 1 }])
})

for (const { name, createEnv } of [SQLITE, await startPostgresStore()]) {
  t.test(`Apply to ${name}: of two processes at once each change is made by one, and nothing is lost`, async (t) => {
    const COUNT = 300
    const folder = temporaryFolder(t)
    const env = await createEnv(t)
    const silent = { ...env, LOG_LEVEL: 'silent' }
    await command(t, ['migrate'], env)
    const files = ['one', 'two'].map((name) => join(folder, name))
    for (const file of files) writeFileSync(file, '')
    const both = async (file: string, more: string[] = []) =>
      Promise.all(
        files.map((to) => command(t, ['apply', file, '--yes', '--json', '--secrets-to', to, ...more], silent)),
      )
    const file = applyFile(folder, COUNT)
    const first = await both(file)
    t.ok(first.some(({ status }) => status === 0))
    for (const { status, err } of first) if (status !== 0) t.match(err, /printed for them are not valid/)
    t.match(await run(['apply', file], { env }), { status: 0, out: 'No changes.\n' })
    t.equal(await countKnown(env, files), COUNT)
    for (const { status, err } of await both(applyFile(folder, COUNT, { quota: 7, suites: [] })))
      t.equal(status, 0, err)
    const updates = await runJson(['audit', 'list', '--action', 'application updated', '--limit', '1000'], { env })
    t.equal(updates.length, COUNT, 'one audit event for each')
  })
}
