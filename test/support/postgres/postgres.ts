import type { Test } from 'tap'
import { createDatabase, findTemplate, query } from './databases.ts'
import { runPair } from './pair.ts'
import { type PostgresOptions, runPostgres } from './server.ts'
import { sharedServer } from './shared.ts'

/** A PostgreSQL server that ends with the test: for tests that break or configure it. */
export async function startPostgres(t: Test, options?: PostgresOptions) {
  const server = await runPostgres(options)
  t.teardown(() => server.stop())
  return server
}

/** A primary and a synchronous standby that end with the test. */
export async function startPair(t: Test, options?: PostgresOptions) {
  const pair = await runPair(options)
  t.teardown(() => pair.stop())
  return pair
}

/** Databases on the server that all tests of a run share: migrated ones. */
export async function startDatabases() {
  const url = await sharedServer()
  const template = await findTemplate(url)
  return {
    createDatabase: () => createDatabase(url, template),
    createEmptyDatabase: () => createDatabase(url),
    /** Runs a statement as the superuser, in a database. */
    query: (text: string, database = 'postgres') => query(new URL(`/${database}`, url).href, text),
  }
}
