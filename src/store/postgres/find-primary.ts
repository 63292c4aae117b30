import { setTimeout as sleep } from 'node:timers/promises'
import type { PostgresHost, PostgresLocation } from '../../domain/database-location.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import { singleValue } from '../shared/work.ts'
import { askWithin, connect } from './connection.ts'
import { PostgresUnavailable } from './errors.ts'
import * as sql from './statements/session.ts'

const STATEMENT_TIMEOUT_MS = 1000

/** How long the other servers have to answer after the first primary has. */
const OTHERS_MS = 300

const NOT_NEEDED = new PostgresUnavailable('not needed')

type PrimaryServer = Awaited<ReturnType<typeof connectToPrimary>>

/**
 * Connects to every host at once and keeps the connection to the primary. If several servers claim to be the primary, because
 * one was cut off and does not know better, the one with the highest timeline wins. Rejects with StoreUnavailable, or with
 * OperatorError if the server would lose commits or the settings are wrong.
 */
export async function findPrimary(location: PostgresLocation): Promise<PrimaryServer> {
  const found: PrimaryServer[] = []
  const errors: unknown[] = []
  const { promise: choice, resolve: choose } = Promise.withResolvers<PrimaryServer | undefined>()
  const attempts = location.hosts.map(async (host) => {
    const primary = await connectToPrimary(location, host).catch((error) => {
      errors.push(error)
      throw error
    })
    found.push(primary)
    // Also if this one answers after the choice.
    void choice.then((chosen) => {
      if (primary !== chosen) primary.connection.destroy(NOT_NEEDED)
    })
  })
  const firstAndSomeTime = Promise.any(attempts).then(() => sleep(OTHERS_MS, undefined, { ref: false }))
  await Promise.race([Promise.allSettled(attempts), firstAndSomeTime.catch(() => {})])
  const [highest] = found.sort((a, b) => b.timeline.localeCompare(a.timeline))
  choose(highest)
  if (highest) return highest
  // An unreachable server explains more than a standby does.
  const isInformative = (error: unknown) => !(error instanceof NotPrimary)
  throw errors.find((error) => error instanceof OperatorError) ?? errors.find(isInformative) ?? errors[0]
}

/** Rejects unless the server is a primary that commits durably. */
async function connectToPrimary(location: PostgresLocation, host: PostgresHost) {
  const connection = await connect(location, host)
  const ask = askWithin(connection, STATEMENT_TIMEOUT_MS)
  try {
    type Server = [isInRecovery: boolean, readOnly: string, synchronousCommit: string, encoding: string, start: string]
    const [server] = await ask<Server>(sql.describeServer)
    const [isInRecovery, readOnly, synchronousCommit, encoding, startedAt] = server as Server
    if (isInRecovery || readOnly === 'on') throw new NotPrimary(host)
    if (!isDurable(synchronousCommit)) {
      throw new OperatorError(
        `synchronous_commit is ${synchronousCommit} for this role or database, which loses tokens that were issued: set it to on.`,
      )
    }
    if (encoding !== 'UTF8') throw new OperatorError(`The database has the encoding ${encoding}: create it with UTF8.`)
    const timeline = location.hosts.length > 1 ? await singleValue<string>(ask(sql.timeline)) : ''
    /** `startedAt` differs after each start of the server. */
    return { connection, startedAt, timeline }
  } catch (error) {
    connection.destroy(NOT_NEEDED)
    throw error
  }
}

/** With the other settings a crash or a failover undoes commits that were answered. */
export function isDurable(synchronousCommit: string): boolean {
  return synchronousCommit !== 'off' && synchronousCommit !== 'local'
}

class NotPrimary extends PostgresUnavailable {
  constructor({ host, port }: PostgresHost) {
    super(`PostgreSQL at ${host}:${port} is a standby, or read-only`)
  }
}
