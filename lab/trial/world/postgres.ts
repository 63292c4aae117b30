import { type PostgresOptions, runPostgres } from '../../../test/support/postgres/server.ts'
import { Skipped } from '../trial.ts'

export type Postgres = Awaited<ReturnType<typeof runPostgres>>

/** Starts a PostgreSQL server, and stops it when the use of it has ended. Throws Skipped if this machine has none. */
export async function withPostgres(
  options: PostgresOptions,
  use: (postgres: Postgres) => Promise<void>,
): Promise<void> {
  const postgres = await runPostgres(options).catch((error: Error) => {
    throw /No PostgreSQL/.test(error.message) ? new Skipped('it needs PostgreSQL') : error
  })
  try {
    await use(postgres)
  } finally {
    await postgres.stop()
  }
}
