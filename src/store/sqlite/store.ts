import { closeSync, fdatasync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Database } from 'better-sqlite3'
import type { Observer } from '../../domain/events.ts'
import { leaveOpen, type Opened, type OpenOptions } from '../opened.ts'
import { createSharedParts } from '../shared/parts.ts'
import { createCachedRegistry } from './changes.ts'
import { createCheckpoints } from './checkpoints.ts'
import { openDatabase } from './connection.ts'
import { createContext, createShared } from './context.ts'
import { createDisk, markUnsound } from './disk.ts'
import { createOwnFigures } from './figures.ts'
import { assertFilesUnchanged, filesOf, isUnsound, unsoundError } from './files.ts'
import { createMove, createPages } from './move.ts'
import { createPurge } from './purge.ts'
import { createRetryLocked } from './retry-locked.ts'
import { createTokens } from './tokens.ts'

/** Looks `fdatasync` up at each call, so that tests can replace it. */
const fdatasyncAsync = (file: number) => promisify(fdatasync)(file)

/** Opens a SQLite file, readable by its owner only, or `:memory:`, as a migrated store. */
export function openSqlite(path: string, { lockTimeout, observe = () => {}, ...options }: OpenOptions) {
  const use = (db: Database, migrated: Opened['migrated']) => {
    const store = createStore(db, lockTimeout, observe)
    return { ...store, migrated, database: db.name, movedTo: store.move.movedTo() } satisfies Opened
  }
  return openDatabase(path, use, options)
}

function createStore(db: Database, lockTimeout: number, observe: Observer) {
  const log = db.memory ? undefined : openSync(`${db.name}-wal`, 'r+')
  // `retryLocked` waits for locks; SQLite would block.
  db.pragma('busy_timeout = 0')
  // A commit goes to the write-ahead log and is answered after an fsync of the log. With FULL, SQLite would fsync inside
  // the commit, holding the lock and blocking the event loop (docs/adr/0007).
  db.pragma('synchronous = NORMAL')
  const disk = createDiskOf(db, log, observe)
  const { context, ping, backlog } = guard(db, disk, lockTimeout)
  const move = createMove(context)
  const shared = createShared(context, move.assertNotMoved)
  const { registry, applicationOf } = createCachedRegistry(db, context.changes, context.reader)
  let closed: Promise<void> | undefined

  return {
    ...registry,
    ...createSharedParts(shared),
    ...createTokens(context, applicationOf, observe),
    ...createOwnFigures(context),
    ...createPages(context),
    purge: createPurge(context),
    nodes: undefined,
    move,
    ping,
    backlog,
    clockOffset: () => 0,
    close() {
      closed ??= close()
      return closed
    },
  }

  async function close(): Promise<void> {
    try {
      // Closing makes a checkpoint, which blocks until the disk answers, and relies on what is on the disk.
      disk.assertAnswering()
      await disk.flush()
    } catch {
      return leaveOpen(db)
    }
    db.close()
    if (log !== undefined) closeSync(log)
  }
}

type Disk = ReturnType<typeof createDisk>

/** `log` is the file of the write-ahead log; undefined for a database in memory. */
function createDiskOf(db: Database, log: number | undefined, observe: Observer): Disk {
  return createDisk({
    async fsync() {
      if (log === undefined) return
      const begin = performance.now()
      try {
        await fdatasyncAsync(log)
      } finally {
        observe({ type: 'disk synced', seconds: (performance.now() - begin) / 1000 })
      }
    },
    assertSound() {
      if (isUnsound(db.name)) throw unsoundError()
    },
    mark: () => markUnsound(db.name),
  })
}

/** Adds to a connection the checks and retries that every use of it needs. */
function guard(db: Database, { flush, distrust, assertTrusted, assertAnswering }: Disk, lockTimeout: number) {
  const files = filesOf(db)
  const checkpoints = createCheckpoints(db, { distrust, assertWritable })
  const { countCommit, assertLogNotFull } = checkpoints
  /** Whether an operation has failed since the last test write: the disk may be full. */
  let hasFailed = false
  const onError = () => {
    hasFailed = true
  }
  const retryLocked = createRetryLocked(db.name, lockTimeout, { onError, distrust })
  const select = db.prepare('SELECT id FROM applications LIMIT 1')
  // SQLite skips an update that changes nothing, so this one changes a value.
  const tryToWrite = db.prepare('UPDATE changes SET revocations = revocations + 1')

  function assertUsable(): void {
    assertTrusted()
    assertFilesUnchanged(files)
  }

  function assertWritable(): void {
    assertUsable()
    assertAnswering()
  }

  async function committed(): Promise<void> {
    countCommit()
    await flush()
    checkpoints.checkpointIfDue()
  }

  const ping = (isDoubted = false) =>
    retryLocked(() => {
      hasFailed ||= isDoubted
      assertLogNotFull()
      assertWritable()
      if (hasFailed) tryToWrite.run()
      else select.get()
      hasFailed = false
    })

  async function backlog() {
    // The leader needs this flush: it purges, and never waits for the disk otherwise. But it does not flush twice while the
    // disk hangs: each fdatasync occupies one of libuv's four threads, which the log and scrypt need.
    assertWritable()
    await flush()
    return retryLocked(() => {
      assertWritable()
      return checkpoints.backlog()
    })
  }

  const guards = { retryLocked, assertUsable, assertWritable, assertLogNotFull, countCommit, committed }
  return { context: createContext(db, guards), ping, backlog }
}
