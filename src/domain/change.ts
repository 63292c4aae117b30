import type { Application, ApplicationChanges } from './application.ts'
import type { Audit, AuditEvent, Author, PublicFields } from './audit-event.ts'
import type { NewSession, Role } from './operator.ts'
import type { HandOverLink, NewSecret } from './secret.ts'
import type { SuiteChanges } from './suite.ts'
import { timestamp } from './time.ts'

/**
 * A change by an operator. Its type is also the action of the audit event and the message in the log. Its time is in
 * `Audit`. `owner`: a client id or a suite id.
 */
export type Change =
  /** Sets the given fields; `suites` to exactly these, ignoring unknown ones; `federated` to exactly these that are not revoked. */
  | ({ type: 'application updated'; federated?: readonly NewSecret[] | undefined } & ApplicationUpdate)
  /** Sets the values from before other changes. */
  | ({ type: 'change undone' } & ApplicationUpdate)
  | { type: 'change undone'; suite: string; values: SuiteChanges }
  | { type: 'application suspended' | 'application resumed'; clientId: string }
  /** Also removes its secrets. Its tokens are kept until the purge. */
  | { type: 'application removed'; clientId: string }
  /**
   * Makes one audit event, and one line in the log, for each application whose approval changes. `undoes` is an audit event of
   * the change to undo; applications that were changed since then stay as they are.
   */
  | {
      type: 'application approved' | 'approval withdrawn'
      clientIds: readonly string[]
      suite: string
      undoes?: AuditEvent['id']
    }
  /** Increments the application's token generation. */
  | { type: 'all tokens revoked'; clientId: string }
  | { type: 'suite updated'; suite: string; values: SuiteChanges }
  /** Also removes its secrets and approvals. */
  | { type: 'suite removed'; suite: string }
  | { type: 'secret added'; owner: string; secret: NewSecret }
  /**
   * The other secrets end at `othersEndAt` or earlier. If that is no later than the change, they are revoked, and unused hand-over
   * links end. Those that ended before `deleteEndedBefore` are deleted.
   */
  | ({ type: 'secret rotated'; owner: string } & Rotation)
  /** Without `force`, this is allowed only if the owner has another active secret, or this one is not active. */
  | { type: 'secret revoked'; owner: string; secretId: number; force: boolean }
  /** `digest` is the digest of its code. */
  | ({ type: 'hand-over link made'; clientId: string; digest: string } & Omit<HandOverLink, 'id' | 'createdAt'>)
  | { type: 'hand-over link withdrawn'; clientId: string; linkId: number }
  /** Uses up the link, and rotates the secret. Changes nothing if there is no such link, or the application is suspended. */
  | ({ type: 'hand-over link used'; clientId: string; codeDigest: string } & Rotation)
  /** `email` is set for operators from the identity provider. A change of the role ends all sessions and unused hand-over links. */
  | { type: 'operator added' | 'operator updated'; operator: string; role: Role; email?: string | undefined }
  /** Also removes the operator's keys, sessions, login codes and unused hand-over links. */
  | { type: 'operator removed'; operator: string }
  /** `digest`: see `digestGenerated`. */
  | { type: 'operator key added'; operator: string; digest: string; endsAt: number }
  | { type: 'operator key revoked'; operator: string; keyId: number }
  | { type: 'login link made'; operator: string; digest: string; endsAt: number }
  /** Uses up the login code, if there is one. Changes nothing if it is unknown or used. */
  | { type: 'operator logged in'; operator: string; codeDigest: string | undefined; session: NewSession }
  | { type: 'session ended'; operator: string; sessionId: number }

interface ApplicationUpdate {
  clientId: string
  values: ApplicationChanges
  status?: Application['status'] | undefined
  suites?: readonly string[] | undefined
}

/** A new secret, and what becomes of the others: see `secret rotated`. */
export interface Rotation {
  secret: NewSecret
  othersEndAt: number
  deleteEndedBefore: number
}

export type ChangeOf<Type extends Change['type']> = Change extends infer One
  ? One extends { type: infer Types }
    ? Type extends Types
      ? One & { type: Type }
      : never
    : never
  : never

