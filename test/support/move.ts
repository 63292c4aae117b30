import type { Test } from 'tap'
import { register } from './register.ts'
import { runJson } from './run.ts'
import { command, start, startServer } from './spawn.ts'
import { temporaryDatabase } from './temporary-database.ts'

/** A server on SQLite with a suite and two applications, about to move to a PostgreSQL database. */
export async function startToMove(t: Test, databaseUrl: string, settings: NodeJS.ProcessEnv) {
  const { env: database, file } = temporaryDatabase(t)
  await runJson(['suites', 'register', 'store', '--name', 'Store API', '--create'], { env: database })
  const owners = [await register(database), await register(database)] as const
  const url = new URL(databaseUrl)
  const PGPASSWORD = url.password
  url.password = ''
  const args = ['store', 'copy', '--to', url.href, '--json']
  /** The settings of the server before the move; and after it. */
  const before = { ...database, ...settings }
  return {
    file,
    owners,
    before,
    after: { ...settings, DATABASE_URL: url.href, PGPASSWORD, PREVIOUS_DATABASE_URL: `sqlite:${file}` },
    copy: () => command(t, args, { ...database, PGPASSWORD }),
    startCopy: () => start(t, args, { ...database, PGPASSWORD }),
    old: await startServer(t, before),
  }
}
