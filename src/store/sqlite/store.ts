import { closeSync, fdatasync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Database } from 'better-sqlite3'
import type { Store } from '../../domain/store.ts'
import type { Opened, OpenOptions } from '../open.ts'
import { createChangeDetector } from './changes.ts'
import { openDatabase } from './connection.ts'
import type { Context } from './context.ts'
import { assertFilesUnchanged, filesOf } from './files.ts'
import { createFsync } from './fsync.ts'
import { createReader } from './reader.ts'
import { createRegistry } from './registry.ts'
import { createRetryLocked } from './retry-locked.ts'
import * as sql from './statements.ts'
import { createTokens } from './tokens.ts'
import { createUsage } from './usage.ts'

const fdatasyncAsync = promisify(fdatasync)

/** Opens a SQLite file, readable by its owner only, or `:memory:`, as a migrated store. */
export function openSqlite(path: string, { lockTimeout, ...options }: OpenOptions): Opened {
  const use = (db: Database, migrated: Opened['migrated']) => ({
    ...createStore(db, { lockTimeout }),
    migrated,
    database: db.name,
  })
  return openDatabase(path, use, options)
}

function createStore(db: Database, { lockTimeout }: { lockTimeout: number }): Store {
  const files = filesOf(db)
  const wal = db.memory ? undefined : openSync(`${db.name}-wal`, 'r+')

  // `retryLocked` waits for locks; SQLite would block.
  db.pragma('busy_timeout = 0')
  // A commit goes to the write-ahead log and is answered after an fsync of the log. With FULL SQLite would fsync inside the
  // commit, holding the lock and blocking the event loop (docs/adr/0007).
  db.pragma('synchronous = NORMAL')
  // Pages. A checkpoint blocks the event loop for some milliseconds: four times as long as by default and a quarter as
  // often, so that less than one request in a hundred meets one.
  db.pragma('wal_autocheckpoint = 4000')
  const { toDisk, assertDiskTrusted } = createFsync(async () => wal !== undefined && fdatasyncAsync(wal))

  function assertUsable(): void {
    assertFilesUnchanged(files)
    assertDiskTrusted()
  }

  const changes = createChangeDetector(db, { assertUsable })
  const retryLocked = createRetryLocked(lockTimeout)
  const ping = db.prepare(sql.ping)
  const context: Context = {
    db,
    changes,
    reader: createReader(changes, retryLocked),
    retryLocked,
    toDisk,
    assertUsable,
  }
  const { registry, applicationOf } = createRegistry(context)

  return {
    ...registry,
    ...createTokens({ ...context, applicationOf }),
    ...createUsage(context),

    ping: () =>
      retryLocked(() => {
        assertUsable()
        ping.get()
      }),

    async close() {
      if (!db.open) return
      db.close()
      if (wal !== undefined) closeSync(wal)
    },
  }
}
