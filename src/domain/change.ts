import type { ApplicationChanges } from './application.ts'
import type { NewSession, Role } from './operator.ts'
import type { NewSecret } from './secret.ts'
import { timestamp } from './time.ts'

/**
 * A change that an operator makes, as the store is asked for it. Its type is also the action of the audit event and the name
 * of the line in the log. The store takes its time from the audit. `owner`: the client id of an application or the id of a suite.
 */
export type Change =
  /** Changes those fields that are given. */
  | { type: 'application updated'; clientId: string; values: ApplicationChanges }
  | { type: 'application suspended' | 'application resumed'; clientId: string }
  /** Removes its secrets, too. Its tokens stay, without an application, until the purge. */
  | { type: 'application removed'; clientId: string }
  | { type: 'application approved' | 'approval withdrawn'; clientId: string; suite: string }
  /** Revokes every token of an application by counting up its generation; the time is kept for people. */
  | { type: 'all tokens revoked'; clientId: string }
  | { type: 'suite updated'; suite: string; name: string }
  /** Removes its secrets and the approvals for it, too. */
  | { type: 'suite removed'; suite: string }
  /** The other secrets stay as they are. */
  | { type: 'secret added'; owner: string; secret: NewSecret }
  /** Ends the other secrets no later than `othersEndAt`, and deletes those that ended before `deleteEndedBefore`. */
  | { type: 'secret rotated'; owner: string; secret: NewSecret; othersEndAt: number; deleteEndedBefore: number }
  /** Marks a secret as revoked and ends it. Without `force` only if another secret of the owner is active, or this one is not. */
  | { type: 'secret revoked'; owner: string; secretId: number; force: boolean }
  /** Changes nothing if the name is taken. */
  | { type: 'operator added'; operator: string; role: Role }
  /** Removes keys, sessions and login codes, too. */
  | { type: 'operator removed'; operator: string }
  /** `digest`: see `digestGenerated`. */
  | { type: 'operator key added'; operator: string; digest: string; endsAt: number }
  | { type: 'operator key revoked'; operator: string; keyId: number }
  | { type: 'login link made'; operator: string; digest: string; endsAt: number }
  /** Uses up a login code. Changes nothing if the code is unknown or was used. */
  | { type: 'operator logged in'; operator: string; codeDigest: string; session: NewSession }
  /** By an operator, before it expired. */
  | { type: 'session ended'; operator: string; sessionId: number }

export type ChangeOf<Type extends Change['type']> = Change extends infer One
  ? One extends { type: infer Types }
    ? Type extends Types
      ? One & { type: Type }
      : never
    : never
  : never

/** What a change did. */
export interface ChangeResult {
  /** False: there is no such subject, or it is so already. */
  readonly changed: boolean
  /** The public fields of the subject that have another value now, by their JSON names. */
  readonly fields: readonly string[]
  /** The id of the admin key or the session that was added. */
  readonly id: number | undefined
}

/** What the log has of a change: no digest, and times in RFC 3339. */
export type ChangeEvent =
  | Exclude<Change, { owner: string } | { digest: string } | { codeDigest: string } | { values: object }>
  | { type: 'application registered'; clientId: string; name: string; suites: readonly string[] | 'all' }
  /** `changed`: the fields that have another value now. */
  | { type: 'application updated'; clientId: string; changed: readonly string[] }
  | { type: 'suite registered'; suite: string; name: string }
  /** `clientId`: of an application, or the id of a suite. */
  | { type: 'secret added'; clientId: string }
  | { type: 'secret rotated'; clientId: string; othersEndAt: string }
  | { type: 'secret revoked'; clientId: string; secretId: number }
  | { type: 'operator key added'; operator: string; keyId: number; endsAt: string }
  /** `endsAt`: when the link expires. */
  | { type: 'login link made'; operator: string; endsAt: string }
  /** With a login link. */
  | { type: 'operator logged in'; operator: string; sessionId: number }

/** The event of a change that was made. */
export function eventOf(change: Change, { fields, id }: ChangeResult): ChangeEvent {
  switch (change.type) {
    case 'application updated':
      return { type: change.type, clientId: change.clientId, changed: fields }
    case 'secret added':
      return { type: change.type, clientId: change.owner }
    case 'secret rotated':
      return { type: change.type, clientId: change.owner, othersEndAt: timestamp(change.othersEndAt) }
    case 'secret revoked':
      return { type: change.type, clientId: change.owner, secretId: change.secretId }
    case 'operator key added':
      return { type: change.type, operator: change.operator, keyId: id as number, endsAt: timestamp(change.endsAt) }
    case 'login link made':
      return { type: change.type, operator: change.operator, endsAt: timestamp(change.endsAt) }
    case 'operator logged in':
      return { type: change.type, operator: change.operator, sessionId: id as number }
    default:
      return change
  }
}
