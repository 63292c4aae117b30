import { setTimeout as sleep } from 'node:timers/promises'
import type { PostgresHost, PostgresLocation } from '../../domain/database-location.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import { type Ask, singleValue } from '../shared/work.ts'
import { askWithin, connect } from './connection.ts'
import { PostgresUnavailable } from './errors.ts'
import * as sql from './statements/session.ts'

const STATEMENT_TIMEOUT_MS = 1000

/** How long the other servers may still answer after the first primary has answered. */
const GRACE_MS = 300

const NOT_NEEDED = new PostgresUnavailable('not needed')

type PrimaryServer = Awaited<ReturnType<typeof connectToPrimary>>

/**
 * Connects to every host at once and keeps the connection to the primary. If several servers claim to be the primary, because
 * one was cut off before a failover, the one with the highest timeline wins. Rejects with StoreUnavailable, or with
 * OperatorError if the server would lose commits or the settings are wrong. `prepare`: as for `connect`.
 */
export async function findPrimary(location: PostgresLocation, prepare: readonly string[] = []): Promise<PrimaryServer> {
  const found: PrimaryServer[] = []
  const errors: unknown[] = []
  const { promise: choice, resolve: choose } = Promise.withResolvers<PrimaryServer | undefined>()
  const attempts = location.hosts.map(async (host) => {
    const primary = await connectToPrimary(location, host, prepare).catch((error) => {
      errors.push(error)
      throw error
    })
    found.push(primary)
    // Runs even if this server answers after the choice.
    void choice.then((chosen) => {
      if (primary !== chosen) primary.connection.destroy(NOT_NEEDED)
    })
  })
  const firstAndGrace = Promise.any(attempts).then(() => sleep(GRACE_MS, undefined, { ref: false }))
  await Promise.race([Promise.allSettled(attempts), firstAndGrace.catch(() => {})])
  const [highest] = found.sort((a, b) => b.timeline.localeCompare(a.timeline))
  choose(highest)
  if (highest) return highest
  // The error of an unreachable server explains more than that of a standby.
  const isInformative = (error: unknown) => !(error instanceof NotPrimary)
  throw errors.find((error) => error instanceof OperatorError) ?? errors.find(isInformative) ?? errors[0]
}

/** Rejects unless the server is a primary that commits durably. */
async function connectToPrimary(location: PostgresLocation, host: PostgresHost, prepare: readonly string[]) {
  const connection = await connect(location, host, prepare)
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
    if (encoding !== 'UTF8') throw new OperatorError(`The database has encoding ${encoding}: recreate it with UTF8.`)
    // Every promotion of a standby increases it.
    const readTimeline = 'SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)'
    const timeline = location.hosts.length > 1 ? await singleValue<string>(ask(readTimeline)) : ''
    /** `startedAt` changes with each start of the server. */
    return { connection, startedAt, timeline }
  } catch (error) {
    connection.destroy(NOT_NEEDED)
    throw error
  }
}

/** With the other values of the setting, a crash or a failover can lose committed changes. */
export function isDurable(synchronousCommit: string): boolean {
  return synchronousCommit !== 'off' && synchronousCommit !== 'local'
}

/** The settings, as `name=value`, with which a crash or a failover can lose committed changes. */
export async function riskySettings(ask: Ask, { hosts }: PostgresLocation): Promise<string[]> {
  return (await ask<[setting: string]>(sql.listRiskySettings, [String(hosts.length > 1)])).flat()
}

class NotPrimary extends PostgresUnavailable {
  constructor({ host, port }: PostgresHost) {
    super(`PostgreSQL at ${host}:${port} is a standby, or read-only`)
  }
}