export interface ChangeResult {
  /** False: there is no such subject, or it already was as requested. */
  readonly changed: boolean
  readonly subjects: readonly string[]
  /** The JSON names of the public fields that changed. */
  readonly fields: readonly string[]
  /** These fields before and after the change; null if it did not exist. */
  readonly before: PublicFields | null
  readonly after: PublicFields | null
  /** The id of the admin key, session or hand-over link that was added, or of the link that was used. */
  readonly id: number | undefined
}

type Approvals = ChangeOf<'application approved' | 'approval withdrawn'>

/** A change in the log: without digests, and with times in RFC 3339. */
export type ChangeEvent =
  | Exclude<
      Change,
      | { owner: string }
      | { digest: string }
      | { codeDigest: string }
      | { session: object }
      | { values: object }
      | Approvals
    >
  | { type: Approvals['type']; clientId: string; suite: string }
  | { type: 'application registered'; clientId: string; name: string; suites: readonly string[] | 'all' }
  | { type: 'application updated'; clientId: string; changed: readonly string[] }
  | { type: 'suite registered'; suite: string; name: string }
  /** `clientId`: a client id or a suite id. */
  | { type: 'change undone'; clientId: string; changed: readonly string[] }
  /** `name`: undefined unless it was sent. */
  | { type: 'suite updated'; suite: string; name: string | undefined; changed: readonly string[] }
  /** `clientId`: a client id or a suite id. */
  | { type: 'secret added'; clientId: string }
  | { type: 'secret rotated'; clientId: string; othersEndAt: string }
  | { type: 'secret revoked'; clientId: string; secretId: number }
  | { type: 'hand-over link made'; clientId: string; linkId: number; endsAt: string }
  | { type: 'hand-over link used'; clientId: string; linkId: number; othersEndAt: string }
  | { type: 'operator key added'; operator: string; keyId: number; endsAt: string }
  | { type: 'login link made'; operator: string; endsAt: string }
  | { type: 'operator logged in'; operator: string; sessionId: number }
  | { type: 'warning acknowledged'; warning: string }

interface Reporting {
  store: { change(change: Change, audit: Audit): Promise<ChangeResult>; ping(): Promise<void> }
  observe: (event: ChangeEvent & Author) => void
}

/** Makes a change, and reports it for each subject that changed, unless it is a dry run. Throws StoreUnavailable, OperatorError. */
export async function makeChange({ store, observe }: Reporting, change: Change, audit: Audit): Promise<ChangeResult> {
  // An overlap ends by this machine's clock. If that is wrong, the other secrets would end at once, or much too late.
  if ('othersEndAt' in change && change.othersEndAt > audit.at) await store.ping()
  const result = await store.change(change, audit)
  const subjects = audit.isTrial ? [] : result.subjects
  for (const subject of subjects) observe({ ...eventOf(change, result, subject), ...audit.author })
  return result
}

function eventOf(change: Change, { fields, id }: ChangeResult, subject: string): ChangeEvent {
  switch (change.type) {
    case 'application approved':
    case 'approval withdrawn':
      return { type: change.type, clientId: subject, suite: change.suite }
    case 'application updated':
      return { type: change.type, clientId: change.clientId, changed: fields }
    case 'change undone':
      return { type: change.type, clientId: 'suite' in change ? change.suite : change.clientId, changed: fields }
    case 'suite updated':
      return { type: change.type, suite: change.suite, name: change.values.name, changed: fields }
    case 'secret added':
      return { type: change.type, clientId: change.owner }
    case 'secret rotated':
      return { type: change.type, clientId: change.owner, othersEndAt: timestamp(change.othersEndAt) }
    case 'secret revoked':
      return { type: change.type, clientId: change.owner, secretId: change.secretId }
    case 'hand-over link made':
      return { type: change.type, clientId: change.clientId, linkId: id as number, endsAt: timestamp(change.endsAt) }
    case 'hand-over link used': {
      const { type, clientId, othersEndAt } = change
      return { type, clientId, linkId: id as number, othersEndAt: timestamp(othersEndAt) }
    }
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
