import type { Author } from './audit-event.ts'
import type { ChangeEvent } from './change.ts'
import type { OperatorReason } from './operator.ts'
import type { AuthenticationReason, CheckReason, RequestReason } from './reasons.ts'

/**
 * Everything that happens that an operator may want to know of: said once, where it happens, and observed by the log (and
 * whatever else observes). An event has no secret, no token and no text of a request but what its fields name.
 */
export type Event = TokenEvent | RequestEvent | AdministrationEvent | ServerEvent | Measurement

/** Receives each event as it happens. Must not throw, and must not wait. */
export type Observer = (event: Event) => void

/** Who asked for what happened, and how to find the request elsewhere. */
interface Asked {
  /** What the caller calls the request, or what this server calls it: the answer's X-Request-Id. */
  requestId: string
  /** The trace that the request is a part of: 32 hex characters (W3C Trace Context §3.2.2.3). */
  traceId?: string | undefined
  remoteAddress: string
}

interface TokenIssued extends Asked {
  type: 'token issued'
  clientId: string
  /** The token's public id, a UUID. */
  tokenId: string
  /** Which of the client's secrets proved it, as `secrets list` shows it. */
  secretId: number
}

/** A check that ended with another answer than yes: the gateway check or introspection. */
interface TokenRefused extends Asked {
  type: 'token refused'
  reason: CheckReason
  /** Undefined: the gateway named none, or one that does not exist. */
  suite: string | undefined
  clientId: string | undefined
  tokenId: string | undefined
  method?: string | undefined
  /** The route's pattern. */
  endpoint?: string | undefined
  /** Where the suite does not exist: the words of the path. */
  path?: string | undefined
}

/** A check that ended with yes: the gateway check or introspection. Only for who asked for details. */
interface TokenAccepted extends Asked {
  type: 'token accepted'
  suite: string | undefined
  clientId: string
  tokenId: string
}

type TokenEvent =
  | TokenIssued
  | TokenAccepted
  | TokenRefused
  | (Asked & { type: 'token revoked'; clientId: string; tokenId: string })
  /** More than anybody needs who uses a token until it expires. `hour`: when it began, RFC 3339. */
  | { type: 'many tokens issued'; clientId: string; hour: string }
  /** Requests were refused: see `quota refusal`. */
  | { type: 'token quota exceeded'; clientId: string; hour: string }
  /** The token to revoke is unknown, another client's or revoked already; RFC 7009 §2.2 answers 200 all the same. */
  | (Asked & { type: 'nothing to revoke'; clientId: string })

interface RefusedRequest extends Asked {
  status: number
  /** The route's pattern, never the path as it came; undefined where there is no route. */
  endpoint: string | undefined
  /** Undefined: it could not be read. */
  method?: string | undefined
  /** Where there is no route: the words of the path. */
  path?: string | undefined
}

type RequestEvent =
  | (RefusedRequest & {
      type: 'authentication refused'
      reason: AuthenticationReason | 'no credentials'
      /** Undefined: no client id came. Of an unknown one the beginning and the length. */
      clientId: string | undefined
    })
  | (RefusedRequest & {
      type: 'request refused'
      reason: RequestReason
      /** The name of the form field that is wrong, where this server knows it. */
      field: string | undefined
      /** The client id that was sent, if it is registered. */
      clientId?: string | undefined
      /** The suite that the request is about, if it is known. */
      suite?: string | undefined
    })
  /** Answered with 5xx. */
  | (RefusedRequest & { type: 'request failed'; reason: RequestReason; err: unknown })

/** What is counted and has no line in the log: it happens all the time. Durations are in seconds. */
export type Measurement =
  /** All of an answer has left. `endpoint`: the route's pattern, or `other`. `seconds`: undefined where there was no request. */
  | { type: 'request answered'; endpoint: string; status: number; seconds: number | undefined }
  /** The client was gone before all of the answer had left. */
  | { type: 'request abandoned'; endpoint: string; seconds: number }
  /** One connection, because of a limit. */
  | { type: 'connection closed'; reason: ClosingReason }
  /** A check ended with yes. */
  | { type: 'check passed' }
  /** An authenticated application has no tokens left in this hour. The log has `token quota exceeded`, once. */
  | (RefusedRequest & { type: 'quota refusal'; clientId: string })
  /** One transaction of the store, with so many writes of tokens. */
  | { type: 'batch written'; size: number; seconds: number }
  /** One fsync. */
  | { type: 'disk synced'; seconds: number }
  /** One statement to a database over the network, and its answer. */
  | { type: 'round trip'; kind: RoundTrip; seconds: number }
  /** They had expired. */
  | { type: 'tokens purged'; count: number }
  /** Another worker serves in the place of one. */
  | { type: 'worker replaced'; reason: ReplacementReason }

/** There are so many that one is made for all. */
export const CHECK_PASSED: Measurement = { type: 'check passed' }

export const ROUND_TRIPS = ['read', 'write', 'command'] as const

type RoundTrip = (typeof ROUND_TRIPS)[number]

/** Why a worker gets a successor. */
export const REPLACEMENT_REASONS = ['exited', 'silent', 'rolling restart'] as const

type ReplacementReason = (typeof REPLACEMENT_REASONS)[number]

