import { DatabaseError } from 'pg'
import type { PostgresHost } from '../../domain/database-location.ts'
import { StoreUnavailable } from '../../domain/store.ts'

const LOCK_TIMEOUT = '55P03'
const DEADLOCK = '40P01'

/** How an operator can fix an error, by its SQLSTATE or the code of the network's error. */
const ADVICE: Record<string, string> = {
  ECONNREFUSED: 'no server listens there: start it, or correct the address in DATABASE_URL',
  ENOTFOUND: 'there is no such host: correct the address in DATABASE_URL',
  '28000': 'check pg_hba.conf',
  '28P01': 'check DATABASE_PASSWORD_FILE, PGPASSWORD or PGPASSFILE',
  '3D000': 'create the database',
  '42501': 'the role needs more rights; only the owner creates and changes tables: run migrate as the owner',
  '42P01': 'a table is missing: run migrate',
  '53100': 'its disk is full',
  '53300':
    'too many connections: raise max_connections, or the CONNECTION LIMIT of the role, or use fewer nodes or workers',
  '25006': 'it is read-only',
  [LOCK_TIMEOUT]: 'another node or command is changing the same data, or a pg_dump is reading it: wait until it ends',
}

/** Part of the driver's message if the server asks for a password and there is none. */
const NO_PASSWORD = 'client password must be a string'

/** The class of SQLSTATEs for errors in data. PostgreSQL quotes the data in the message, and logs must not contain it. */
const DATA_EXCEPTION = '22'

export class PostgresUnavailable extends StoreUnavailable {
  /** Whether the server failed to answer. It may still be running the statement. */
  readonly isSilent: boolean
  /** Whether the settings are wrong, so that retrying is useless. */
  readonly isMisconfigured: boolean
  /** The SQLSTATE, if the server has answered. */
  readonly code: string | undefined

  constructor(
    message: string,
    details: Partial<Pick<PostgresUnavailable, 'isSilent' | 'isMisconfigured' | 'code'>> = {},
  ) {
    super(message)
    this.isSilent = details.isSilent ?? false
    this.isMisconfigured = details.isMisconfigured ?? false
    this.code = details.code
  }
}

/** The error for a problem that a server reported, or for a failure to reach it. */
export function unavailable(
  { host, port }: PostgresHost,
  error: Error,
  { isSilent = false } = {},
): PostgresUnavailable {
  // A host name with several addresses fails with one error for each.
  const cause: Error = error instanceof AggregateError ? error.errors[0] : error
  const code = cause instanceof DatabaseError ? cause.code : undefined
  const lacksPassword = cause.message.includes(NO_PASSWORD)
  const advice = ADVICE[lacksPassword ? '28P01' : (code ?? (cause as NodeJS.ErrnoException).code ?? '')]
  const text = lacksPassword ? 'it asks for a password, and none is set' : describe(cause.message, code)
  const message = `PostgreSQL at ${host}:${port}: ${text}${advice ? ` (${advice})` : ''}`
  // Omits the cause, because its details, such as values of rows, would reach the log.
  return new PostgresUnavailable(message, { isSilent, code, isMisconfigured: isMisconfiguration(cause, code) })
}

function describe(message: string, code: string | undefined): string {
  if (code === undefined) return message
  return code.startsWith(DATA_EXCEPTION) ? `error ${code}` : `${code}, ${message}`
}

/** Whether a connection is refused because of the settings: password, database, certificate. */
function isMisconfiguration(cause: Error, code: string | undefined): boolean {
  if (code !== undefined) return /^(28|3D)/.test(code)
  if (cause.message.includes('does not support SSL') || cause.message.includes(NO_PASSWORD)) return true
  // TLS errors have a code, like network errors, but no system call.
  return 'code' in cause && !('syscall' in cause)
}

/** Whether others held a lock too long, so that retrying makes sense. */
export function isLockedOut(error: unknown): boolean {
  return error instanceof PostgresUnavailable && (error.code === LOCK_TIMEOUT || error.code === DEADLOCK)
}

/** Whether an error ends the session: the server shuts down or is no longer the primary, or the outcome is unknown. */
export function endsSession(cause: unknown): boolean {
  // Judged by the code: the severity is a word in the server's language.
  return !(cause instanceof DatabaseError) || /^(25006|57P|08)/.test(String(cause.code))
}
