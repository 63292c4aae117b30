import { cpSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeRelease } from '../support/release.ts'
import { command, register, run, runJson, start, startServer } from '../support/spawn.ts'
import { SQLITE, startPostgresStore } from '../support/stores.ts'
import { startTokenLoad } from '../support/token-load.ts'

type Server = Awaited<ReturnType<typeof startServer>>

/** What a release may add under the one before: columns, also with a default, a table, an index; and it fills them. */
const EXPAND = `
  ALTER TABLE applications ADD COLUMN colour TEXT;
  ALTER TABLE secrets ADD COLUMN uses INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tokens ADD COLUMN tenant TEXT;
  ALTER TABLE changes ADD COLUMN notes INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE notes (id INTEGER PRIMARY KEY, note TEXT);
  CREATE INDEX tokens_by_tenant ON tokens (tenant);
  UPDATE applications SET colour = name;
  UPDATE tokens SET tenant = 'all';`

/** What the release after it takes away. */
const CONTRACT = `
  DROP INDEX tokens_by_tenant;
  DROP TABLE notes;
  ALTER TABLE applications DROP COLUMN colour;
  UPDATE compatibility SET oldest_program = '98.0.0';`

// Two releases of the program run side by side on a store.
for (const { name, folder, latest, createEnv } of [SQLITE, await startPostgresStore()]) {
  // CONTRIBUTING.md says why.
  const lock = folder === 'postgres' ? 'LOCK TABLE changes IN ACCESS EXCLUSIVE MODE;' : ''
  const expanded = { [`${folder}/0998_expand.sql`]: lock + EXPAND }
  const contracted = { ...expanded, [`${folder}/0999_contract.sql`]: lock + CONTRACT }
  const serve = (t: Test, env: NodeJS.ProcessEnv, main: string) =>
    startServer(t, {}, start(t, ['serve', '--create'], { ...env, PORT: '0' }, { main }))

  t.test(`Rolling upgrade on ${name}: two releases run side by side under load, and no request fails`, async (t) => {
    const env = await createEnv(t)
    const next = makeRelease(t, '98.0.0', expanded)
    const old = await startServer(t, env)
    const load = await startLoad(env, old)
    await load.spend('one release')

    const first = await serve(t, env, next)
    t.strictSame(await runJson(['migrate'], { env }), { from: latest + 1, to: latest + 1 })
    load.use(old, first)
    await load.spend('two releases', ['one release'])
    const again = await startServer(t, env)
    load.use(again, first)
    await load.spend('another process', ['two releases'])
    old.child.kill('SIGTERM')
    t.match(await old.exited, { status: 0 })

    // Commands of both releases beside servers of both.
    const { client_id } = await register(env)
    const suspend = await command(t, ['apps', 'suspend', client_id, '--json'], env, '', { main: next })
    t.equal(suspend.status, 0)
    await runJson(['apps', 'remove', client_id], { env })
    await load.spend('after commands')
    await load.stop()
    t.strictSame([load.wrong, load.unanswered], [[], {}])
    for (const { logged } of [old, first, again]) t.strictSame(logged('request failed'), [])
  })

  t.test(`Rolling upgrade on ${name}: a release that contracts runs beside the one before, but no older`, async (t) => {
    const env = await createEnv(t)
    const old = await serve(t, env, makeRelease(t, '98.0.0', expanded))
    const load = await startLoad(env, old)
    await load.spend('before')
    const server = await serve(t, env, makeRelease(t, '99.0.0', contracted))
    load.use(old, server)
    await load.spend('after', ['before'])
    await load.stop()
    t.strictSame([load.wrong, load.unanswered], [[], {}])
    for (const { logged } of [old, server]) t.strictSame(logged('request failed'), [])
    const { status, err } = await run(['migrate'], { env })
    t.equal(status, 1)
    t.match(err, /The database needs token-server 98\.0\.0 or newer, and this is [\d.]+: upgrade the program\.\n$/)
  })
}

t.test(
  'Rolling upgrade on SQLite: a release is installed over the one before, SIGHUP, and no request fails',
  async (t) => {
    const env = { ...(await SQLITE.createEnv(t)), PORT: '0', WORKERS: '2' }
    const main = makeRelease(t, '98.0.0', {})
    const server = await startServer(t, {}, start(t, ['serve', '--create'], env, { main }))
    const load = await startLoad(env, server)
    await load.spend('one release')
    const next = makeRelease(t, '98.1.0', { 'sqlite/0998_expand.sql': EXPAND })
    for (const name of ['src', 'migrations', 'package.json']) {
      cpSync(join(next, '../..', name), join(main, '../..', name), { recursive: true })
    }
    t.equal((await command(t, ['migrate'], env, '', { main })).status, 0)
    await server.restart()
    await load.spend('two releases', ['one release'])
    await load.stop()
    t.strictSame([load.wrong, load.unanswered, server.logged('request failed')], [[], {}, []])
  },
)

/** Asks servers at random, each request another one. */
async function startLoad(env: NodeJS.ProcessEnv, first: Server) {
  await runJson(['suites', 'register', 'store', '--name', 'Store'], { env })
  let servers = [first]
  const any = () => servers[Math.floor(Math.random() * servers.length)] as Server
  const load = startTokenLoad([await register(env)], () => Number(new URL(any().address).port))
  /** Asks these from now on, and the others no longer. */
  const use = (...others: Server[]) => {
    servers = others
  }
  return { ...load, use }
}