/** The admin listener refused a request, because its sender was not authenticated or not authorized. */
interface OperatorRefused {
  type: 'operator refused'
  reason: OperatorReason
  /** The operator's name, if known. */
  operator?: string | undefined
  /** The id of the expired or revoked admin key. */
  keyId?: number | undefined
  requestId: string
  remoteAddress: string
}

/** A change that an operator made, and who did it. */
type AdministrationEvent = OperatorRefused | ((ChangeEvent | Copying) & Author)

/** `file`: as the operator named it; -: standard output or input. */
type Copying =
  | { type: 'backup made'; file: string; withoutTokens: boolean }
  /** `replaced`: where that is what was there before. */
  | { type: 'database restored'; file: string; replaced: string | undefined; revokeAllTokens: boolean }
  /** `movedTo`: where it was copied to, with how many of each. */
  | { type: 'database copied'; database: string; movedTo: string; applications: number; suites: number; tokens: number }
  /** It can be changed again where it is. */
  | { type: 'database reopened'; database: string; movedTo: string }

/** Why connections are closed. */
export const CLOSING_REASONS = [
  'too many connections',
  'too many connections of one address',
  'too many unanswered requests',
  'answers not taken',
] as const

export type ClosingReason = (typeof CLOSING_REASONS)[number]

/** A listener besides the public one. */
export type ListenerName = 'admin' | 'ops'

type ServerEvent =
  /** `database`: the store's place. `previous`: that of the one that is asked, too. `workers` is there where there are several. */
  | {
      type: 'ready'
      version: string
      address: string
      /** That of the ops listener, where there is one. */
      ops?: string | undefined
      /** Address of the admin listener, if there is one. */
      admin?: string | undefined
      database: string
      previous?: string | undefined
      workers?: number
    }
  /** The store was copied, and what serves it should be the copy: its registry cannot be changed. */
  | { type: 'database has moved'; movedTo: string }
  /** Its last token has expired: the setting is not needed any more. */
  | { type: 'previous database closed'; database: string; setting: 'PREVIOUS_DATABASE_URL' }
  | { type: 'stopping'; signal?: string | undefined }
  | { type: 'stopped' }
  /**
   * Refusals that were not said one by one, for this address prefix got very many: how many in so many seconds, and how
   * many of them were refused for their number. `others`: further prefixes.
   */
  | { type: 'refusals not logged'; prefix: string; count: number; throttled: number; seconds: number }
  /** Because of a limit; `connections` is how many, and the address that of the last one. */
  | {
      type: 'connections closed'
      reason: ClosingReason
      /** Undefined: the public one. */
      listener?: ListenerName | undefined
      connections: number
      remoteAddress: string | undefined
    }
  /** All clients behind this private address seem to be one, until the setting names it. Said once. */
  | { type: 'proxy not trusted'; remoteAddress: string; setting: 'TRUST_PROXY' }
  | { type: 'restarting' | 'restarted' }
  /** A new worker did not start: the old ones that are left go on. */
  | { type: 'rolling restart failed'; err: unknown }
  /** They have other values in `.env` than at the start, which the workers do not get. */
  | { type: 'settings not applied'; settings: readonly string[] }
  /** The next start will not have them: a sentence for each mistake. */
  | { type: 'settings wrong'; problems: readonly string[] }
  /** Another one is started. `err`: what it said at its end, or why another one did not start. */
  | {
      type: 'worker exited unexpectedly'
      worker?: number | undefined
      code?: number | null
      signal?: string | null
      err?: unknown
    }
  /** It does not answer its leader, and is killed. */
  | { type: 'worker silent'; worker: number | undefined }
  /** Text on its standard error, such as a warning of Node.js. */
  | { type: 'worker printed'; worker: number | undefined; text: string }
  /** It is tried again. */
  | { type: 'purge failed'; err: unknown }
  /** Last uses and counts of tokens; it is tried again. */
  | { type: 'usage not recorded'; err: unknown }
  /** The last refusals, for `why`; it is tried again. */
  | { type: 'refusals not recorded'; err: unknown }
  /** Once a minute while it lasts: what the store could not tidy up, in bytes, and why. */
  | { type: 'store backlog'; bytes: number; cause: string }
  | { type: 'store backlog cleared' }
  /** Forwards, or backwards where `seconds` is negative. The purge pauses. */
  | { type: 'clock jumped'; seconds: number }
  /** No request that needs it can be answered, until it is found; `host` is the server that is the primary now. */
  | { type: 'database lost'; err: unknown }
  | { type: 'database found'; host: string }
  /** Once a minute while it lasts: the database's clock is so many seconds ahead, or behind where that is negative. */
  | { type: 'clock differs'; seconds: number }
  | { type: 'clock agrees' }
  /** The same failure as in a line before, `count` times since. `message`: the error's. */
  | { type: 'request failures repeated'; reason: RequestReason; message: string; count: number }
  /** There was no room for them: nobody read the log, or its disk was full. */
  | { type: 'log lines dropped'; count: number }
  /** A bug: the process ends. */
  | { type: 'unexpected error'; err: unknown }
  /** The process ends before its work is done: a second signal, a deadline, an error while closing. */
  | { type: 'shutdown cut short'; err: unknown }
