import type { Test } from 'tap'
import { createDatabase } from './databases.ts'
import { runPair } from './pair.ts'
import { type PostgresOptions, runPostgres } from './server.ts'

/** A PostgreSQL server that ends with the test. */
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

/**
 * Where tests that need nothing but databases get them: from the server that TEST_POSTGRES_URL names, as a superuser, or
 * from one that ends with the test.
 */
export async function startDatabases(t: Test): Promise<{ createDatabase(): Promise<string> }> {
  const named = process.env.TEST_POSTGRES_URL
  if (!named) return startPostgres(t)
  return {
    async createDatabase() {
      const { url, remove } = await createDatabase(named)
      t.teardown(remove)
      return url
    },
  }
}
