import t, { type Test } from 'tap'
import { startDatabases } from '../support/postgres/postgres.ts'
import { expectAll, fails, misused, shell, startShell } from '../support/shell.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

/** Commands on a store with an application, and a database without a password in its address. */
async function createStore(t: Test) {
  const { createDatabase } = await startDatabases()
  const { env, file } = await startShell(t, async ({ applications, operators }) => {
    await applications.register()
    await operators.add('anna', 'admin')
    for (let n = 0; n < 2; n++) await operators.addKey('anna', 60_000)
  })
  const url = new URL(await createDatabase())
  const { password } = url
  url.password = ''
  return {
    file,
    password,
    copy: `store copy --to ${url.href}`,
    place: `postgres://${url.host}${url.pathname}`,
    ...shell({ ...env, PGPASSWORD: password }),
  }
}

t.test('store copy and reopen: each says what it did, where to, and what comes next', async (t) => {
  const { run, json, file, password, copy, place } = await createStore(t)
  const untouched = { database: file, moved_to: null }
  await expectAll(t, { run }, [['store reopen', { out: /was not copied to another one/, events: [] }]])
  const { status, out, err, events } = await run(copy)
  t.strictSame([status, err], [0, ''])
  const counts = 'secrets: 1, approvals: 0, operators: 1, admin keys: 2, audit events: 4, tokens: 0'
  t.match(out, `Copied ${file} to ${place}: applications: 1, suites: 0, ${counts}.\n`)
  t.match(out, `\n  PREVIOUS_DATABASE_URL=sqlite:${file}\n`)
  t.match(events, [{ msg: 'database copied', database: file, moved_to: place, applications: 1, suites: 0, tokens: 0 }])
  t.notOk((out + JSON.stringify(events)).includes(password))
  t.match(await run(copy), fails(/^The store moved to postgres:.* Nothing was copied\./))

  const reopened = await run('store reopen')
  t.match(reopened.out, `The store ${file} can be changed again.\nIf a server has used ${place} in the meantime,`)
  t.match(reopened.events, [{ msg: 'database reopened', database: file, moved_to: place }])
  t.strictSame(await json('store reopen'), untouched)
})

t.test('store copy: with --json it counts the rows of each table; it is said how far it is', async (t) => {
  const { run, file, copy, place } = await createStore(t)
  const { now } = performance
  t.teardown(() => Object.assign(performance, { now }))
  // A second of this clock passes with each look at it.
  let seconds = 0
  Object.assign(performance, { now: () => 1000 * seconds++ })
  const { out, err } = await run(`${copy} --json`, { isTTY: true })
  t.match(err, '{"progress":"applications: 1"}\n')
  t.match(JSON.parse(out), { database: file, moved_to: place, applications: 1, admin_keys: 2, token_counts: 0 })
})

t.test('store copy: a password on the command line, and what is no database on PostgreSQL, is refused', async (t) => {
  const { env } = temporaryDatabase(t)
  await expectAll(t, shell(env), [
    ['store copy --to postgres://u:hunter2@h/d', fails(/^(?!.*hunter2)--to has a password, .* DATABASE_PASSWORD_FILE/)],
    ['store copy --to sqlite:other.db', fails(/^--to must name a database on PostgreSQL/)],
    ['store copy --to postgres://h', fails(/^--to must have the form postgres:\/\/USER@HOST\/DATABASE\.\n$/)],
    ['store copy --to postgres://u@127.0.0.1/d', fails(/^There is no database at/)],
    ['store reopen', fails(/^There is no database at/)],
    ['store copy', misused(/required option '--to <url>'/)],
  ])
  const copying = shell((await startShell(t)).env)
  const nobody = fails(/^PostgreSQL at 127\.0\.0\.1:1: .* or correct the address in --to\)\. Nothing was copied\.\n$/)
  await expectAll(t, copying, [['store copy --to postgres://u@127.0.0.1:1/d', nobody]])
  const refused = fails(/^DATABASE_URL names a store on PostgreSQL/)
  await expectAll(t, shell({ ...env, DATABASE_URL: 'postgres://u@h/d' }), [
    ['store copy --to postgres://u@h/e', refused],
    ['store reopen', refused],
  ])
})
