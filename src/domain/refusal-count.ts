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
