import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import Database from 'better-sqlite3'
import t from 'tap'
import { digestGenerated } from '../../src/domain/secret.ts'
import { startLoad } from '../support/load.ts'
import { command, register, run, runJson, start, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'
import { until } from '../support/until.ts'

t.test('Backup: what is restored is what a server under load had answered, which noticed nothing', async (t) => {
  const { env, folder } = temporaryDatabase(t)
  const copy = join(folder, 'copy.db')
  await runJson(['suites', 'register', 'store', '--name', 'Store API', '--create'], { env })
  const credentials = await register(env)
  const registry = await runJson(['apps', 'list'], { env })
  const server = await startServer(t, env)
  const issued: string[] = []
  const load = startLoad(async () => {
    const { status, body } = await server.token(credentials)
    issued.push(body.access_token as string)
    return status
  })
  await until(() => issued.length > 20)
  const before = [...issued]
  const made = await command(t, ['backup', copy], env)
  t.equal(made.status, 0, made.err)
  const after = issued.length
  t.ok(after > before.length, 'tokens were issued meanwhile')
  await until(() => issued.length > after + 20)
  t.strictSame(await load.stop(), [200])
  t.match(await run(['restore', copy], { env }), { status: 1, err: /is in use: stop the server/ })
  await server.stop()

  t.match(await run(['restore', copy], { env }), { status: 0 })
  t.strictSame(await runJson(['apps', 'list'], { env }), registry)
  const restored = await startServer(t, env)
  const verdicts = async (tokens: string[]) => {
    const all = await Promise.all(tokens.map((token) => restored.statusOf('/v1/oauth/verify/store', token)))
    return [...new Set(all)]
  }
  t.strictSame(await verdicts(before), [200], 'those issued before are valid')
  // Of each of the four clients a request was under way when the backup ended, and may have been in it.
  t.strictSame(await verdicts(issued.slice(after + 4)), [401], 'later ones are unknown')
  t.equal(await restored.issue(credentials), 200)
})

t.test('Seed: however often it is killed, each application has one secret, the last that was printed', async (t) => {
  const COUNT = 5000
  const { folder, env, file: database } = temporaryDatabase(t)
  const applications = Array.from({ length: COUNT }, (_, n) => ({ name: `A ${n}`, developer_email: 'a@b.example' }))
  const file = join(folder, 'seed.json')
  writeFileSync(file, JSON.stringify({ suites: [{ id: 'store', name: 'Store' }], applications }))
  const seed = ['seed', file, '--create', '--json']
  const printed = new Map<string, string>()
  function note(out: string): void {
    for (const [, line = ''] of out.matchAll(/^ {4}(\{.*\}),?$/gm)) {
      const { id, name, client_secret } = JSON.parse(line)
      if (id === undefined) printed.set(name, digestGenerated(client_secret))
    }
  }
  for (let killed = 0; killed < 8; killed++) {
    const child = start(t, seed, { ...env, LOG_LEVEL: 'silent' })
    // At another moment each time: before, while or after a step is registered.
    child.stdout?.once('data', () => setTimeout(() => child.kill('SIGKILL'), killed * 3))
    const [out, exit] = await Promise.all([text(child.stdout as NodeJS.ReadableStream), once(child, 'exit')])
    if (killed === 0) t.strictSame(exit, [null, 'SIGKILL'])
    note(out)
  }
  note((await command(t, seed, env)).out)
  const db = new Database(database)
  t.teardown(() => db.close())
  const secrets = db.prepare(
    'SELECT name, digest FROM secrets JOIN applications a ON a.id = application_id WHERE ends_at IS NULL ORDER BY a.id',
  )
  t.equal(printed.size, COUNT)
  t.strictSame(new Map(secrets.raw().all() as [string, string][]), printed)
  t.equal(secrets.all().length, COUNT)
})
