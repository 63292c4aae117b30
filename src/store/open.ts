import type { Store } from '../domain/store.ts'
import type { Migrated } from './sqlite/store.ts'

/**
 * Opens the store that a DATABASE_URL names and brings it to this program's version. `patience`, in milliseconds:
 * how long a call may block for another process. Throws where it cannot be opened.
 */
export async function openStore(databaseUrl: string, { patience }: { patience: number }): Promise<Store & Migrated> {
  const { openSqlite } = await import('./sqlite/store.ts')
  return openSqlite(databaseUrl.slice('sqlite:'.length), { patience })
}
