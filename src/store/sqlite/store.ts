import { closeSync, fdatasync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Database } from 'better-sqlite3'
import type { Observer } from '../../domain/events.ts'
import type { Store } from '../../domain/store.ts'
import { leaveOpen, type Opened, type OpenOptions } from '../opened.ts'
import { createAuditTrail } from '../shared/audit.ts'
import { createChanges } from '../shared/changes.ts'
import { createFigures } from '../shared/figures.ts'
import { createOperators } from '../shared/operators.ts'
import { createRefusals } from '../shared/refusals.ts'
import { createRegistryLists } from '../shared/registry.ts'
import { createCachedRegistry, createChangeDetector, createReader } from './changes.ts'
import { createCheckpoints } from './checkpoints.ts'
import { openDatabase } from './connection.ts'
import { type Context, createAccess, createChange, createRunner, createShared } from './context.ts'
import { createDisk, markUnsound } from './disk.ts'
import { createOwnFigures, type OwnFigures } from './figures.ts'
import { assertFilesUnchanged, filesOf, isUnsound, unsound } from './files.ts'
import { createMove, createPages } from './move.ts'
import { createPurge } from './purge.ts'
import { createRetryLocked } from './retry-locked.ts'
import * as sql from './statements/database.ts'
import { createTokens, createUsage } from './tokens.ts'

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
  const wal = db.memory ? undefined : openSync(`${db.name}-wal`, 'r+')
  // `retryLocked` waits for locks; SQLite would block.
  db.pragma('busy_timeout = 0')
  // A commit goes to the write-ahead log and is answered after an fsync of the log. With FULL SQLite would fsync inside the
  // commit, holding the lock and blocking the event loop (docs/adr/0007).
  db.pragma('synchronous = NORMAL')
  const disk = createDiskOf(db, wal, observe)
  const { context, ping, backlog } = createContext(db, disk, lockTimeout)
  const change = createChange(context)
  const runner = createRunner(db)
  const move = createMove(context, change, runner)
  const shared = createShared({ ...context, runner, change, assertNotMoved: move.assertNotMoved })
  const { registry, applicationOf } = createCachedRegistry(context)
  let closed: Promise<void> | undefined

  return {
    ...registry,
    ...createRegistryLists(shared),
    ...createChanges(shared),
    ...createOperators(shared),
    ...createAuditTrail(shared),
    ...createTokens({ ...context, applicationOf, observe }),
    ...createUsage(context),
    ...createRefusals(shared),
    ...createFigures(shared),
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
      // SQLite waits for the disk when it closes, blocking, and builds on what is there.
      disk.assertAnswering()
      await disk.toDisk()
    } catch {
      return leaveOpen(db)
    }
    db.close()
    if (wal !== undefined) closeSync(wal)
  }
}

type Disk = ReturnType<typeof createDisk>

/** `wal`: the file of the write-ahead log; undefined: the database is in memory. */
function createDiskOf(db: Database, wal: number | undefined, observe: Observer): Disk {
  return createDisk({
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
}

/** What the parts of the store work with, and whether it works. */
function createContext(db: Database, { toDisk, distrust, assertTrusted, assertAnswering }: Disk, lockTimeout: number) {
  const files = filesOf(db)
  const checkpoints = createCheckpoints(db, { distrust, assertWritable })
  const { countCommit, assertRoom } = checkpoints
  const changes = createChangeDetector(db, { assertUsable })
  /** Whether something could not be done since it was last tried to write: the disk may be full. */
  let hasFailed = false
  const onError = () => {
    hasFailed = true
  }
  const retryLocked = createRetryLocked(db.name, lockTimeout, { onError, distrust })
  const select = db.prepare(sql.ping)
  const tryToWrite = db.prepare(sql.tryToWrite)

  function assertUsable(): void {
    assertTrusted()
    assertFilesUnchanged(files)
  }

  function assertWritable(): void {
    assertUsable()
    assertAnswering()
  }

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
      checkpoints.copyNowAndThen()
    },
  }

  const ping = () =>
    retryLocked(() => {
      assertRoom()
      assertWritable()
      if (hasFailed) tryToWrite.run()
      else select.get()
      hasFailed = false
    })

  async function backlog() {
    // Also for a process that waits for the disk at no other time: the leader, which purges. But never a second time
    // while it hangs: each fdatasync keeps one of libuv's four threads, which the log and scrypt need.
    assertWritable()
    await toDisk()
    return retryLocked(() => {
      assertWritable()
      return checkpoints.backlog()
    })
  }

  return { context, ping, backlog }
}
