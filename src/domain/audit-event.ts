import type { IdempotencyRecord } from './idempotency.ts'

/** Who makes a change, and from where. */
export interface Author {
  /** The operator's name; of the command line the operating system's user. */
  readonly actor: string
  readonly origin: 'command line' | 'API' | 'console'
  /** Where the request came from; of the command line the name of its machine. */
  readonly remoteAddress: string
  /** What the request is called in the log and in its answer; the command line has none. */
  readonly requestId?: string | undefined
}

/** What a store is told of each change besides the change: it keeps that in the same transaction, or makes no change. */
export interface Audit {
  readonly author: Author
  /** When it is made. Milliseconds since the epoch. */
  readonly at: number
  /** Where the change can be asked for again. Where it was made already, the store throws IdempotencyKeyTaken. */
  readonly idempotency?: IdempotencyRecord | undefined
}

export type SubjectKind = 'application' | 'suite' | 'operator' | 'database'

/** A change that was made, and by whom. */
export interface AuditEvent {
  /** Of two events in one store the later one has the higher id. */
  readonly id: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly actor: string
  readonly origin: Author['origin']
  readonly remoteAddress: string
  readonly requestId: string | undefined
  /** What the log calls it, such as `application suspended`. */
  readonly action: string
  /** `id`: the client id, the id of the suite, the name of the operator, or the place of the database. */
  readonly subject: { readonly kind: SubjectKind; readonly id: string }
  /** The public fields that differ, as they are shown: never a secret. Null: it was not there before. */
  readonly before: PublicFields | null
  /** Null: it is not there any more. */
  readonly after: PublicFields | null
}

/** What is shown of a subject, by the names that JSON has for it. */
export type PublicFields = Readonly<Record<string, unknown>>

/** Which events are asked for; what is left out is no condition. */
export interface AuditFilter {
  /** Those of this time and later. Milliseconds since the epoch. */
  readonly since?: number | undefined
  /** Those that were made before this one: the last one of the page before. */
  readonly before?: AuditEvent['id'] | undefined
  readonly actor?: string | undefined
  /** The id of the subject, of whatever kind. */
  readonly subject?: string | undefined
  readonly limit: number
}
