import { once } from 'node:events'
import { openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import type { Application } from '../../src/domain/application.ts'
import { findGenerated } from '../../src/domain/secret.ts'
import { openStore } from '../../src/store/open.ts'
import { run, runJson } from '../support/run.ts'
import { command, start, startServer } from '../support/spawn.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

/** A database, and a seed file of so many applications beside it. */
function setting(t: Test, count: number) {
  const { folder, env } = temporaryDatabase(t)
  const file = join(folder, 'seed.json')
  const applications = Array.from({ length: count }, (_, n) => ({ name: `A ${n}`, developer_email: 'a@b.example' }))
  writeFileSync(file, JSON.stringify({ suites: [{ id: 'store', name: 'Store' }], applications }))
  return { folder, file, env: { ...env, LOG_LEVEL: 'silent' } }
}

interface Credentials {
  client_id: string
  client_secret: string
}

/** What is readable of the output of a run, which may have been killed. */
function shownIn(output: string): Credentials[] {
  const lines = output.split('\n').filter((line) => line.startsWith('    {') && /\},?$/.test(line))
  return lines.map((line) => JSON.parse(line.replace(/,$/, ''))).filter(({ client_secret }) => client_secret)
}

t.test('Seed: killed at any moment and run again, every application has a valid secret that was shown', async (t) => {
  const { file, env } = setting(t, 3000)
  const shown = new Map<string, string>()
  let kills = 0
  for (let status: number | null = null; status !== 0; ) {
    const child = start(t, ['seed', file, '--json'], env)
    const stdout = child.stdout as NodeJS.ReadableStream
    // Once it has begun to show: at its next step, or between two of them.
    once(stdout, 'data').then(() => setTimeout(() => child.kill('SIGKILL'), kills * 20))
    const [out, exit] = await Promise.all([text(stdout), once(child, 'exit'), text(child.stderr as never)])
    for (const { client_id, client_secret } of shownIn(out)) shown.set(client_id, client_secret)
    status = exit[0]
    if (status !== 0) kills++
  }
  t.ok(kills > 0)
  const store = await openStore({ kind: 'sqlite', file: env.DATABASE_URL.slice('sqlite:'.length) }, { lockTimeout: 0 })
  const all = await store.listApplications({ limit: 3001 })
  t.equal(all.length, 3000)
  const isValid = ({ clientId, secrets }: Application) =>
    findGenerated(secrets, shown.get(clientId) ?? 'never shown')?.endsAt === null
  t.strictSame(
    all.filter((one) => !isValid(one)),
    [],
  )
  await store.close()
})

t.test('Seed: a signal ends it after a step, with a whole document, and the next run does the rest', async (t) => {
  const { file, env } = setting(t, 20_000)
  const child = start(t, ['seed', file, '--json'], env)
  const [out, err, [status]] = await Promise.all([
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
    once(child, 'exit'),
    once(child.stdout as NodeJS.ReadableStream, 'data').then(() => child.kill('SIGTERM')),
  ])
  t.equal(status, 1)
  t.match(JSON.parse(err), { error: 'Stopped by SIGTERM. Run seed again for what is not registered yet.' })
  const first = JSON.parse(out)
  const second = JSON.parse((await command(t, ['seed', file, '--json'], env)).out)
  t.equal(second.existing, first.suites.length + first.applications.length)
  t.equal(first.applications.length + second.applications.length, 20_000)
  t.ok(second.applications.length > 0)
})

t.test('Seed: an output that cannot be written ends it; the next run shows what was not shown', async (t) => {
  const { file, env } = setting(t, 3)
  for (const stdout of [openSync('/dev/full', 'w'), openSync('/dev/full', 'w')]) {
    const child = start(t, ['seed', file], env, { stdio: ['ignore', stdout, 'pipe'] })
    const [err, [status]] = await Promise.all([text(child.stderr as NodeJS.ReadableStream), once(child, 'exit')])
    t.equal(status, 1)
    t.match(err, /^The output could not be written: ENOSPC.*\. Run seed again: those that are registered but not shown/)
  }
  t.match(await run(['secrets', 'list', 'store'], { env }), { out: /not shown yet: run the seed again/ })
  t.match(await runJson(['seed', file], { env }), {
    suites: [{ id: 'store', client_secret: String }],
    applications: [{ client_secret: String }, { client_secret: String }, { client_secret: String }],
    existing: 0,
  })
})

t.test('Seed beside a server under load: no request fails', async (t) => {
  const { file, env } = setting(t, 3000)
  const server = await startServer(t, { ...env, LOG_LEVEL: 'info' })
  const credentials = await runJson(['apps', 'register', '--name', 'A', '--developer-email', 'a@b.example'], { env })
  let running = true
  const load = Array.from({ length: 8 }, async () => {
    const statuses = []
    while (running) statuses.push((await server.token(credentials)).status)
    return statuses
  })
  t.equal((await command(t, ['seed', file], env)).status, 0)
  running = false
  t.strictSame([...new Set((await Promise.all(load)).flat())], [200])
})
