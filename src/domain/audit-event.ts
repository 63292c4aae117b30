import { hash } from 'node:crypto'
import { DAY } from './usage.ts'

// What comes with every change: its author, its audit event, and the record that keeps a retry from making it again.

/** Who made a change, and from where. A hand-over link is used on behalf of the operator that made it. */
export interface Author {
  /** The operator's name; on the command line, the operating system user. */
  readonly actor: string
  readonly origin: 'command line' | 'API' | 'console' | 'hand-over link'
  /** The client's address, and a proxy's (addressVia); on the command line, the host name. */
  readonly remoteAddress: string
  /** The request id in the log and the response; undefined on the command line. */
  readonly requestId?: string | undefined
}

/** Stored with every change, in the same transaction. */
export interface Authorship {
  readonly author: Author
  readonly at: number
}

/** Passed to the store with every change. */
export interface Audit extends Authorship {
  readonly publicFields: PublicFieldsOf
  /** Set if the call may be retried. The store throws IdempotencyKeyTaken if the change was already made. */
  readonly idempotency?: IdempotencyRecord | undefined
  /**
   * Versions (`versionOf`), or `*` for any. Unless the application or suite exists in one of them, the store changes nothing and
   * throws OperatorError.
   */
  readonly onlyIf?: readonly string[] | undefined
  /** Whether this is a dry run: the change is rolled back, and the result says what would have changed. */
  readonly isTrial?: boolean | undefined
}

export const SUBJECT_KINDS = ['application', 'suite', 'operator', 'database', 'warning'] as const

export type SubjectKind = (typeof SUBJECT_KINDS)[number]

export interface AuditEvent extends Required<Author> {
  /** Increases with every event of a store. */
  readonly id: number
  readonly at: number
  /** The email address of an operator from the identity provider at that time. Stays when the operator is removed. */
  readonly actorEmail: string | null
  /** The same name as in the log, such as `application suspended`. */
  readonly action: string
  /** `id`: client id, suite id, operator name, location of the database, or what the warning was about and since when. */
  readonly subject: { readonly kind: SubjectKind; readonly id: string }
  /** The public fields that changed, never a secret. Null if the subject was added. */
  readonly before: PublicFields | null
  /** Null if the subject was removed. */
  readonly after: PublicFields | null
  /** How many subjects were changed; 1 unless the list is grouped. */
  readonly count: number
}

export type PublicFields = Readonly<Record<string, unknown>>

/** The kinds of subjects that a store reads before and after a change. The database itself and a warning are subjects without a row. */
export type StoredKind = 'application' | 'suite' | 'operator' | 'hand-over links'

/** How each kind of stored subject becomes its public fields. */
export type PublicFieldsOf = Readonly<Record<StoredKind, (stored: never) => PublicFields>>

/** Fields that servers of 1.0.0, which may run beside this one, do not have. They are part of a version unless they are empty. */
const ADDED = ['managed_by', 'url', 'source_addresses', 'public_labels', 'report_only', 'federated']

/** Identifies the state of an application or a suite: it changes whenever a public field does. */
export function versionOf(fields: PublicFields): string {
  const known = Object.entries(fields).filter(([name, value]) => !ADDED.includes(name) || String(value) !== '')
  return hash('sha256', JSON.stringify(Object.fromEntries(known)), 'base64url').slice(0, 22)
}

/** An omitted field matches every event. */
export interface AuditFilter {
  readonly since?: number | undefined
  /** Only events before this time. */
  readonly until?: number | undefined
  /** Only events older than this one, the last of the previous page. */
  readonly before?: AuditEvent['id'] | undefined
  /** The name or the email address. */
  readonly actor?: string | undefined
  readonly subject?: string | undefined
  /** The kind of `subject`, because ids of two kinds may be equal. */
  readonly kind?: SubjectKind | undefined
  readonly requestId?: string | undefined
  /** Whether only the last event of a request that changed many subjects is listed. Not with `subject` or `requestId`. */
  readonly grouped?: boolean | undefined
  readonly limit: number
}

/** Audit events are deleted when they are older than this. Milliseconds. */
export const AUDIT_LIFETIME = 400 * DAY

/** A completed call that may be retried, with its answer. */
export interface IdempotencyRecord {
  /** Digest of the operator and the idempotency key. */
  readonly digest: string
  /** The answer, encrypted so that only a retry by the same caller can read it. */
  readonly sealed: string
}

/** How long a call can be retried. 24 hours, in milliseconds. */
export const IDEMPOTENCY_LIFETIME = 24 * 60 * 60 * 1000

/** The call was already made; nothing was changed this time. */
export class IdempotencyKeyTaken extends Error {
  override readonly name = 'IdempotencyKeyTaken'
}
