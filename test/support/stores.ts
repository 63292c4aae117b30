import type { Test } from 'tap'
import { LATEST, LATEST_POSTGRES } from './migrations.ts'
import { startDatabases } from './postgres/postgres.ts'
import { temporaryDatabase } from './temporary-database.ts'

/**
 * Both stores, for tests of what must hold on each: its name, its folder in `migrations`, the version of a migrated database,
 * and the environment that names a new, empty one to a command.
 */
export async function startStores(t: Test) {
  const { createDatabase } = await startDatabases(t)
  return [
    { name: 'SQLite', folder: 'sqlite', latest: LATEST, createEnv: async (t: Test) => temporaryDatabase(t).env },
    {
      name: 'PostgreSQL',
      folder: 'postgres',
      latest: LATEST_POSTGRES,
      createEnv: async () => ({ DATABASE_URL: await createDatabase() }),
    },
  ]
}
