/** The error codes that this server sends: RFC 6749 §5.2 and, for its own failures, §4.1.2.1; RFC 6750 §3.1. */
export type RefusalCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'unsupported_grant_type'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'temporarily_unavailable'
  | 'server_error'

/** What the log is told of a refusal: the truth, and nothing that could be a secret. */
export interface RefusalLog {
  reason: string
  client_id?: string | undefined
  token_id?: string | undefined
  suite?: string
  err?: unknown
}

/**
 * A request that is refused. `description` goes to the caller, `log` to the log alone. It has no stack: it tells what a
 * caller did and not where the program failed, and collecting a stack took a sixth of the CPU of a refusal.
 */
export class Refusal extends Error {
  readonly code: RefusalCode
  readonly description: string
  readonly log: RefusalLog

  constructor(code: RefusalCode, description: string, log: RefusalLog = { reason: description }) {
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(description)
    Error.stackTraceLimit = stackTraceLimit
    this.code = code
    this.description = description
    this.log = log
  }
}

/** An administrator asked for what cannot be done; the message says why in one sentence. Nothing was changed. */
export class AdministrationError extends Error {
  override readonly name = 'AdministrationError'
}
