import type { Test } from 'tap'
import { LATEST, LATEST_POSTGRES } from './migrations.ts'
import { startDatabases } from './postgres/postgres.ts'
import { temporaryDatabase } from './temporary-database.ts'

/** A store, for tests of what must hold on each. */
interface TestedStore {
  name: string
  /** Its folder in `migrations`. */
  folder: string
  /** The version of a migrated database. */
  latest: number
  /** The environment that names a new, empty database to a command. */
  createEnv(t: Test): Promise<{ DATABASE_URL: string }>
}

export const SQLITE: TestedStore = {
  name: 'SQLite',
  folder: 'sqlite',
  latest: LATEST,
  createEnv: async (t) => temporaryDatabase(t).env,
}

export async function startPostgresStore(): Promise<TestedStore> {
  const { createDatabase } = await startDatabases()
  return {
    name: 'PostgreSQL',
    folder: 'postgres',
    latest: LATEST_POSTGRES,
    createEnv: async () => ({ DATABASE_URL: await createDatabase() }),
  }
}
