import Database from 'better-sqlite3'
import t from 'tap'
import { query } from '../support/postgres/databases.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { makeRelease } from '../support/release.ts'
import { runJson } from '../support/run.ts'
import { command, start } from '../support/spawn.ts'
import { SQLITE, startPostgresStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

/** What a release changes first; and for each store what takes a while then, and how one sees that it does. */
const CHANGE = "CREATE TABLE half (n INTEGER); UPDATE compatibility SET oldest_program = '99.0.0';"
const SLOW: Record<string, { sql: string; isAtWork: (url: string) => Promise<boolean> }> = {
  sqlite: {
    sql: `
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000000)
      INSERT INTO half SELECT count(*) FROM numbers`,
    async isAtWork(url) {
      const db = new Database(url.slice('sqlite:'.length), { timeout: 300 })
      try {
        db.exec('BEGIN IMMEDIATE; ROLLBACK')
        return false
      } catch {
        return true
      } finally {
        db.close()
      }
    },
  },
  postgres: {
    sql: 'SELECT pg_sleep(3600)',
    async isAtWork(url) {
      const sleeping = "SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
      return (await query(url, sleeping)).length > 0
    },
  },
}

/** Ends what goes on in a database although the process that it was for is gone. */
const END = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = user AND pid <> pg_backend_pid()'

const { createEmptyDatabase } = await startDatabases()
const POSTGRES = {
  ...(await startPostgresStore()),
  createEnv: async () => ({ DATABASE_URL: await createEmptyDatabase() }),
}

for (const { name, folder, latest, createEnv } of [SQLITE, POSTGRES]) {
  t.test(`Migrations of ${name}: of several processes that start at once, one migrates and all go on`, async (t) => {
    const env = await createEnv(t)
    const results = await Promise.all(Array.from({ length: 5 }, () => command(t, ['migrate', '--json'], env)))
    t.strictSame(
      results.map(({ status, err }) => [status, err]),
      Array(5).fill([0, '']),
    )
    const from = results.map(({ out }) => JSON.parse(out).from as number)
    t.strictSame(
      from.sort((a, b) => a - b),
      [0, latest, latest, latest, latest],
    )
  })

  t.test(`Migrations of ${name}: one that is killed amid them leaves the database as it was`, async (t) => {
    const env = await createEnv(t)
    const { sql, isAtWork } = SLOW[folder] as (typeof SLOW)[string]
    await runJson(['migrate'], { env })
    const main = makeRelease(t, '99.0.0', { [`${folder}/0998_change.sql`]: CHANGE, [`${folder}/0999_slow.sql`]: sql })
    const killed = start(t, ['migrate'], env, { main })
    await until(() => isAtWork(env.DATABASE_URL))
    killed.kill('SIGKILL')
    if (folder === 'postgres') await query(env.DATABASE_URL, END)
    t.strictSame(await runJson(['migrate'], { env }), { from: latest, to: latest })
    const next = makeRelease(t, '99.0.0', { [`${folder}/0998_change.sql`]: CHANGE })
    const { out, err } = await command(t, ['migrate', '--json'], env, '', { main: next })
    t.strictSame([err, JSON.parse(out)], ['', { from: latest, to: latest + 1 }])
  })
}
