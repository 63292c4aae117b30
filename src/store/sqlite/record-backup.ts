import { StoreUnavailable } from '../../domain/store.ts'
import { isExpected } from './connection.ts'
import { isUnsound } from './files.ts'
import { isMigrated } from './migrate.ts'
import { realPlace } from './place.ts'
import { openSqlite } from './store.ts'

/** How long others may keep the database locked. Milliseconds. */
const LOCK_TIMEOUT_MS = 2000

/**
 * Notes in a database when a backup of it was made. Where that is not possible nothing is noted: the backup is there. Nor is
 * it where opening would do more: migrate the database, or bring to the disk what an fsync has left behind.
 */
export async function recordBackup(path: string, madeAt: number): Promise<void> {
  try {
    const file = realPlace(path)
    if (isUnsound(file) || !isMigrated(file)) return
    const store = openSqlite(file, { lockTimeout: LOCK_TIMEOUT_MS, create: false })
    await store.recordBackup(madeAt).finally(store.close)
  } catch (error) {
    if (!isExpected(error) && !(error instanceof StoreUnavailable)) throw error
  }
}
