import type { Author } from './audit-event.ts'
import type { ChangeEvent } from './change.ts'
import type { OperatorReason } from './operator.ts'
import type { AuthenticationReason, CheckReason, ReportedReason, RequestReason } from './reasons.ts'

/**
 * What operators may want to know about. Each event is reported once, where it happens, and observed by the log and the metrics.
 * It contains no secret and no token, and no text of a request except where a field is meant for it.
 */
export type Event = TokenEvent | RequestEvent | AdministrationEvent | ServerEvent | Measurement

/** Receives each event as it happens. Must not throw, and must not wait. */
export type Observer = (event: Event) => void

interface RequestSource {
  /** The id that the caller gave, or that this server generated: the X-Request-Id of the answer. */
  requestId: string
  /** 32 hex characters (W3C Trace Context §3.2.2.3). */
  traceId?: string | undefined
  remoteAddress: string
}

type RequestContext = RequestSource & Partial<Pick<RefusedRequest, 'method' | 'endpoint' | 'path'>>

/** A failed gateway check or introspection. It has a path if the suite does not exist. */
interface TokenRefused extends RequestContext {
  type: 'token refused'
  reason: CheckReason
  /** Undefined if the gateway named none, or one that does not exist. */
  suite: string | undefined
  clientId: string | undefined
  tokenId: string | undefined
}

type TokenEvent =
  /** `tokenId`: the public id, a UUID. `secretId`: as in `secrets list`. */
  | (RequestSource & {
      type: 'token issued'
      clientId: string
      tokenId: string
      secretId: number
      /** The only suite where it is valid, if the request named its URL. */
      suite?: string | undefined
      /** Undefined if the credentials were in the body. `jwt`: in a client assertion. */
      authentication?: 'basic' | 'jwt' | undefined
    })
  /** A successful check, which is logged only at the level debug. */
  | (RequestSource & { type: 'token accepted'; suite: string | undefined; clientId: string; tokenId: string })
  | TokenRefused
  | (RequestSource & { type: 'token revoked'; clientId: string; tokenId: string })
  /** More tokens than a client that reuses them needs, or more than its quota. `hour`: when the hour began, in RFC 3339. */
  | { type: 'many tokens issued' | 'token quota exceeded'; clientId: string; hour: string }
  /** The token to revoke is unknown, another client's, or already revoked. The answer is still 200 (RFC 7009 §2.2). */
  | (RequestSource & { type: 'nothing to revoke'; clientId: string })

interface RefusedRequest extends RequestSource {
  status: number
  /** The route's pattern, never the path of the request; undefined without a route. */
  endpoint: string | undefined
  /** Undefined if it could not be read. */
  method?: string | undefined
  /** If there is no route: the path, with `*` for what may be a secret. */
  path?: string | undefined
}

type RequestEvent =
  | (RefusedRequest & {
      type: 'authentication refused'
      reason: AuthenticationReason | 'no credentials'
      /** Abbreviated if unknown; undefined if none was sent. */
      clientId: string | undefined
      /** What exactly was wrong: never a secret. */
      detail?: string | undefined
    })
  | (RefusedRequest & {
      type: 'request refused'
      reason: RequestReason
      /** The name of the wrong form field, if it is a known one. */
      field: string | undefined
      /** Set only if it is registered. */
      clientId?: string | undefined
      /** Set only if it is registered. */
      suite?: string | undefined
    })
  /** It was not refused, because an operator has that only reported. */
  | (RequestContext & { type: 'request would be refused'; reason: ReportedReason; clientId: string })
  /** Answered with 5xx. */
  | (RefusedRequest & { type: 'request failed'; reason: RequestReason; err: unknown })

/** Counted but not logged, because they are too frequent. Durations are in seconds. */
export type Measurement =
  /** The answer was sent. `endpoint`: the route's pattern, or `other`. `seconds`: undefined if there was no request. */
  | { type: 'request answered'; endpoint: string; status: number; seconds: number | undefined }
  /** The client closed the connection before the answer was sent. */
  | { type: 'request abandoned'; endpoint: string; seconds: number }
  | { type: 'connection closed'; reason: ClosingReason }
  | { type: 'check passed' }
  /** An authenticated application has used up its quota for this hour. Logged only once, as `token quota exceeded`. */
  | (RefusedRequest & { type: 'quota refusal'; clientId: string })
  /** One transaction of the store. `size`: its writes of tokens. */
  | { type: 'batch written'; size: number; seconds: number }
  | { type: 'disk synced'; seconds: number }
  /** One statement to a database over the network, and its answer. */
  | { type: 'round trip'; kind: (typeof ROUND_TRIPS)[number]; seconds: number }
  | { type: 'tokens purged'; count: number }
  | { type: 'worker replaced'; reason: (typeof REPLACEMENT_REASONS)[number] }

