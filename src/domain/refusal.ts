import type { AuthenticationReason, RequestReason } from './reasons.ts'

/**
 * A request that is refused. It has no stack: it says what a caller did and not where the program failed, and collecting
 * a stack is expensive (docs/performance).
 */
export class Refusal<Reason extends string = string> extends Error {
  /** The true reason, for the log. */
  readonly reason: Reason

  constructor(reason: Reason) {
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(reason)
    Error.stackTraceLimit = stackTraceLimit
    this.reason = reason
  }
}

/** A client that is not authenticated, RFC 6749 §5.2 `invalid_client`. */
export class AuthenticationRefused extends Refusal<AuthenticationReason> {
  /** The client id as far as the log may have it. */
  readonly clientId: string

  constructor(reason: AuthenticationReason, clientId: string) {
    super(reason)
    this.clientId = clientId
  }
}

/** A request that is refused for another reason. */
export class RequestRefused extends Refusal<RequestReason> {
  readonly details: RefusalDetails

  constructor(reason: RequestReason, details: RefusalDetails = {}) {
    super(reason)
    this.details = details
  }
}

export interface RefusalDetails {
  /** The name of the form field that is wrong, as the caller is told it; or the methods that are right. */
  field?: string
  /** Whether that is a name of this server's. Another one is not logged: it may be a secret. */
  isKnownField?: boolean
  /** The client that asks: one that is registered. */
  clientId?: string | undefined
  /** The suite that the request is about: one that is registered. */
  suite?: string | undefined
  headers?: Record<string, string>
  /** When it makes sense to try again. Seconds. */
  retryAfter?: number
}

/** Refusals of one client for one reason, at one endpoint, about one suite, from one address. */
export interface RefusalCount {
  /** As the log has it: whole where it is registered, else its beginning and length. */
  readonly clientId: string
  /** Whether it is an application's or a suite's. */
  readonly isKnown: boolean
  readonly reason: string
  /** The route's pattern. */
  readonly endpoint: string
  /** Undefined: the request was about none, or about one that does not exist. */
  readonly suite: string | undefined
  readonly remoteAddress: string
  readonly count: number
  /** The first and the last of them. Milliseconds since the epoch. */
  readonly firstAt: number
  readonly lastAt: number
  /** Of the last one. */
  readonly requestId: string | undefined
  readonly traceId: string | undefined
}

/** An application or a suite that was refused, and its last refusal. */
export interface RefusedClient {
  readonly kind: 'application' | 'suite'
  /** Client id or suite id. */
  readonly id: string
  readonly name: string
  readonly reason: string
  /** Milliseconds since the epoch. */
  readonly lastAt: number
}

/** How many of them are kept of an application or a suite, and of all client ids that are not registered. */
export const MAX_REFUSALS = { known: 20, unknown: 100 }

/** How often a server stores them, in milliseconds: somebody may be on the phone. */
export const REFUSALS_INTERVAL_MS = 5000
