import { once } from 'node:events'
import Database from 'better-sqlite3'
import pg from 'pg'
import t from 'tap'
import { startToMove } from '../support/move.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { run, runJson } from '../support/run.ts'
import { command, startServer } from '../support/spawn.ts'
import { until } from '../support/until.ts'

const { createDatabase } = await startDatabases()

t.test(
  'Moving: from the copy on commands refuse the old store, its server warns, and the way back is open',
  async (t) => {
    const { before, after, owners, copy, old } = await startToMove(t, await createDatabase(), { PORT: '0' })
    const id = owners[0].client_id
    t.equal((await copy()).status, 0)
    const refused = await run(['apps', 'suspend', id], { env: before })
    t.match(refused, {
      status: 1,
      err: /^The store has moved to postgres:\/\/127\.0\.0\.1:\d+\/token_server_\w+ at 20/,
    })
    t.notMatch(refused.err, after.PGPASSWORD as string)
    t.equal((await run(['apps', 'suspend', id], { env: after })).status, 0, 'it is changed where it is now')
    t.equal((await old.token(owners[0])).status, 200)
    old.child.kill('SIGTERM')
    await old.exited

    const again = await startServer(t, before)
    t.match(again.logged('database has moved'), [{ level: 'warn', moved_to: /^postgres:/ }])
    t.match(await runJson(['store', 'reopen'], { env: before }), { moved_to: /^postgres:/ })
    t.equal((await run(['apps', 'suspend', id], { env: before })).status, 0)
    const refusal = await command(t, ['serve'], after)
    t.match(refusal, { status: 1, err: /^PREVIOUS_DATABASE_URL: .*store\.db was not copied to another database/ })
  },
)

t.test(
  'Moving: a copy that is killed leaves nothing there; it can be repeated, or the old store opened again',
  async (t) => {
    const url = await createDatabase()
    const { before, after, owners, copy, startCopy, file } = await startToMove(t, url, { PORT: '0' })
    const id = owners[0].client_id
    await runJson(['migrate'], { env: after })
    const marked = new Database(file, { readonly: true })
    t.teardown(() => marked.close())
    const isMarked = marked.prepare('SELECT count(*) FROM moved').pluck()
    for (const mend of [() => runJson(['store', 'reopen'], { env: before }), copy]) {
      // The copy waits here when it comes to the tokens.
      const blocker = new pg.Client({ connectionString: url })
      await blocker.connect()
      await blocker.query('BEGIN; LOCK TABLE tokens IN EXCLUSIVE MODE')
      const child = startCopy()
      await until(() => isMarked.get() === 1)
      child.kill('SIGKILL')
      await once(child, 'exit')
      t.match(await run(['apps', 'suspend', id], { env: before }), { status: 1, err: /is being copied .* did not end/ })
      await blocker.query('ROLLBACK')
      await blocker.end()
      t.strictSame(await runJson(['apps', 'list'], { env: after }), [])
      await mend()
    }
    t.equal((await runJson(['apps', 'list'], { env: after })).length, 2)
  },
)
