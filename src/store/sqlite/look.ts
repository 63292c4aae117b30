import { realpath, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { LookedAt, StoreFiles } from '../inspect.ts'
import { MARK, sideFilesOf } from './files.ts'

/** Looks at the files of a database, and opens none. Rejects with the file system's error. */
export async function lookAtFiles(path: string): Promise<StoreFiles> {
  const file = await realpath(path).catch(() => resolve(path))
  const [wal, shm] = sideFilesOf(file)
  const [folder, database, log, index] = await Promise.all([dirname(file), file, wal, shm].map(lookAt))
  return { folder, database, log, index, isUnsound: log !== undefined && (log.mode & MARK) !== 0 }
}

async function lookAt(path: string): Promise<LookedAt | undefined> {
  try {
    const stats = await stat(path)
    const { size, uid, gid, mode } = stats
    return { path, size, uid, gid, mode: mode & 0o7777, isFolder: stats.isDirectory() }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
