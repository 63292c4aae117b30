import { setTimeout as sleep } from 'node:timers/promises'
import type { PostgresHost, PostgresLocation } from '../../domain/database-location.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import { type Connection, connect } from './connection.ts'
import { PostgresUnavailable } from './explain.ts'
import * as sql from './statements/session.ts'

/** How long a statement may take that only looks at the server. */
const LOOK_TIMEOUT_MS = 1000

/** How long the other servers have, when one has said that it is the primary. */
const OTHERS_MS = 300

interface PrimaryServer {
  connection: Connection
  /** Another one after each start of the server. */
  startedAt: string
  timeline: string
}

/**
 * Connects to every host at once, and keeps the connection to the primary; where there seem to be several, for one does not
 * know yet that it is not, to that of the highest timeline. Rejects with StoreUnavailable, and with OperatorError where the
 * server does not keep what it commits, or the settings are wrong.
 */
export async function findPrimary(location: PostgresLocation): Promise<PrimaryServer> {
  const found: PrimaryServer[] = []
  const errors: unknown[] = []
  const { promise: choice, resolve: choose } = Promise.withResolvers<PrimaryServer | undefined>()
  const looks = location.hosts.map(async (host) => {
    const primary = await lookAt(location, host).catch((error) => {
      errors.push(error)
      throw error
    })
    found.push(primary)
    // Also where it comes late.
    void choice.then((chosen) => {
      if (primary !== chosen) discard(primary)
    })
  })
  const firstAndSomeTime = Promise.any(looks).then(() => sleep(OTHERS_MS, undefined, { ref: false }))
  await Promise.race([Promise.allSettled(looks), firstAndSomeTime.catch(() => {})])
  const [highest] = found.sort((a, b) => b.timeline.localeCompare(a.timeline))
  choose(highest)
  if (highest) return highest
  throw errors.find((error) => error instanceof OperatorError) ?? errors.find(isInformative) ?? errors[0]
}

function discard({ connection }: Pick<PrimaryServer, 'connection'>): void {
  connection.destroy(new PostgresUnavailable('not needed'))
}

/** A standby says of itself that it is one; what is said of a server that cannot be reached is more use. */
function isInformative(error: unknown): boolean {
  return !(error instanceof NotPrimary)
}

/** Rejects where the server is not a primary that commits as it should. */
async function lookAt(location: PostgresLocation, host: PostgresHost): Promise<PrimaryServer> {
  const connection = await connect(location, host)
  try {
    type Look = [
      isInRecovery: boolean,
      readOnly: string,
      synchronousCommit: string,
      encoding: string,
      startedAt: string,
    ]
    const [look] = await connection.ask<Look>(sql.lookAtServer, [], LOOK_TIMEOUT_MS)
    const [isInRecovery, readOnly, synchronousCommit, encoding, startedAt] = look as Look
    if (isInRecovery || readOnly === 'on') throw new NotPrimary(host)
    if (!isDurable(synchronousCommit)) throw notDurable(synchronousCommit)
    if (encoding !== 'UTF8') throw new OperatorError(`The database has the encoding ${encoding}: make it with UTF8.`)
    const timeline = location.hosts.length > 1 ? await timelineOf(connection) : ''
    return { connection, startedAt, timeline }
  } catch (error) {
    discard({ connection })
    throw error
  }
}

/** With the other settings a commit is answered that a crash, or a failover, takes back. */
export function isDurable(synchronousCommit: string): boolean {
  return synchronousCommit !== 'off' && synchronousCommit !== 'local'
}

function notDurable(synchronousCommit: string): OperatorError {
  return new OperatorError(
    `synchronous_commit is ${synchronousCommit} for this role or database, which loses tokens that were issued: set it to on.`,
  )
}

async function timelineOf(connection: Connection): Promise<string> {
  const [row] = await connection.ask<[string]>(sql.lookAtTimeline, [], LOOK_TIMEOUT_MS)
  return (row as [string])[0]
}

class NotPrimary extends PostgresUnavailable {
  constructor({ host, port }: PostgresHost) {
    super(`PostgreSQL at ${host}:${port} is a standby, or read-only`)
  }
}
