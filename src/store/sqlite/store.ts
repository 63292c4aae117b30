import { closeSync, fdatasync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Store } from '../../domain/store.ts'
import { createMemory } from './cache.ts'
import { openDatabase } from './connection.ts'
import { assertInPlace, filesOf } from './files.ts'
import { createSync } from './fsync.ts'
import { createRegistry } from './registry.ts'
import { createAttempt } from './retry-locked.ts'
import * as sql from './statements.ts'
import { createTokens } from './tokens.ts'

const datasync = promisify(fdatasync)

/**
 * Opens a SQLite file (or `:memory:`) as a migrated store. The file is made where there is none, readable by its
 * owner only. `patience`, in milliseconds, is how long a call waits for another process's lock, without blocking.
 */
export function openSqlite(path: string, { patience }: { patience: number }): Store & Migrated {
  const { db, migrated } = openDatabase(path)
  const files = filesOf(db)
  const wal = db.memory ? undefined : openSync(`${path}-wal`, 'r+')

  // `attempt` waits for locks; SQLite would block.
  db.pragma('busy_timeout = 0')
  // A commit goes to the write-ahead log and is answered after the log is on disk. SQLite would wait for the disk
  // itself, with the lock in its hand and the event loop at a stand (docs/adr/0007).
  db.pragma('synchronous = NORMAL')
  // Moving the log's pages to their places holds the process up for some milliseconds: four times as many, a quarter as
  // often as by default, so that less than a request in a hundred meets it.
  db.pragma('wal_autocheckpoint = 4000')
  const { sync, assertSound } = createSync(async () => wal !== undefined && datasync(wal))

  function assertWhole(): void {
    assertInPlace(files)
    assertSound()
  }

  const memory = createMemory(db, { assertInPlace: assertWhole })
  const attempt = createAttempt(patience)
  const check = db.prepare(sql.check)
  const { registry, applicationOf } = createRegistry({ db, memory, attempt, sync })

  return {
    migrated,
    ...registry,
    ...createTokens({ db, memory, attempt, sync, assertWhole, applicationOf }),

    check: () =>
      attempt(() => {
        assertWhole()
        check.get()
      }),

    async close() {
      if (!db.open) return
      db.close()
      if (wal !== undefined) closeSync(wal)
    },
  }
}

/** What opening the store did to its schema. */
export interface Migrated {
  migrated: { from: number; to: number }
}
