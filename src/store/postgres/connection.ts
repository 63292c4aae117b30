import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import pg, { type ClientConfig } from 'pg'
import type { PostgresHost, PostgresLocation, Tls } from '../../domain/database-location.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import { endsSession, type PostgresUnavailable, unavailable } from './explain.ts'
import { passwordFor } from './password.ts'

/** How long connecting may take. */
const CONNECT_TIMEOUT_MS = 1000

/** How soon a server that has vanished is noticed, 10 s later, where nobody waits for an answer. */
const KEEP_ALIVE_MS = 5000

/** The code of a notice that is only a word, such as of a table that is there already. */
const SUCCESSFUL_COMPLETION = '00000'

/** Sends a statement. Rejects with StoreUnavailable. */
export type Ask = <Row extends unknown[]>(statement: string, values?: unknown[]) => Promise<Row[]>

/** A connection to one server, for one thing at a time. */
export interface Connection {
  readonly host: PostgresHost
  /**
   * Sends one statement. Resolves to its rows when the server has done it and, where it changed something, made that
   * durable. Rejects with StoreUnavailable; then it may have been done nevertheless, and where the server did not answer
   * within `timeout` milliseconds, or what it did is in doubt, the connection is broken.
   */
  ask<Row extends unknown[]>(statement: string, values: unknown[], timeout: number): Promise<Row[]>
  /** Resolves to why the connection can no longer be used, when it cannot. */
  readonly broken: Promise<PostgresUnavailable>
  /** Ends it at once, for this reason. */
  destroy(reason: PostgresUnavailable): void
}

/** Connects to a server. Rejects with StoreUnavailable, and with OperatorError where a file of the settings cannot be read. */
export async function connect(location: PostgresLocation, host: PostgresHost): Promise<Connection> {
  const client = new pg.Client(await configOf(location, host))
  const broken = Promise.withResolvers<PostgresUnavailable>()
  let brokenBecause: PostgresUnavailable | undefined
  /** A warning about what is done now: that a standby does not have it, say, which the answer does not tell. */
  let warning: string | undefined

  function destroy(reason: PostgresUnavailable): void {
    brokenBecause ??= reason
    broken.resolve(brokenBecause)
    // Never asked to cancel what it does: a commit that is cancelled is answered as if it was done (docs/adr/0018).
    client.connection.stream.destroy()
  }

  // Also where nobody waits for an answer. Without a listener the process would end.
  client.on('error', (cause) => destroy(unavailable(host, cause)))
  client.on('end', () => destroy(unavailable(host, new Error('the connection was closed'))))
  // Whether it is a warning says its code alone: its severity is a word in the server's language.
  client.on('notice', ({ code, message }) => {
    if (code !== SUCCESSFUL_COMPLETION) warning = message
  })
  await client.connect().catch((cause) => {
    destroy(unavailable(host, cause))
    throw brokenBecause
  })

  async function ask<Row extends unknown[]>(text: string, values: unknown[], timeout: number): Promise<Row[]> {
    if (brokenBecause) throw brokenBecause
    warning = undefined
    // A moment later: where this process itself stood still, the answer may be there already.
    let moment: NodeJS.Immediate | undefined
    const timer = setTimeout(() => {
      moment = setImmediate(giveUp)
    }, timeout)
    function giveUp(): void {
      destroy(unavailable(host, new Error(`no answer within ${timeout} ms`), { isSilent: true }))
    }
    // Without a name: named statements need a PgBouncer that knows them (docs/adr/0018).
    const query = { text, values, rowMode: 'array', types: { getTypeParser: parserOf } } as const
    const answer = client.query<Row>(query).finally(() => {
      clearTimeout(timer)
      clearImmediate(moment)
    })
    try {
      const { rows } = await answer
      // After a failure each word of it counts: what it says is done is done here, and maybe nowhere else.
      if (warning !== undefined) throw new Error(warning)
      return rows
    } catch (cause) {
      const error = brokenBecause ?? unavailable(host, cause as Error)
      if (endsSession(cause)) destroy(error)
      throw error
    }
  }

  return { host, ask, broken: broken.promise, destroy }
}

async function configOf(location: PostgresLocation, { host, port }: PostgresHost): Promise<ClientConfig> {
  const { database, user, tls } = location
  return {
    host,
    port,
    database,
    user,
    password: await passwordFor(location, { host, port }),
    // Not undefined, at which the driver would look at PGSSLMODE.
    ssl: tls ? { ca: await certificateOf(tls) } : false,
    application_name: 'token-server',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  }
}

/** Undefined: the authorities that Node.js trusts. */
async function certificateOf({ rootCertificateFile: file }: Tls): Promise<string | undefined> {
  if (file === undefined) return undefined
  return readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new OperatorError(`The file of sslrootcert, ${resolve(file)}, cannot be read: ${cause.code}.`)
  })
}

/** The types of PostgreSQL that are not handed on as text, by their object ids in its catalogue. */
const BOOLEAN = 16
const BIGINT = 20
const INTEGER = 23
const DOUBLE = 701
const NUMERIC = 1700

/** How a value of this type is made of the text that PostgreSQL sends. Every number here is below 2^53. */
function parserOf(type: number): (text: string) => unknown {
  if (type === BIGINT || type === INTEGER || type === DOUBLE || type === NUMERIC) return Number
  if (type === BOOLEAN) return toBoolean
  return toText
}

/** An array of ids or numbers, in the form in which PostgreSQL reads it. */
export function arrayOf(items: readonly unknown[]): string {
  return `{${items.map((item) => item ?? 'NULL').join(',')}}`
}

function toBoolean(text: string): boolean {
  return text === 't'
}

function toText(text: string): string {
  return text
}

/** The same for names that strangers send. One with NUL, which PostgreSQL cannot hold, is left out: nothing has it. */
export function textArrayOf(names: Iterable<string>): string[] {
  return [...names].filter((name) => !name.includes('\0'))
}
