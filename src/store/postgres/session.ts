import type { PostgresLocation } from '../../domain/database-location.ts'
import type { Measurement, Observer } from '../../domain/events.ts'
import type { Clock } from '../../domain/time.ts'
import { type Connection, connect } from './connection.ts'
import { PostgresUnavailable } from './explain.ts'
import { findPrimary, isDurable } from './find-primary.ts'
import { createRegistryCache, type RegistryCache } from './registry.ts'
import * as sql from './statements/session.ts'

/** How long a request waits for the database, for reads and then for a write. */
export const TIMEOUT_MS = 1500

/** How often something is committed; and for how long after a commit was sent that came back the server is believed. */
const HEARTBEAT_MS = 1000
const BELIEVE_MS = 3000

/**
 * A process's connections to the primary, one for each kind of work, all to the same server: when one of them is broken, all
 * are ended.
 */
export interface Session {
  /** The server's address. */
  readonly host: string
  /** For what many requests wait for: reads. */
  readonly reads: Connection
  /** The same for new and revoked tokens: sends a statement that is a transaction. */
  write(statement: string, values: unknown[]): Promise<void>
  /** For all else. */
  readonly commands: Connection
  /** What was read of the registry. */
  readonly cache: RegistryCache
  /**
   * Throws StoreUnavailable where it is not certain that this is the primary still: one that was cut off from the others answers,
   * and knows nothing of what is revoked on the next one, but does not commit.
   */
  assertPrimary(): void
  /** Commits something, where that has not been for long. Rejects with StoreUnavailable. */
  proveIfNeeded(): Promise<void>
  /** Resolves to why it has ended, when it has. */
  readonly ended: Promise<PostgresUnavailable>
  end(reason: PostgresUnavailable): void
}

type RoundTrip = Extract<Measurement, { type: 'round trip' }>

interface Watch {
  /** Milliseconds of a clock that nobody sets. */
  monotonic: Clock
  observe: Observer
}

/** Opens a session with the primary. Rejects with StoreUnavailable; and with OperatorError, see `findPrimary`. */
export async function openSession(location: PostgresLocation, { monotonic, observe }: Watch): Promise<Session> {
  const { connection: reads, startedAt } = await findPrimary(location)
  // A promise, so that a connection that comes when another one has failed ends, too.
  const { promise: over, resolve: end } = Promise.withResolvers<PostgresUnavailable>()
  void over.then(reads.destroy)
  try {
    await assertNothingIsStuck(reads)
    const [writes, commands] = await Promise.all([another(), another()])
    const connections = {
      reads: timed(reads, 'read'),
      writes: timed(writes, 'write'),
      commands: timed(commands, 'command'),
    }
    const session = createSession(connections, { startedAt, end, monotonic })
    await session.proveIfNeeded()
    return session
  } catch (error) {
    end(error as PostgresUnavailable)
    throw error
  }

  async function another(): Promise<Connection> {
    const connection = await connect(location, reads.host)
    void over.then(connection.destroy)
    const [row] = await connection.ask<unknown[]>(sql.lookAtServer, [], TIMEOUT_MS)
    if (row?.at(-1) !== startedAt) throw newReason('another server has the address now')
    return connection
  }

  /** The same connection, which says how long each answer took, or was waited for in vain. */
  function timed(connection: Connection, kind: RoundTrip['kind']): Connection {
    return {
      ...connection,
      async ask<Row extends unknown[]>(statement: string, values: unknown[], timeout: number): Promise<Row[]> {
        const sentAt = monotonic()
        try {
          return await connection.ask<Row>(statement, values, timeout)
        } finally {
          observe({ type: 'round trip', kind, seconds: (monotonic() - sentAt) / 1000 })
        }
      },
    }
  }
}

/** What waits for a standby or a table does so for as long as that takes, whatever its client does: one of them is enough. */
async function assertNothingIsStuck(connection: Connection): Promise<void> {
  const [row] = await connection.ask<[number]>(sql.countStuck, [], TIMEOUT_MS)
  if (row?.[0] !== 0)
    throw newReason('commits wait for a standby that does not answer, or statements for a locked table')
}

interface SessionOptions {
  /** When the server was started, by its own words. */
  startedAt: string
  end: (reason: PostgresUnavailable) => void
  monotonic: Clock
}

function createSession(
  { reads, writes, commands }: Record<'reads' | 'writes' | 'commands', Connection>,
  { startedAt, end, monotonic }: SessionOptions,
): Session {
  let provenAt = -Infinity
  let underWay: Promise<unknown[][]> | undefined
  const ended = Promise.race([reads.broken, writes.broken, commands.broken])
  const heart = setInterval(() => void prove().catch(() => {}), HEARTBEAT_MS).unref()
  void ended.then((reason) => {
    clearInterval(heart)
    end(reason)
  })

  async function write(statement: string, values: unknown[] = []): Promise<unknown[][]> {
    while (underWay) await underWay.catch(() => {})
    underWay = send(statement, values).finally(() => {
      underWay = undefined
    })
    return underWay
  }

  async function send(statement: string, values: unknown[]): Promise<unknown[][]> {
    const sentAt = monotonic()
    const rows = await writes.ask(statement, values, TIMEOUT_MS)
    provenAt = sentAt
    return rows
  }

  /** By a commit that is empty, which tells whether this is the same server still, and keeps what it commits. */
  async function prove(): Promise<void> {
    const [row] = await write(sql.heartbeat)
    const [, synchronousCommit, serverStartedAt] = row as [unknown, string, string]
    if (serverStartedAt !== startedAt) end(newReason('another server has the address now'))
    if (!isDurable(synchronousCommit)) end(newReason(`synchronous_commit is ${synchronousCommit} now`))
  }

  return {
    host: `${reads.host.host}:${reads.host.port}`,
    reads,
    async write(statement, values) {
      await write(statement, values)
    },
    commands,
    cache: createRegistryCache(),
    assertPrimary() {
      if (monotonic() - provenAt > BELIEVE_MS) throw newReason('it is not certain that it is the primary still')
    },
    async proveIfNeeded() {
      if (monotonic() - provenAt > BELIEVE_MS) await prove()
    },
    ended,
    end,
  }
}

function newReason(text: string): PostgresUnavailable {
  return new PostgresUnavailable(`PostgreSQL: ${text}`)
}