/** Shared, to avoid an allocation per check. */
export const CHECK_PASSED: Measurement = { type: 'check passed' }

export const ROUND_TRIPS = ['read', 'write', 'command'] as const

export const REPLACEMENT_REASONS = ['exited', 'silent', 'rolling restart'] as const

/** A change by an operator, or a request that the admin listener did not authenticate or authorize. */
type AdministrationEvent =
  | ((ChangeEvent | DatabaseEvent) & Author)
  | (Pick<RequestSource, 'requestId' | 'remoteAddress'> & {
      type: 'operator refused'
      reason: OperatorReason
      operator?: string | undefined
      /** The id of the expired or revoked admin key. */
      keyId?: number | undefined
      /** What went wrong between this server and the identity provider. */
      detail?: string | undefined
    })

/** `file`: as the operator wrote it; `-`: standard output or input. */
type DatabaseEvent =
  /** `rows`: how many were sent. */
  | { type: 'list exported'; list: string; format: 'csv' | 'json'; rows: number; complete: boolean }
  | { type: 'backup made'; file: string; withoutTokens: boolean }
  /** `replaced`: the file that keeps the replaced database. */
  | { type: 'database restored'; file: string; replaced: string | undefined; revokeAllTokens: boolean }
  | { type: 'database copied'; database: string; movedTo: string; applications: number; suites: number; tokens: number }
  /** A copied database can be changed again. */
  | { type: 'database reopened'; database: string; movedTo: string }

export const AUDIT_ACTIONS = [
  ...(['application registered', 'application updated', 'application suspended', 'application resumed'] as const),
  ...(['application removed', 'application approved', 'approval withdrawn', 'all tokens revoked'] as const),
  ...(['suite registered', 'suite updated', 'suite removed', 'change undone'] as const),
  ...(['secret rotated', 'secret added', 'secret revoked'] as const),
  ...(['hand-over link made', 'hand-over link used', 'hand-over link withdrawn'] as const),
  ...(['operator added', 'operator updated', 'operator removed'] as const),
  ...(['operator key added', 'operator key revoked'] as const),
  ...(['login link made', 'operator logged in', 'session ended', 'warning acknowledged'] as const),
  ...(['database restored', 'database copied', 'database reopened'] as const),
] satisfies AdministrationEvent['type'][]

export const CLOSING_REASONS = [
  'too many connections',
  'too many connections of one address',
  'too many unanswered requests',
  'answers not taken',
  'TLS handshake failed',
] as const

export type ClosingReason = (typeof CLOSING_REASONS)[number]

/** A listener besides the public one. */
export type ListenerName = 'admin' | 'ops'

/** The listeners that can speak TLS. */
export const CERTIFIED_LISTENERS = ['public', 'admin', 'ops'] as const

export type CertifiedListener = (typeof CERTIFIED_LISTENERS)[number]

/** `matter`: what the notice is about; `host`: the receiver's, undefined if that is not known. */
type NoticeSource = Record<'noticeId' | 'event', string> & Record<'matter' | 'host', string | undefined>

