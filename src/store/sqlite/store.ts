import { closeSync, fdatasync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Database } from 'better-sqlite3'
import type { Store } from '../../domain/store.ts'
import { leaveOpen } from '../left-open.ts'
import type { Opened, OpenOptions } from '../opened.ts'
import { createAuditedChange, createAuditTrail } from './audit.ts'
import { createChangeDetector, createReader } from './changes.ts'
import { createCheckpoints } from './checkpoints.ts'
import { openDatabase } from './connection.ts'
import { type Context, createAccess, createChange } from './context.ts'
import { createDisk } from './disk.ts'
import { createFigures, type OwnFigures } from './figures.ts'
import { assertFilesUnchanged, filesOf, isUnsound, unsound } from './files.ts'
import { createMove, createPages } from './move.ts'
import { createOperators } from './operators.ts'
import { createRefusals } from './refusals.ts'
import { createRegistry } from './registry.ts'
import { createRetryLocked } from './retry-locked.ts'
import * as sql from './statements/database.ts'
import { createTokens } from './tokens.ts'
import { markUnsound } from './unsound.ts'
import { createUsage } from './usage.ts'

/** What `fdatasync` is when it is called: a test puts another one in its place. */
const fdatasyncAsync = (file: number) => promisify(fdatasync)(file)

/** What else a SQLite store has, of which there are backups, and which can move to another one. */
interface Extras extends ReturnType<typeof createPages>, OwnFigures {
  move: ReturnType<typeof createMove>
}

type StoreOptions = Required<Pick<OpenOptions, 'lockTimeout' | 'observe'>>

export interface SqliteStore extends Opened, Extras {}

/** Opens a SQLite file, readable by its owner only, or `:memory:`, as a migrated store. */
export function openSqlite(path: string, { lockTimeout, observe = () => {}, ...options }: OpenOptions): SqliteStore {
  const use = (db: Database, migrated: Opened['migrated']) => {
    const store = createStore(db, { lockTimeout, observe })
    return { ...store, migrated, database: db.name, movedTo: store.move.movedTo() }
  }
  return openDatabase(path, use, options)
}

function createStore(db: Database, { lockTimeout, observe }: StoreOptions): Store & Extras {
  const files = filesOf(db)
  const wal = db.memory ? undefined : openSync(`${db.name}-wal`, 'r+')

  // `retryLocked` waits for locks; SQLite would block.
  db.pragma('busy_timeout = 0')
  // A commit goes to the write-ahead log and is answered after an fsync of the log. With FULL SQLite would fsync inside the
  // commit, holding the lock and blocking the event loop (docs/adr/0007).
  db.pragma('synchronous = NORMAL')
  const { toDisk, distrust, assertTrusted, assertAnswering } = createDisk({
    async fsync() {
      if (wal === undefined) return
      const begin = performance.now()
      try {
        await fdatasyncAsync(wal)
      } finally {
        observe({ type: 'disk synced', seconds: (performance.now() - begin) / 1000 })
      }
    },
    assertSound() {
      if (isUnsound(db.name)) throw unsound()
    },
    mark: () => markUnsound(db.name),
  })
  const { countCommit, copyNowAndThen, backlog, assertRoom } = createCheckpoints(db, { distrust, assertWritable })

  function assertUsable(): void {
    assertTrusted()
    assertFilesUnchanged(files)
  }

  function assertWritable(): void {
    assertUsable()
    assertAnswering()
  }

  const changes = createChangeDetector(db, { assertUsable })
  /** Whether something could not be done since it was last tried to write: the disk may be full. */
  let hasFailed = false
  const retryLocked = createRetryLocked(db.name, lockTimeout, {
    onError() {
      hasFailed = true
    },
    distrust,
  })
  const ping = db.prepare(sql.ping)
  const tryToWrite = db.prepare(sql.tryToWrite)
  let closed: Promise<void> | undefined
  const context: Context = {
    db,
    changes,
    reader: createReader(changes, retryLocked),
    retryLocked,
    ...createAccess({ retryLocked, assertUsable, assertWritable, assertRoom, countCommit }),
    assertWritable,
    assertRoom,
    async committed() {
      countCommit()
      await toDisk()
      copyNowAndThen()
    },
  }
  const change = createChange(context)
  const audited = createAuditedChange(context, change)
  const move = createMove(context, change)
  const { assertNotMoved } = move
  const { registry, applicationOf } = createRegistry({ ...context, audited, assertNotMoved })

  return {
    ...registry,
    ...createAuditTrail(context),
    ...createOperators({ ...context, audited, assertNotMoved: move.assertNotMoved }),
    ...createTokens({ ...context, applicationOf, observe }),
    ...createUsage(context),
    ...createRefusals(context),
    ...createFigures(context),
    nodes: undefined,
    ...createPages(context),
    move,

    ping: () =>
      retryLocked(() => {
        assertRoom()
        assertWritable()
        if (hasFailed) tryToWrite.run()
        else ping.get()
        hasFailed = false
      }),

    clockOffset: () => 0,

    async backlog() {
      // Also for a process that waits for the disk at no other time: the leader, which purges. But never a second time
      // while it hangs: each fdatasync keeps one of libuv's four threads, which the log and scrypt need.
      assertWritable()
      await toDisk()
      return retryLocked(() => {
        assertWritable()
        return backlog()
      })
    },

    close() {
      closed ??= close()
      return closed
    },
  }

  async function close(): Promise<void> {
    try {
      // SQLite waits for the disk when it closes, blocking, and builds on what is there.
      assertAnswering()
      await toDisk()
    } catch {
      return leaveOpen(db)
    }
    db.close()
    if (wal !== undefined) closeSync(wal)
  }
}
