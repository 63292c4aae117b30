import { hash } from 'node:crypto'
import pg from 'pg'
import type { PostgresHost, PostgresLocation } from '../../domain/database-location.ts'
import type { Ask } from '../shared/work.ts'
import { clientConfig } from './client-config.ts'
import { endsSession, type PostgresUnavailable, unavailable } from './errors.ts'

/** The code of an informational notice that has none of its own, such as that a DROP cascades; `IF NOT EXISTS` has 42P07. */
const SUCCESSFUL_COMPLETION = '00000'

const { BOOL, FLOAT8, INT4, INT8, NUMERIC } = pg.types.builtins
const NUMBERS = new Set<number>([FLOAT8, INT4, INT8, NUMERIC])

/** Sends statements on a connection, each with this time-out in milliseconds. */
export function askWithin(connection: Connection, timeout: number): Ask {
  return async (statement, values = []) => (await connection.send<never>(statement, values, timeout)).rows
}

/** A connection to one server, for one statement at a time. */
export type Connection = Awaited<ReturnType<typeof connect>>

/**
 * Connects to a server, which parses and plans the statements in `prepare` once. Rejects with StoreUnavailable, or with
 * OperatorError if a file in the settings cannot be read.
 */
export async function connect(location: PostgresLocation, host: PostgresHost, prepare: readonly string[] = []) {
  const client = new pg.Client(await clientConfig(location, host))
  const broken = Promise.withResolvers<PostgresUnavailable>()
  let brokenBecause: PostgresUnavailable | undefined
  /** A warning about the current statement, such as that no standby has its changes. The answer does not contain it. */
  let warning: string | undefined
  const names = new Map(prepare.map((text) => [text, nameOf(text)]))

  function destroy(reason: PostgresUnavailable): void {
    brokenBecause ??= reason
    broken.resolve(brokenBecause)
    // The statement is not cancelled: the server reports a cancelled commit as successful (docs/adr/0018).
    client.connection.stream.destroy()
  }

  // Needed even if no statement is under way: without a listener the process would end.
  client.on('error', (cause) => destroy(unavailable(host, cause)))
  client.on('end', () => destroy(unavailable(host, new Error('the connection was closed'))))
  // Recognized by the code: the severity is a word in the server's language.
  client.on('notice', ({ code, message }) => {
    if (code !== SUCCESSFUL_COMPLETION) warning = message
  })
  await client.connect().catch((cause) => {
    destroy(unavailable(host, cause))
    throw brokenBecause
  })

  /**
   * Sends one statement. Resolves to the answer when the server has run it and made its changes durable. Rejects with
   * StoreUnavailable; the statement may have been run nevertheless. The connection is broken if the server did not answer within
   * `timeout` milliseconds, or if the outcome is unknown.
   */
  async function send<Row extends unknown[]>(
    text: string,
    values: unknown[],
    timeout: number,
  ): Promise<pg.QueryArrayResult<Row>> {
    if (brokenBecause) throw brokenBecause
    warning = undefined
    const giveUp = () =>
      destroy(unavailable(host, new Error(`no answer within ${Math.round(timeout)} ms`), { isSilent: true }))
    // If this process itself was stalled, the answer may already have arrived. An immediate runs after it has been read.
    let immediate: NodeJS.Immediate | undefined
    const timer = setTimeout(() => {
      immediate = setImmediate(giveUp)
    }, timeout)
    const query = { text, values, rowMode: 'array', types: { getTypeParser: parserOf } } as const
    const name = names.get(text)
    const answer = client.query<Row>(name === undefined ? query : { ...query, name }).finally(() => {
      clearTimeout(timer)
      clearImmediate(immediate)
    })
    try {
      const result = await answer
      // An answer with a warning is not a success: its changes may be on this server only.
      if (warning !== undefined) throw new Error(warning)
      return result
    } catch (cause) {
      if (isUnprepared(cause) && names.delete(text)) return send(text, values, timeout)
      const error = brokenBecause ?? unavailable(host, cause as Error)
      if (endsSession(cause)) destroy(error)
      throw error
    }
  }

  /** `broken` resolves to the reason when the connection breaks. */
  return { host, send, broken: broken.promise, destroy }
}

/** The name of a prepared statement. It depends on the text alone, because several programs may share a pooled connection. */
const nameOf = (text: string) => hash('sha256', text).slice(0, 32)

/**
 * Whether a statement was refused before it ran, because it is or is not prepared on this connection (a PgBouncer before 1.21
 * lends a connection for one transaction, and knows nothing of prepared statements), or because a migration changed the types
 * of its rows.
 */
function isUnprepared(cause: unknown): boolean {
  return cause instanceof pg.DatabaseError && ['26000', '42P05', '0A000'].includes(String(cause.code))
}

/** The parser for values of a type. Numbers, all below 2^53, and booleans are converted; other types stay text. */
function parserOf(type: number): (text: string) => unknown {
  if (NUMBERS.has(type)) return Number
  return type === BOOL ? (text) => text === 't' : String
}

/** Ids or numbers as an array in PostgreSQL's syntax. */
export function arrayOf(items: readonly unknown[]): string {
  return `{${items.join(',')}}`
}
