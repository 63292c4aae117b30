import t, { type Test } from 'tap'
import { startDatabases } from '../support/postgres/postgres.ts'
import { register } from '../support/register.ts'
import { run, runJson } from '../support/run.ts'
import { temporaryDatabase } from '../support/temporary-database.ts'

const { createDatabase } = await startDatabases()

/** A store with an application, and a database without a password in its address. */
async function createStore(t: Test) {
  const { env, file } = temporaryDatabase(t)
  await register(env)
  const url = new URL(await createDatabase())
  const PGPASSWORD = url.password
  url.password = ''
  return { file, to: url.href, place: `postgres://${url.host}${url.pathname}`, env: { ...env, PGPASSWORD } }
}

t.test('store copy: it says what was copied, where to, and what comes next', async (t) => {
  const { env, file, to, place } = await createStore(t)
  await run(['operators', 'add', 'anna', '--role', 'admin'], { env })
  for (let n = 0; n < 2; n++) await run(['operators', 'key', 'anna', '--expires', '90d'], { env })
  const { status, out, err, events } = await run(['store', 'copy', '--to', to], { env })
  t.strictSame([status, err], [0, ''])
  const counts =
    'applications: 1, suites: 0, secrets: 1, approvals: 0, operators: 1, admin keys: 2, audit events: 4, tokens: 0'
  t.match(out, `Copied ${file} to ${place}: ${counts}.\n`)
  t.match(out, `\n  PREVIOUS_DATABASE_URL=sqlite:${file}\n`)
  t.match(events, [{ msg: 'database copied', database: file, moved_to: place, applications: 1, suites: 0, tokens: 0 }])
  t.notMatch(out + JSON.stringify(events), env.PGPASSWORD)
  t.match(await run(['store', 'copy', '--to', to], { env }), {
    status: 1,
    err: /^The store has moved to postgres:.* Nothing was copied\./,
  })
})

t.test('store copy: with --json it is one object with the number of rows of each table', async (t) => {
  const { env, file, to, place } = await createStore(t)
  t.match(await runJson(['store', 'copy', '--to', to], { env }), {
    database: file,
    moved_to: place,
    applications: 1,
    token_counts: 0,
  })
})

t.test('store copy: a password on the command line, and what is no database on PostgreSQL, is refused', async (t) => {
  const { env } = temporaryDatabase(t)
  const refusals: [to: string, err: RegExp][] = [
    ['postgres://u:hunter2@h/d', /^--to has a password, .* DATABASE_PASSWORD_FILE/],
    ['sqlite:other.db', /^--to must name a database on PostgreSQL/],
    ['postgres://h', /^--to must have the form postgres:\/\/USER@HOST\/DATABASE\.\n$/],
  ]
  for (const [to, err] of refusals) {
    const result = await run(['store', 'copy', '--to', to], { env })
    t.match(result, { status: 1, err })
    t.notMatch(result.err, 'hunter2')
  }
  t.match(await run(['store', 'copy'], { env }), { status: 2, err: /required option '--to <url>'/ })
  const target = { ...env, DATABASE_URL: 'postgres://u@h/d' }
  for (const args of [['copy', '--to', 'postgres://u@h/e'], ['reopen']]) {
    t.match(await run(['store', ...args], { env: target }), {
      status: 1,
      err: /^DATABASE_URL names a store on PostgreSQL/,
    })
  }
  t.match(await run(['store', 'copy', '--to', 'postgres://u@127.0.0.1/d'], { env }), {
    err: /^There is no database at/,
  })
  t.match(await run(['store', 'reopen'], { env }), { err: /^There is no database at/ })
})

t.test('store copy: how far it is, is said from time to time', async (t) => {
  const { env, to } = await createStore(t)
  const { now } = performance
  t.teardown(() => Object.assign(performance, { now }))
  // A second of this clock passes with each look at it.
  let seconds = 0
  Object.assign(performance, { now: () => 1000 * seconds++ })
  const { err } = await run(['store', 'copy', '--to', to], { env, isTTY: true })
  t.match(err, 'applications: 1\n')
})

t.test('store reopen: it says what that means; where the store was not copied it changes nothing', async (t) => {
  const { env, file, to, place } = await createStore(t)
  t.match(await run(['store', 'reopen'], { env }), { status: 0, out: /was not copied to another one/, events: [] })
  await runJson(['store', 'copy', '--to', to], { env })
  const { status, out, events } = await run(['store', 'reopen'], { env })
  t.equal(status, 0)
  t.match(out, `The store ${file} can be changed again.\nIf a server has served ${place} meanwhile,`)
  t.match(events, [{ msg: 'database reopened', database: file, moved_to: place }])
  t.strictSame(await runJson(['store', 'reopen'], { env }), { database: file, moved_to: null })
})