type ServerEvent =
  /** `ops` and `admin` are the addresses of these listeners, `previous` is the store that was moved. */
  | {
      type: 'ready'
      version: string
      address: string
      ops?: string | undefined
      admin?: string | undefined
      database: string
      previous?: string | undefined
      workers?: number
    }
  | { type: 'database created'; database: string }
  /** The store was copied, so its registry cannot be changed: the server should use the copy. */
  | { type: 'database has moved'; movedTo: string }
  /** The database's settings, as `name=value`, with which a crash or a failover can lose committed changes. */
  | { type: 'database may lose data'; settings: readonly string[] }
  /** Its last token has expired: the setting can be removed. */
  | { type: 'previous database closed'; database: string; setting: 'PREVIOUS_DATABASE_URL' }
  | { type: 'stopping'; signal?: string | undefined }
  | { type: 'stopped' | 'restarting' | 'restarted' }
  /**
   * Refusals that were not logged one by one, because this address prefix caused too many. `throttled`: how many of them were
   * answered with 429. The prefix `others` stands for the rest if there are too many prefixes.
   */
  | { type: 'refusals not logged'; prefix: string; count: number; throttled: number; seconds: number }
  /** Closed because of a limit. `listener` is undefined for the public one. `remoteAddress` is that of the last connection. */
  | {
      type: 'connections closed'
      reason: ClosingReason
      listener?: ListenerName | undefined
      connections: number
      remoteAddress: string | undefined
    }
  /** New connections get the certificate that the files of the listener contain now. */
  | { type: 'certificate loaded'; listener: CertifiedListener; endsAt: string }
  /** What the files contain cannot be used, so the last certificate is used on. `problem`: why, in a sentence. */
  | { type: 'certificate refused'; listener: CertifiedListener; problem: string }
  /** Once a day, from 14 days before the end of the certificate that is used. */
  | { type: 'certificate ends'; listener: CertifiedListener; endsAt: string }
  /** All clients behind this private address count as one, until the setting names it. Reported once. */
  | { type: 'proxy not trusted'; remoteAddress: string; setting: 'TRUST_PROXY' }
  /** Settings that have changed in `.env` since the start. Workers do not get the new values. */
  | { type: 'settings not applied'; settings: readonly string[] }
  /** A sentence for each mistake that the next start would report. */
  | { type: 'settings wrong'; problems: readonly string[] }
  /** A successor is started. `err`: the worker's last output, or why a successor did not start. */
  | {
      type: 'worker exited unexpectedly'
      worker?: number | undefined
      code?: number | null
      signal?: string | null
      err?: unknown
    }
  /** It does not answer its leader, so it is killed. */
  | { type: 'worker silent'; worker: number | undefined }
  /** Text on its standard error, such as a warning of Node.js. */
  | { type: 'worker printed'; worker: number | undefined; text: string }
  /** Each of these is retried. */
  | { type: 'purge failed' | 'usage not recorded' | 'refusals not recorded' | 'notices not recorded'; err: unknown }
  /** The keys of an issuer of federated credentials have changed, or could be fetched again. `keys`: how many there are. */
  | { type: 'issuer keys fetched'; issuer: string; keys: number }
  /** `fetchedAt`: when those that are used on were fetched, in RFC 3339; undefined if there are none. */
  | { type: 'issuer keys not fetched'; issuer: string; problem: string; fetchedAt: string | undefined }
  /** The newest audit event, at the start and once a day. `at`: its time, and `madeAt`: that of this line, in RFC 3339. */
  | { type: 'audit head'; id: number; at: string; hash: string; madeAt: string; signature?: string | undefined }
  | ({ type: 'notice delivered' } & NoticeSource)
  /** `nextAt`: when it is tried again, in RFC 3339; undefined if it is given up. */
  | ({ type: 'notice not delivered'; problem: string; nextAt: string | undefined } & NoticeSource)
  /** A new worker did not start; the remaining old ones continue. */
  | { type: 'rolling restart failed'; err: unknown }
  /** Reported once a minute while it lasts: how many bytes the store could not reclaim, and why. */
  | { type: 'store backlog'; bytes: number; cause: string }
  | { type: 'store backlog cleared' | 'clock agrees' }
  /** The clock jumped forwards, or backwards if `seconds` is negative. The purge pauses. */
  | { type: 'clock jumped'; seconds: number }
  /** The database cannot be used until it is found again. `host`: the current primary. */
  | { type: 'database lost'; err: unknown }
  | { type: 'database found'; host: string }
  /** Reported once a minute while it lasts: how many seconds the database's clock is ahead, or behind if negative. */
  | { type: 'clock differs'; seconds: number }
  /** Repetitions of a logged failure. `message`: the error's. */
  | { type: 'request failures repeated'; reason: RequestReason; message: string; count: number }
  /** The buffer was full: nothing read the log, or its disk was full. */
  | { type: 'log lines dropped'; count: number }
  /** `unexpected error` is a bug, which ends the process. `shutdown cut short`: by a second signal, a deadline, or an error. */
  | { type: 'unexpected error' | 'shutdown cut short'; err: unknown }
