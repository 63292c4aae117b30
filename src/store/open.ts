import type { DatabaseLocation, Store } from '../domain/store.ts'

/** What opening a store did to its schema: its version before and after. */
export interface Migrated {
  migrated: { from: number; to: number }
}

/**
 * Opens the store at a location and migrates it to this program's version. `lockTimeout`, in milliseconds: how long a call
 * waits for another process's lock. Throws StoreUnavailable where it cannot be opened.
 */
export async function openStore(
  location: DatabaseLocation,
  { lockTimeout }: { lockTimeout: number },
): Promise<Store & Migrated> {
  switch (location.kind) {
    case 'sqlite': {
      const { openSqlite } = await import('./sqlite/store.ts')
      return openSqlite(location.file, { lockTimeout })
    }
  }
}
