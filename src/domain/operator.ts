import { crc32 } from 'node:zlib'
import type { Key } from './application.ts'
import { OperatorError } from './operator-error.ts'
import { randomString } from './text.ts'
import { MINUTE } from './time.ts'

/** An admin may do everything, a viewer may only read. */
export const ROLES = ['admin', 'viewer'] as const
export type Role = (typeof ROLES)[number]

/** A person or a program that uses the admin listener. */
export interface Operator {
  /** Never reused. */
  readonly key: Key<'operator'>
  readonly name: string
  readonly role: Role
  /** Set by the identity provider only, for people to read. */
  readonly email: string | null
  readonly createdAt: number
  /** Oldest first, including expired and revoked ones. */
  readonly keys: readonly AdminKey[]
  /** Oldest first, including expired ones until the purge. */
  readonly sessions: readonly Session[]
  /** Unused ones, including expired ones until the purge. */
  readonly loginLinks: readonly Pick<AdminKey, 'createdAt' | 'endsAt'>[]
}

/** A credential of an operator's programs. The store has only its digest. */
export interface AdminKey {
  readonly id: number
  readonly createdAt: number
  readonly endsAt: number
  readonly revokedAt: number | null
  /** To within a minute; null if never used. */
  readonly lastUsedAt: number | null
}

/** An operator's login in one browser. The store has only the digest of its cookie. */
export interface Session {
  readonly id: number
  readonly createdAt: number
  /** To within a minute. */
  readonly lastSeenAt: number
  /** It ends then unless it is used again. */
  readonly endsAt: number
  /** When the link was opened, or when the person authenticated at the identity provider; null if it does not say. */
  readonly authenticatedAt: number | null
  readonly remoteAddress: string
  readonly userAgent: string
}

export type NewSession = Omit<Session, 'id' | 'lastSeenAt'> & { readonly digest: string }

/**
 * Why the admin listener refuses a request. `viewer`: a viewer tried to make a change. `another host`: the Host header does
 * not name the listener. `another site`: a page of another site tried to make a change.
 */
export type OperatorReason =
  | KeyReason
  | LoginReason
  | ProviderReason
  | 'no credentials'
  | 'viewer'
  | 'another host'
  | 'another site'
  | 'too many requests'

export type KeyReason = 'malformed key' | 'unknown key' | 'expired key' | 'revoked key'

/** `unknown`: the code is malformed; `used`: it is not stored, for example because its operator was removed. */
export type LoginReason = 'unknown login link' | 'used login link' | 'expired login link' | 'login links not accepted'

/** `unknown sign-in`: this browser began none within ten minutes; `provider refused`: it refused, or its answer is invalid. */
export type ProviderReason = 'unknown sign-in' | 'provider unavailable' | 'provider refused' | 'old sign-in' | 'no role'

export const LOGIN_CODE_LIFETIME = 10 * MINUTE

/** How long after a sign-in an operator may make changes that cannot be undone, in milliseconds. */
const FRESH_SIGN_IN = 15 * MINUTE

const SESSION_LIFETIME = 8 * 60 * MINUTE
const SESSION_IDLE = 15 * MINUTE

/** A use is stored only if the previously stored one is at least this old, in milliseconds. */
export const USE_INTERVAL = MINUTE

/** How far the clock of another machine that made a session or login code may be ahead, in milliseconds. */
export const CLOCKS_APART = MINUTE

/** A session ends 15 minutes after it was last seen, and at most 8 hours after it began. */
export function sessionEnd({ createdAt, seenAt }: { createdAt: number; seenAt: number }): number {
  return Math.min(seenAt + SESSION_IDLE, createdAt + SESSION_LIFETIME)
}

/** A session last seen in the future is also over: the clock was set back, which would extend the session. */
export function isOver({ lastSeenAt, endsAt }: Pick<Session, 'lastSeenAt' | 'endsAt'>, now: number): boolean {
  return endsAt <= now || lastSeenAt > now + CLOCKS_APART
}

/** Whether somebody has signed in recently enough for a change that cannot be undone. */
export function isFresh({ authenticatedAt }: Pick<Session, 'authenticatedAt'>, now: number): boolean {
  return authenticatedAt !== null && authenticatedAt + FRESH_SIGN_IN >= now
}

/** Whether an operator signs in with the identity provider. Names on the command line have no #. */
export function isFromProvider({ name }: Pick<Operator, 'name'>): boolean {
  return name.includes('#')
}

/** What people read instead of a subject. It includes the provider's host, because people may choose any user name there. */
export function readableName({ name, email }: Pick<Operator, 'name' | 'email'>): string {
  return email === null || email === name ? name : `${email} (${name.replace(/^https?:\/\/|[/#].*/g, '')})`
}

export function unknownOperator(name: string): OperatorError {
  return new OperatorError(`There is no operator with the name ${name}.`, { kind: 'not found' })
}

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Digits in base 62: enough for 32 bits, and for Unix seconds until the year 3769. */
const CHECKSUM_LENGTH = 6

/** Lets secret scanners recognize admin keys. */
const PREFIX = 'otsa_'
/** 256 bits. */
const KEY_RANDOM_LENGTH = 43

const KEY_FORM = new RegExp(`^${PREFIX}[A-Za-z0-9]{${KEY_RANDOM_LENGTH + CHECKSUM_LENGTH}}$`)

/** A new admin key: `otsa_`, 43 random characters, and a checksum over both. */
export function generateAdminKey(): string {
  const unchecked = `${PREFIX}${randomString(KEY_RANDOM_LENGTH)}`
  return unchecked + checksum(unchecked)
}

/** Checks prefix, length and checksum, not whether the key exists. */
export function isAdminKey(text: string): boolean {
  return KEY_FORM.test(text) && hasChecksum(text)
}

/** 190 bits. */
const CODE_RANDOM_LENGTH = 32

const LINK_CODE = /^[A-Za-z0-9]{44}$/

/** A new code for a link that works once: its expiry in seconds, 32 random characters, and a checksum over both. */
export function generateLinkCode(endsAt: number): string {
  const unchecked = toBase62(Math.floor(endsAt / 1000)) + randomString(CODE_RANDOM_LENGTH)
  return unchecked + checksum(unchecked)
}

/** When such a code expires; undefined if it is malformed. Anyone can make one up: only the store knows which are valid. */
export function endOfLinkCode(code: string): number | undefined {
  if (!LINK_CODE.test(code) || !hasChecksum(code)) return undefined
  const digits = [...code.slice(0, -CODE_RANDOM_LENGTH - CHECKSUM_LENGTH)]
  return digits.reduce((number, digit) => number * DIGITS.length + DIGITS.indexOf(digit), 0) * 1000
}

function hasChecksum(text: string): boolean {
  return checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)
}

function checksum(text: string): string {
  return toBase62(crc32(text))
}

/** Writes a number below 62⁶ as six base-62 digits (0-9, A-Z, a-z), padded with zeros. */
function toBase62(number: number): string {
  let rest = number
  let digits = ''
  while (digits.length < CHECKSUM_LENGTH) {
    digits = DIGITS.charAt(rest % DIGITS.length) + digits
    rest = Math.floor(rest / DIGITS.length)
  }
  return digits
}
