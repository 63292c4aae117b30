import type { Clock } from '../../domain/clock.ts'
import type { PostgresLocation } from '../../domain/database-location.ts'
import { type Connection, connect } from './connection.ts'
import { PostgresUnavailable } from './explain.ts'
import { findPrimary } from './find-primary.ts'
import { createRegistryCache, type RegistryCache } from './registry-cache.ts'
import * as sql from './statements.ts'

/** How long a round trip may take that a request waits for: two of them make up the 2 s in which it is answered. */
export const TIMEOUT_MS = 1500

/** How often something is committed, at least; and for how long after a commit was sent that came back the server is believed. */
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

/** Opens a session with the primary. Rejects with StoreUnavailable; and with OperatorError, see `findPrimary`. */
export async function openSession(location: PostgresLocation, monotonic: Clock): Promise<Session> {
  const { connection: reads, startedAt } = await findPrimary(location)
  // A promise, so that a connection that comes when another one has failed ends, too.
  const { promise: over, resolve: end } = Promise.withResolvers<PostgresUnavailable>()
  void over.then(reads.destroy)
  try {
    await assertNothingIsStuck(reads)
    const [writes, commands] = await Promise.all([another(), another()])
    const session = createSession({ reads, writes, commands }, end, monotonic)
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
}

/** A commit that waits for a standby does so for as long as that takes, whatever its client does: one of them is enough. */
async function assertNothingIsStuck(connection: Connection): Promise<void> {
  const [row] = await connection.ask<[number]>(sql.countStuckCommits, [], TIMEOUT_MS)
  if (row?.[0] !== 0) throw newReason('commits wait for a standby that does not answer')
}

function createSession(
  { reads, writes, commands }: Record<'reads' | 'writes' | 'commands', Connection>,
  end: (reason: PostgresUnavailable) => void,
  monotonic: Clock,
): Session {
  let provenAt = -Infinity
  let underWay: Promise<void> | undefined
  const ended = Promise.race([reads.broken, writes.broken, commands.broken])
  const heart = setInterval(() => {
    if (monotonic() - provenAt >= HEARTBEAT_MS / 2) void prove().catch(() => {})
  }, HEARTBEAT_MS).unref()
  void ended.then((reason) => {
    clearInterval(heart)
    end(reason)
  })

  async function write(statement: string, values: unknown[]): Promise<void> {
    // A heartbeat at most.
    while (underWay) await underWay.catch(() => {})
    underWay = send(statement, values).finally(() => {
      underWay = undefined
    })
    return underWay
  }

  async function send(statement: string, values: unknown[]): Promise<void> {
    const sentAt = monotonic()
    await writes.ask(statement, values, TIMEOUT_MS)
    provenAt = sentAt
  }

  /** By what is committed right now, or by a commit that is empty. */
  function prove(): Promise<void> {
    return underWay ?? write(sql.heartbeat, [])
  }

  return {
    host: `${reads.host.host}:${reads.host.port}`,
    reads,
    write,
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
