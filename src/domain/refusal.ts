import type { AuthenticationReason, RequestReason } from './reasons.ts'

/** A refused request. Its stack is not collected: that is expensive (docs/performance), and the fault is the caller's. */
export class Refusal<Reason extends string = string> extends Error {
  /** For the log. */
  readonly reason: Reason

  constructor(reason: Reason) {
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(reason)
    Error.stackTraceLimit = stackTraceLimit
    this.reason = reason
  }
}

/** A client that is not authenticated, RFC 6749 §5.2 `invalid_client`, or a hand-over link that is not valid. */
export class AuthenticationRefused extends Refusal<AuthenticationReason> {
  /** Abbreviated if it is not registered; undefined for a link. */
  readonly clientId: string | undefined
  /** What exactly was wrong, for the log: never a secret. */
  readonly detail: string | undefined

  constructor(reason: AuthenticationReason, clientId?: string, detail?: string) {
    super(reason)
    this.clientId = clientId
    this.detail = detail
  }
}

export class RequestRefused extends Refusal<RequestReason> {
  readonly details: RefusalDetails

  constructor(reason: RequestReason, details: RefusalDetails = {}) {
    super(reason)
    this.details = details
  }
}

export interface RefusalDetails {
  /** The wrong form field, the allowed methods, or the kind of client: for the description in the answer. */
  field?: string
  /** Whether this server knows the field. The name of an unknown field is not logged: it may be a secret. */
  isKnownField?: boolean
  /** Set only if it is registered. */
  clientId?: string | undefined
  /** Set only if it is registered. */
  suite?: string | undefined
  headers?: Record<string, string>
  /** The Retry-After header, in seconds. */
  retryAfter?: number
}

/**
 * Refusals of one client for one reason, at one endpoint, about one suite, from one address. A check of a token that belongs to
 * no known application counts for the suite.
 */
export interface RefusalCount {
  /** Abbreviated if it is not registered. */
  readonly clientId: string
  readonly isKnown: boolean
  readonly reason: string
  /** The route's pattern. */
  readonly endpoint: string
  /** Undefined if none was named, or one that does not exist. */
  readonly suite: string | undefined
  /** Empty for checks that count for the suite. */
  readonly remoteAddress: string
  readonly count: number
  readonly firstAt: number
  readonly lastAt: number
  /** What exactly was wrong with the last request. */
  readonly detail: string | undefined
  /** The id of the last request. */
  readonly requestId: string | undefined
  readonly traceId: string | undefined
}

export interface RefusedClient extends Pick<RefusalCount, 'reason' | 'count' | 'firstAt' | 'lastAt'> {
  readonly kind: 'application' | 'suite'
  /** Client id or suite id. */
  readonly id: string
  readonly name: string
  /** The suite that was asked for; empty for none. */
  readonly suite: string
}

/** Later requests have higher ids. */
export interface RefusedRequest {
  readonly id: number
  readonly at: number
  readonly requestId: string
  readonly reason: string
  readonly endpoint: string
  /** Abbreviated if it is not registered. */
  readonly clientId: string | null | undefined
  readonly kind: 'application' | 'suite' | null
  readonly name: string | null | undefined
  readonly suite: string | null | undefined
  readonly remoteAddress: string
  /** What exactly was wrong. */
  readonly detail: string | null | undefined
}

export type NewRefusedRequest = Omit<RefusedRequest, 'id' | 'kind' | 'name'> & Pick<RefusalCount, 'isKnown'>

/** The routes of the public port; `other`: a request that matches none. */
export const ENDPOINTS = [
  '/v1/oauth/accesstoken',
  '/v1/oauth/introspect',
  '/v1/oauth/revoke',
  '/v1/oauth/verify',
  '/v1/oauth/verify/:suite',
  '/v1/oauth/authorize',
  '/.well-known/oauth-authorization-server',
  '/.well-known/oauth-protected-resource/:suite',
  '/health/live',
  '/health/ready',
  '/hand-over',
  'other',
] as const

/** What refused requests can be filtered by, besides the request id: the names of their fields. */
export const REFUSAL_FILTERS = ['client_id', 'reason', 'suite', 'endpoint', 'remote_address'] as const

/** An omitted field matches every request. */
export interface RefusedRequestFilter
  extends Partial<Pick<RefusedRequest, 'requestId' | 'clientId' | 'reason' | 'suite' | 'endpoint' | 'remoteAddress'>> {
  /** In any case. Not with `requestId`. */
  readonly requestIdBeginning?: string | undefined
  readonly since?: number | undefined
  /** Only requests before this time. */
  readonly until?: number | undefined
  /** Only requests older than this one, the last of the previous page. */
  readonly before?: RefusedRequest['id'] | undefined
  readonly limit: number
}

/** How many refused requests the store keeps: of registered clients, and of all other callers, who can send any number. */
export const MAX_REFUSED_REQUESTS = 5000

/**
 * How many of them a process keeps between two flushes: per registered client or, for other callers, per address; and in total,
 * once for registered clients and once for other callers.
 */
export const MAX_LISTED = { party: 20, all: 100 }

/** Refusal counts kept per application or suite, and as many that are only reported; and for all unregistered client ids together. */
export const MAX_REFUSALS = { known: 20, unknown: 100 }

/** How often a server stores its refusal counts, in milliseconds: often, to keep the command `why` up to date. */
export const REFUSALS_INTERVAL_MS = 5000
