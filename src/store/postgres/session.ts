import type { PostgresLocation } from '../../domain/database-location.ts'
import type { Measurement, Observer } from '../../domain/events.ts'
import type { Clock } from '../../domain/time.ts'
import { type Ask, singleValue } from '../shared/work.ts'
import { askWithin, type Connection, connect } from './connection.ts'
import { PostgresUnavailable } from './errors.ts'
import { findPrimary, isDurable } from './find-primary.ts'
import { createRegistryCache } from './registry.ts'
import * as sql from './statements/session.ts'
import { insertTokens, readRegistry, readTokens, readVersion } from './statements/tokens.ts'

/** How long a request waits for its reads, and then again for its write. */
export const TIMEOUT_MS = 1500

/** How often the session commits something, and how long a commit counts as proof that the server is the primary. */
const HEARTBEAT_MS = 1000
const PROOF_LIFETIME_MS = 3000

/** A process's connections to the primary, one for each kind of work, all to the same server: when one breaks, all are closed. */
export type Session = ReturnType<typeof createSession>

/** Opens a session with the primary. Rejects with StoreUnavailable or, like `findPrimary`, with OperatorError. */
export async function openSession(
  location: PostgresLocation,
  { monotonic = () => performance.now(), observe }: { monotonic?: Clock; observe: Observer },
): Promise<Session> {
  const { connection: reads, startedAt } = await findPrimary(location, [readTokens, readVersion, readRegistry])
  // A promise, so that a connection opened after another one has failed is also closed.
  const { promise: over, resolve: end } = Promise.withResolvers<PostgresUnavailable>()
  void over.then(reads.destroy)
  try {
    // A statement that waits for a standby or a locked table continues when its client disconnects: do not add another.
    const ask = askWithin(reads, TIMEOUT_MS)
    await assertNotStuck(ask)
    await ask(sql.planForLargeTables)
    const [writes, commands] = await Promise.all([
      connectToSameServer([insertTokens, sql.heartbeat]),
      connectToSameServer(),
    ])
    const session = createSession(
      { reads: timed(reads, 'read'), writes: timed(writes, 'write'), commands: timed(commands, 'command') },
      { startedAt, end, monotonic },
    )
    await session.proveIfNeeded()
    return session
  } catch (error) {
    end(error as PostgresUnavailable)
    throw error
  }

  async function connectToSameServer(prepare: readonly string[] = []): Promise<Connection> {
    const connection = await connect(location, reads.host, prepare)
    void over.then(connection.destroy)
    const [server] = await askWithin(connection, TIMEOUT_MS)(sql.describeServer)
    if (server?.at(-1) !== startedAt) throw sessionUnavailable('another server has the address now')
    return connection
  }

  /** Reports how long each answer took or, if none came, how long it was awaited. */
  function timed(connection: Connection, kind: Extract<Measurement, { kind: unknown }>['kind']): Connection {
    const send: Connection['send'] = async (...statement) => {
      const sentAt = monotonic()
      try {
        return await connection.send<never>(...statement)
      } finally {
        observe({ type: 'round trip', kind, seconds: (monotonic() - sentAt) / 1000 })
      }
    }
    return { ...connection, send }
  }
}

/** `startedAt` is when the server says that it started. */
function createSession(
  { reads, writes, commands }: Record<'reads' | 'writes' | 'commands', Connection>,
  { startedAt, end, monotonic }: { startedAt: string; end: (reason: PostgresUnavailable) => void; monotonic: Clock },
) {
  let provenAt = -Infinity
  let pendingWrite: ReturnType<Connection['send']> | undefined
  const ended = Promise.race([reads.broken, writes.broken, commands.broken])
  const heartbeat = setInterval(() => void prove().catch(() => {}), HEARTBEAT_MS).unref()
  void ended.then((reason) => {
    clearInterval(heartbeat)
    end(reason)
  })

  /** Sends one statement at a time, each a transaction: new and revoked tokens, heartbeats. */
  async function write(statement: string, values: unknown[]): ReturnType<Connection['send']> {
    while (pendingWrite) await pendingWrite.catch(() => {})
    pendingWrite = send(statement, values).finally(() => {
      pendingWrite = undefined
    })
    return pendingWrite
  }

  async function send(statement: string, values: unknown[]): ReturnType<Connection['send']> {
    const sentAt = monotonic()
    const answer = await writes.send(statement, values, TIMEOUT_MS)
    provenAt = sentAt
    return answer
  }

  /** Makes an empty commit. The answer shows whether this is still the same server, and whether its commits are durable. */
  async function prove(): Promise<void> {
    const { rows } = await write(sql.heartbeat, [])
    const [, synchronousCommit, serverStartedAt] = rows[0] as [unknown, string, string]
    if (serverStartedAt !== startedAt) end(sessionUnavailable('another server has the address now'))
    if (!isDurable(synchronousCommit)) end(sessionUnavailable(`synchronous_commit is ${synchronousCommit} now`))
  }

  const isProven = () => monotonic() - provenAt <= PROOF_LIFETIME_MS

  return {
    host: `${reads.host.host}:${reads.host.port}`,
    reads,
    write,
    commands,
    cache: createRegistryCache(),
    /**
     * Throws StoreUnavailable unless it is certain that this server is still the primary. One that was cut off from the others
     * still answers reads, without the revocations made on the new primary, but its commits do not return.
     */
    assertPrimary(): void {
      if (!isProven()) throw sessionUnavailable('it is not certain that this server is still the primary')
    },
    /** Commits something if the last proof has become too old. Rejects with StoreUnavailable. */
    async proveIfNeeded(): Promise<void> {
      if (!isProven()) await prove()
    },
    /** Resolves to the reason when the session ends. */
    ended,
    end,
  }
}

/** Throws StoreUnavailable while statements wait forever: a primary that is cut off still answers reads. */
export async function assertNotStuck(ask: Ask): Promise<void> {
  if ((await singleValue(ask(sql.countStuck))) === 0) return
  throw sessionUnavailable('commits wait for a standby that does not answer, or statements for a locked table')
}

function sessionUnavailable(text: string): PostgresUnavailable {
  return new PostgresUnavailable(`PostgreSQL: ${text}`)
}
