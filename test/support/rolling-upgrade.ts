import type { Test } from 'tap'
import { register } from './register.ts'
import { makeRelease } from './release.ts'
import { run, runJson } from './run.ts'
import { command, start, startServer } from './spawn.ts'
import type { TestedStore } from './stores.ts'
import { until } from './until.ts'

type Server = Awaited<ReturnType<typeof startServer>>

/** What a release may add under the one before: columns, also with a default, a table, an index; and it fills them. */
const EXPAND = `
  ALTER TABLE applications ADD COLUMN note TEXT;
  ALTER TABLE secrets ADD COLUMN uses INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tokens ADD COLUMN audience TEXT;
  ALTER TABLE changes ADD COLUMN notes INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE notes (id INTEGER PRIMARY KEY, note TEXT);
  CREATE INDEX tokens_by_audience ON tokens (audience);
  UPDATE applications SET note = name;
  UPDATE tokens SET audience = 'all';`

/** What the release after it takes away. */
const CONTRACT = `
  DROP INDEX tokens_by_audience;
  DROP TABLE notes;
  ALTER TABLE applications DROP COLUMN note;
  UPDATE compatibility SET oldest_program = '98.0.0';`

/** Tests that two releases of the program run side by side on a store. */
export function testRollingUpgrades(t: Test, { name, folder, latest, createEnv }: TestedStore): void {
  // CONTRIBUTING.md says why.
  const lock = folder === 'postgres' ? 'LOCK TABLE changes IN ACCESS EXCLUSIVE MODE;' : ''
  const expanded = { [`${folder}/0998_expand.sql`]: lock + EXPAND }
  const contracted = { ...expanded, [`${folder}/0999_contract.sql`]: lock + CONTRACT }
  const serve = (t: Test, env: NodeJS.ProcessEnv, main: string) =>
    startServer(t, {}, start(t, ['serve'], { ...env, PORT: '0' }, { main }))

  t.test(`Rolling upgrade on ${name}: two releases run side by side under load, and no request fails`, async (t) => {
    const env = await createEnv(t)
    const next = makeRelease(t, '98.0.0', expanded)
    const old = await startServer(t, env)
    const load = await startLoad(env, [old])
    await load.goOn()

    const first = await serve(t, env, next)
    t.strictSame(await runJson(['migrate'], { env }), { from: latest + 1, to: latest + 1 })
    await load.use([old, first])
    await load.goOn()
    const again = await startServer(t, env)
    await load.use([again, first])
    old.child.kill('SIGTERM')
    t.match(await old.exited, { status: 0 })
    await load.goOn()

    // Commands of both releases beside servers of both.
    const { client_id } = await register(env)
    const suspend = await command(t, ['apps', 'suspend', client_id, '--json'], env, '', { main: next })
    t.equal(suspend.status, 0)
    await runJson(['apps', 'remove', client_id], { env })
    await load.goOn()
    t.strictSame([...new Set(await load.end())], ['200 200 200 401'])
    for (const { logged } of [old, first, again]) t.strictSame(logged('request failed'), [])
  })

  t.test(
    `Rolling upgrade on ${name}: the release that contracts runs beside the one before, and is refused to older ones`,
    async (t) => {
      const env = await createEnv(t)
      const old = await serve(t, env, makeRelease(t, '98.0.0', expanded))
      const load = await startLoad(env, [old])
      await load.goOn()
      const server = await serve(t, env, makeRelease(t, '99.0.0', contracted))
      await load.use([old, server])
      await load.goOn()
      t.strictSame([...new Set(await load.end())], ['200 200 200 401'])
      for (const { logged } of [old, server]) t.strictSame(logged('request failed'), [])
      const { status, err } = await run(['migrate'], { env })
      t.equal(status, 1)
      t.match(
        err,
        /The database needs token-server 98\.0\.0 or newer, and this is \d+\.\d+\.\d+: upgrade the program\.\n$/,
      )
    },
  )
}

/**
 * Asks servers at random, four requests at a time: each token is issued by one, accepted and revoked by another, and refused
 * by the first.
 */
async function startLoad(env: NodeJS.ProcessEnv, first: Server[]) {
  await runJson(['suites', 'register', 'store', '--name', 'Store'], { env })
  const credentials = await register(env)
  let servers = first
  let running = true
  const answers: string[] = []
  const pending = new Set<Promise<void>>()
  const any = () => servers[Math.floor(Math.random() * servers.length)] as Server

  async function exchange(issuer: Server, other: Server): Promise<void> {
    const { status, body } = await issuer.token(credentials)
    const token = body.access_token as string
    const accepted = await verify(other, token)
    const revoked = await fetch(`${other.address}/v1/oauth/revoke`, {
      method: 'POST',
      body: new URLSearchParams({ ...credentials, token }),
    })
    answers.push([status, accepted, revoked.status, await verify(issuer, token)].join(' '))
  }

  const loops = Array.from({ length: 4 }, async () => {
    while (running) {
      const going = exchange(any(), any()).catch((error) => void answers.push(String(error)))
      pending.add(going)
      await going
      pending.delete(going)
    }
  })

  return {
    /** Asks these from now on, and the others no longer. */
    async use(others: Server[]) {
      servers = others
      await Promise.all(pending)
    },
    /** Resolves after some more answers. */
    async goOn() {
      const enough = answers.length + 24
      await until(() => answers.length >= enough)
    },
    /** What was answered: the four statuses of each token. */
    async end() {
      running = false
      await Promise.all(loops)
      return answers
    },
  }
}

async function verify({ address }: Server, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, connection: 'close' }
  return (await fetch(`${address}/v1/oauth/verify/store`, { headers })).status
}
