import type { Key } from './key.ts'
import { OperatorError } from './operator-error.ts'

/** What an operator may do: an admin everything, a viewer only look. */
export const ROLES = ['admin', 'viewer'] as const

export type Role = (typeof ROLES)[number]

/** A person or a program that administers over the network. */
export interface Operator {
  /** Never used twice. */
  readonly key: OperatorKey
  readonly name: string
  readonly role: Role
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  /** Oldest first, ended ones too. */
  readonly keys: readonly AdminKey[]
  /** Oldest first, ended ones until the purge. */
  readonly sessions: readonly Session[]
  /** Those that were not used; expired ones until the purge. */
  readonly loginLinks: readonly Pick<AdminKey, 'createdAt' | 'endsAt'>[]
}

export type OperatorKey = Key<'operator'>

/** What an operator's programs prove who they are with. The store has a digest of it. Times are milliseconds since the epoch. */
export interface AdminKey {
  /** What people name it by. */
  readonly id: number
  readonly createdAt: number
  /** From then on it is refused. */
  readonly endsAt: number
  /** Null: it is not revoked. */
  readonly revokedAt: number | null
  /** Within a minute; null: it was never used. */
  readonly lastUsedAt: number | null
}

/** An operator's login in one browser. The store has a digest of its reference. Times are milliseconds since the epoch. */
export interface Session {
  /** What people name it by. */
  readonly id: number
  readonly createdAt: number
  /** Within a minute. */
  readonly lastSeenAt: number
  /** From then on it is refused: see `sessionEnd`. */
  readonly endsAt: number
  readonly remoteAddress: string
  readonly userAgent: string
}

/** An operator who is about to be added. */
export type NewOperator = Pick<Operator, 'name' | 'role' | 'createdAt'>

/** An admin key that is about to be added. `digest`: see `digestGenerated`. */
export type NewAdminKey = Pick<AdminKey, 'createdAt' | 'endsAt'> & { readonly digest: string }

/** What a login link has: for one login. */
export type NewLoginCode = NewAdminKey

/** A session that is about to begin. */
export type NewSession = Omit<Session, 'id' | 'lastSeenAt'> & { readonly digest: string }

/**
 * Why a request to the admin listener is refused. `viewer`: a change that a viewer asks for. `another host`: it is for a name
 * that is not the listener's. `another site`: a change that another site's page asks for.
 */
export type OperatorReason = KeyReason | LoginReason | 'no credentials' | 'viewer' | 'another host' | 'another site'

/** Why an admin key lets nobody in. */
export type KeyReason = 'malformed key' | 'unknown key' | 'expired key' | 'revoked key'

/** Why a login link lets nobody in. `used login link`: also one that went with its operator. `unknown`: what is none. */
export type LoginReason = 'unknown login link' | 'used login link' | 'expired login link'

/** What an admin key is at a moment: only an active one is accepted. */
export type AdminKeyState = 'active' | 'expired' | 'revoked'

const MINUTE = 60_000

/** How long a login link can be used. Milliseconds. */
export const LOGIN_CODE_LIFETIME = 10 * MINUTE

const SESSION_LIFETIME = 8 * 60 * MINUTE
const SESSION_IDLE = 15 * MINUTE

/** A use is written down if the last one that was is this old. Milliseconds. */
export const USE_INTERVAL = MINUTE

/** The clocks of the machines that make login codes and sessions, and of those that see them, are no further apart. */
export const CLOCKS_APART = MINUTE

/** The state of an admin key at this time. */
export function adminKeyState({ endsAt, revokedAt }: AdminKey, now: number): AdminKeyState {
  if (revokedAt !== null) return 'revoked'
  return endsAt <= now ? 'expired' : 'active'
}

/** When a session ends that is seen now, unless it is seen again: after 15 minutes, or 8 hours after it began. */
export function sessionEnd({ createdAt, seenAt }: { createdAt: number; seenAt: number }): number {
  return Math.min(seenAt + SESSION_IDLE, createdAt + SESSION_LIFETIME)
}

/**
 * Whether a session is over. One that was seen after now is, too: the clock went back, and would let it live longer than was
 * promised.
 */
export function isOver({ lastSeenAt, endsAt }: Pick<Session, 'lastSeenAt' | 'endsAt'>, now: number): boolean {
  return endsAt <= now || lastSeenAt > now + CLOCKS_APART
}

/** The error of an operator who names another one that does not exist. */
export function unknownOperator(name: string): OperatorError {
  return new OperatorError(`There is no operator with the name ${name}.`, { kind: 'not found' })
}
