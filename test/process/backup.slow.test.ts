import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import Database from 'better-sqlite3'
import t from 'tap'
import { register } from '../support/register.ts'
import { runJson } from '../support/run.ts'
import { command, start, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { until } from '../support/until.ts'
import { startWorkers } from '../support/workers.ts'

t.test(
  'Backup: what is restored is what a server under full load had answered, and the load notices nothing',
  async (t) => {
    const { env, folder } = temporaryDatabase(t)
    const copy = join(folder, 'copy.db')
    await runJson(['suites', 'register', 'store', '--name', 'Store API', '--create'], { env })
    const all = await Promise.all(Array.from({ length: 20 }, () => register(env)))
    const registry = await runJson(['apps', 'list'], { env })
    const server = await startServer(t, env)

    const issued: string[] = []
    const statuses = new Set<number>()
    let isRunning = true
    const load = Array.from({ length: 16 }, async (_, at) => {
      for (let n = at; isRunning; n++) {
        const { status, body } = await server.token(all[n % all.length] as (typeof all)[number])
        statuses.add(status)
        issued.push(body.access_token as string)
      }
    })
    await until(() => issued.length > 500)
    const before = [...issued]
    const made = await command(t, ['backup', copy], env)
    t.equal(made.status, 0, made.err)
    const during = issued.length - before.length
    const after = issued.length
    await until(() => issued.length > after + 100)
    isRunning = false
    await Promise.all(load)
    t.strictSame([...statuses], [200])
    t.ok(during > 0, 'tokens were issued meanwhile')
    server.child.kill('SIGTERM')
    await server.exited

    t.equal((await command(t, ['restore', copy], env)).status, 0)
    t.strictSame(await runJson(['apps', 'list'], { env }), registry)
    const restored = await startServer(t, env)
    const verified = async (token: string) =>
      (await fetch(`${restored.address}/v1/oauth/verify/store`, { headers: { authorization: `Bearer ${token}` } }))
        .status
    t.strictSame([...new Set(await Promise.all(before.map(verified)))], [200], 'those issued before are valid')
    // A request that was under way when the backup ended may have been in it.
    t.strictSame(
      [...new Set(await Promise.all(issued.slice(after + 16).map(verified)))],
      [401],
      'later ones are unknown',
    )
    t.equal((await restored.token(all[0] as (typeof all)[number])).status, 200)
  },
)

t.test('Backup: - is standard output, and nothing else is there', async (t) => {
  const { env, folder, file } = temporaryDatabase(t)
  await register(env)
  const child = start(t, ['backup', '-'], env)
  const [bytes, said] = await Promise.all([buffer(child.stdout as never), buffer(child.stderr as never)])
  t.match(String(said), /"msg":"backup made"[\s\S]*Backed up to -: \d+ bytes, applications: 1/)
  const copy = join(folder, 'copy.db')
  writeFileSync(copy, bytes)
  const db = new Database(copy)
  t.equal(db.pragma('integrity_check', { simple: true }), 'ok')
  db.close()

  const elsewhere = { DATABASE_URL: `sqlite:${folder}/elsewhere.db` }
  const restore = start(t, ['restore', '-'], elsewhere)
  restore.stdin?.end(bytes)
  t.strictSame(await once(restore, 'exit'), [0, null])
  t.equal((await runJson(['apps', 'list'], { env: elsewhere })).length, 1)
  t.notOk(
    readdirSync(folder).some((name) => name.includes('partial')),
    'nothing is left beside the database',
  )
  t.ok(existsSync(file))
})

t.test('Backup: a reader of - that goes away leaves nothing behind', async (t) => {
  const { env, folder, file } = temporaryDatabase(t)
  await register(env)
  const db = new Database(file)
  db.prepare('UPDATE applications SET name = ?').run('x'.repeat(5_000_000))
  db.close()
  const child = start(t, ['backup', '-'], env)
  child.stdout?.destroy()
  t.strictSame(await once(child, 'exit'), [1, null])
  t.notOk(readdirSync(folder).some((name) => name.includes('partial')))
})

t.test('Restore: it is refused beside a server, a server of several workers, and a command', async (t) => {
  const { env, file, server } = await startWorkers(t)
  const copy = `${file}.copy`
  t.equal((await command(t, ['backup', copy], env)).status, 0)
  const { ino } = statSync(file)
  const refused = async (whom: string) => {
    const { status, err } = await command(t, ['restore', copy], env)
    t.strictSame([status, /is in use: stop the server/.test(err)], [1, true], whom)
    t.equal(statSync(file).ino, ino)
  }
  await refused('several workers')
  server.child.kill('SIGTERM')
  await server.exited

  const single = await startServer(t, { ...env, WORKERS: '1' })
  await refused('a server')
  single.child.kill('SIGKILL')
  await single.exited

  // A command that has the database open for seconds, because of scrypt.
  t.equal((await command(t, ['migrate'], env)).status, 0)
  t.notOk(existsSync(`${file}-shm`))
  const seed = start(t, ['seed', '-'], env)
  const client_secret = 'imported-S3CR3T'
  const applications = Array.from({ length: 200 }, (_, n) => ({
    name: `A ${n}`,
    developer_email: 'a@b.example',
    client_secret,
  }))
  seed.stdin?.end(JSON.stringify({ applications }))
  await until(() => existsSync(`${file}-shm`))
  await refused('a command')
  seed.kill('SIGKILL')
  await once(seed, 'exit')
  const { status, err } = await command(t, ['restore', copy], env)
  t.equal(status, 0, err)
})

/** What a restore makes beside the database, in this order. */
const STAGES = [/\.restore-/, /\.restore-\w+\/lock\.db/, /\.restore-\w+\/copy\.db/, /\.replaced-/]

t.test('Restore: kill -9 at any moment leaves the old database or the new one, whole', async (t) => {
  const { env, folder, file } = temporaryDatabase(t)
  const copy = join(folder, 'copy.db')
  await register(env)
  const db = new Database(file)
  db.prepare('UPDATE applications SET name = ?').run('x'.repeat(20_000_000))
  db.close()
  t.equal((await command(t, ['backup', copy], env)).status, 0)
  await register(env)
  const whole = new Set<number>()
  for (const stage of STAGES) {
    copyFileSync(file, `${file}.before`)
    const restore = start(t, ['restore', copy], env)
    const exited = once(restore, 'exit')
    const paths = () => readdirSync(folder, { recursive: true }).map((path) => join(folder, String(path)))
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
      rmSync(path, { recursive: true, force: true })
    renameSync(`${file}.before`, file)
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
  await until(() => openFilesOf(waiting.pid as number).includes(file))
  copyFileSync(file, `${file}.new`)
  renameSync(`${file}.new`, file)
  restore.close()
  t.strictSame(await once(waiting, 'exit'), [1, null])
  t.match(await err, /the file .*store\.db was removed or replaced/)
})

function openFilesOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).map((name) => {
    try {
      return readlinkSync(join(folder, name))
    } catch {
      return 'closed meanwhile'
    }
  })
}
