import { DatabaseError } from 'pg'
import type { PostgresHost } from '../../domain/database-location.ts'
import { StoreUnavailable } from '../../domain/store.ts'

const LOCK_TIMEOUT = '55P03'
const DEADLOCK = '40P01'

/** What an operator can do about an error, by its SQLSTATE. */
const ADVICE: Record<string, string> = {
  '28000': 'look at pg_hba.conf',
  '28P01': 'look at DATABASE_PASSWORD_FILE, PGPASSWORD or PGPASSFILE',
  '3D000': 'create the database',
  '42501': 'the role needs more rights; tables are made and changed by the owner: run migrate as that',
  '42P01': 'a table is missing: run migrate',
  '53100': 'its disk is full',
  '53300':
    'too many connections: raise max_connections, or the CONNECTION LIMIT of the role, or use fewer nodes or workers',
  '25006': 'it is read-only',
  [LOCK_TIMEOUT]: 'another node or command is changing the same, or a pg_dump uses it: wait until that has ended',
}

/** In the driver's message where the server asks for a password and there is none. */
const NO_PASSWORD = 'client password must be a string'

/** Data that the program or a stranger has sent: PostgreSQL repeats it in its message, and logs must not. */
const DATA_EXCEPTION = '22'

/** A server could not do something, and why. */
export class PostgresUnavailable extends StoreUnavailable {
  /** Whether it did not answer. It may be at work still. */
  readonly isSilent: boolean
  /** Whether to try again is no use: the settings are wrong. */
  readonly isWrong: boolean
  /** The SQLSTATE, where the server has answered. */
  readonly code: string | undefined

  constructor(message: string, { isSilent = false, code = undefined as string | undefined, isWrong = false } = {}) {
    super(message)
    this.isSilent = isSilent
    this.code = code
    this.isWrong = isWrong
  }
}

/** The error for what a server, or the way to it, has answered. */
export function unavailable(
  { host, port }: PostgresHost,
  error: Error,
  { isSilent = false } = {},
): PostgresUnavailable {
  // Of a name with several addresses: one for each.
  const cause: Error = error instanceof AggregateError ? error.errors[0] : error
  const code = cause instanceof DatabaseError ? cause.code : undefined
  const text = cause.message
  const advice = ADVICE[text.includes(NO_PASSWORD) ? '28P01' : (code ?? '')]
  const message = `PostgreSQL at ${host}:${port}: ${said(text, code)}${advice ? ` (${advice})` : ''}`
  // The cause is not kept. The message says what it says, and it has details, such as values of rows, that the log would print.
  return new PostgresUnavailable(message, { isSilent, code, isWrong: isWrong(cause, code) })
}

function said(text: string, code: string | undefined): string {
  if (text.includes(NO_PASSWORD)) return 'it asks for a password, and there is none'
  if (code === undefined) return text
  return code.startsWith(DATA_EXCEPTION) ? `error ${code}` : `${code}, ${text}`
}

/** Whether a connection is refused for the settings: password, database, certificate. */
function isWrong(cause: Error, code: string | undefined): boolean {
  if (code !== undefined) return /^(28|3D)/.test(code)
  if (cause.message.includes('does not support SSL') || cause.message.includes(NO_PASSWORD)) return true
  // Errors of TLS have a code as those of the network have, but no system call.
  return 'code' in cause && !('syscall' in cause)
}

/** Whether others kept a lock for too long, so that it is worth trying again. */
export function isLockedOut(error: unknown): boolean {
  return error instanceof PostgresUnavailable && (error.code === LOCK_TIMEOUT || error.code === DEADLOCK)
}

/**
 * Whether another session may be better than this one after an error: the server ends, is not the primary any more, or it is
 * not known what it did.
 */
export function endsSession(cause: unknown): boolean {
  if (!(cause instanceof DatabaseError)) return true
  // By the code, and not by its severity, which is a word in the server's language.
  const code = String(cause.code)
  return code === '25006' || code.startsWith('57P') || code.startsWith('08')
}
