import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import type { Application } from '../../src/domain/application.ts'
import { findGenerated } from '../../src/domain/secret.ts'
import { openStore } from '../../src/store/open.ts'
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

t.test('Seed: killed at any moment and run again, every application has a valid secret that was shown', async (t) => {
  const { folder, file: database, env } = temporaryDatabase(t)
  const COUNT = 1500
  const applications = Array.from({ length: COUNT }, (_, n) => ({ name: `A ${n}`, developer_email: 'a@b.example' }))
  const file = join(folder, 'seed.json')
  writeFileSync(file, JSON.stringify({ suites: [{ id: 'store', name: 'Store' }], applications }))
  const shown = new Map<string, string>()
  for (const killed of [true, true, false]) {
    const child = start(t, ['seed', file, '--json'], { ...env, LOG_LEVEL: 'silent' })
    const stdout = child.stdout as NodeJS.ReadableStream
    // Once it has begun to show: at its next step, or between two of them.
    if (killed) stdout.once('data', () => child.kill('SIGKILL'))
    const [out, exit] = await Promise.all([text(stdout), once(child, 'exit')])
    // What is whole of the output of a run that may have been killed.
    for (const [line] of out.matchAll(/^ {4}\{.*\}(?=,?$)/gm)) {
      const { client_id, client_secret } = JSON.parse(line)
      if (client_secret) shown.set(client_id, client_secret)
    }
    t.strictSame(exit, killed ? [null, 'SIGKILL'] : [0, null])
  }
  const store = await openStore({ kind: 'sqlite', file: database }, { lockTimeout: 0 })
  const all = await store.listApplications({ limit: COUNT + 1 })
  await store.close()
  t.equal(all.length, COUNT)
  const isValid = ({ clientId, secrets }: Application) =>
    findGenerated(secrets, shown.get(clientId) ?? 'never shown')?.endsAt === null
  t.ok(all.every(isValid))
})
