import { join } from 'node:path'
import t from 'tap'
import { startLoad } from '../support/load.ts'
import { command, register, run, runJson, startServer } from '../support/spawn.ts'
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
