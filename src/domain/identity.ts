import { isObject } from './federation.ts'
import { type ProviderReason, ROLES, type Role } from './operator.ts'
import { visibleOnOneLine } from './text.ts'

/** Gives a role to everybody who has one of these values in a claim (OpenID Connect Core §5.1). */
export interface ClaimRule {
  readonly claim: string
  readonly values: readonly string[]
}

export interface ProviderSettings {
  readonly issuer: string
  readonly clientId: string
  readonly secretFile: string
  readonly rules: Readonly<Record<Role, ClaimRule | undefined>>
  /** Where the provider sends the browser back. It must be registered there. */
  readonly callbackUrl: string
}

export interface Identity {
  /** Issuer and subject. No operator added by a command can have such a name. */
  readonly name: string
  /** The email address, or the user name, for people to read. */
  readonly email: string | null
  readonly role: Role | undefined
  /** When the person authenticated at the provider; null if it does not say. */
  readonly authenticatedAt: number | null
  /** Why the claims give no role: names of claims, never their values. Undefined if they give one. */
  readonly whyNoRole?: string | undefined
}

/** How old a new sign-in may be, in seconds: less than `isFresh` accepts, because the change itself takes time. */
export const NEW_SIGN_IN_S = 10 * 60

/** How long somebody may take to sign in at the provider, in milliseconds. */
export const SIGN_IN_LIFETIME = 10 * 60_000

export class SignInRefused extends Error {
  readonly reason: ProviderReason

  /** `detail` is for the log, and contains no code and no token. */
  constructor(reason: ProviderReason, detail: string) {
    super(detail)
    this.reason = reason
  }
}

/**
 * The values of a claim as texts: one, those of a list, or the keys of an object, as ZITADEL sends roles. A dot leads into an object,
 * as in `realm_access.roles`, but may also be a part of a name, as in `https://company.example/roles`.
 */
export function valuesOf(claims: unknown, claim: string): string[] {
  if (typeof claims !== 'object' || claims === null) return []
  const inside = [...claim.matchAll(/\./g)].flatMap(({ index }) =>
    ownValues(claims, claim.slice(0, index)).flatMap((part) => valuesOf(part, claim.slice(index + 1))),
  )
  const own = ownValues(claims, claim).flatMap((value) => (isObject(value) ? keysOfObjects(value) : value))
  return [...own.filter((value) => typeof value !== 'object').map(String), ...inside]
}

/** ZITADEL sends roles as keys whose values are objects; keys with `false` or `null` do not count. */
const keysOfObjects = (claim: object) => Object.entries(claim).flatMap(([key, value]) => (isObject(value) ? key : []))

function ownValues(claims: object, name: string): unknown[] {
  return Object.hasOwn(claims, name) ? [(claims as Record<string, unknown>)[name]] : []
}

/** The highest role that the claims give. An email address counts only if the provider has verified it. */
export function roleIn(claims: object, rules: ProviderSettings['rules']): Role | undefined {
  return ROLES.find((role) => {
    const { claim = '', values = [] } = rules[role] ?? {}
    if (claim === 'email' && !isVerified(claims)) return false
    return valuesOf(claims, claim).some((value) => values.includes(value))
  })
}

/** The length limit of an explanation, in characters: enough for the claims of any provider. */
const LONGEST_WHY = 2000

/** Why claims give no role: what each rule found, and the names of all claims. */
export function whyNoRole(claims: object, rules: ProviderSettings['rules']): string {
  const reasons = ROLES.flatMap((role) => (rules[role] ? [whyNot(claims, rules[role].claim)] : []))
  const text = `${[...new Set(reasons)].join('; ')}. Claims: ${namesIn(claims).join(', ')}`
  return visibleOnOneLine(text).slice(0, LONGEST_WHY)
}

const namesIn = (claims: object) =>
  Object.entries(claims)
    .flatMap(([name, value]) => (value === undefined ? [] : name))
    .sort()

function whyNot(claims: object, claim: string): string {
  const { length } = valuesOf(claims, claim)
  if (length > 0 && claim === 'email' && !isVerified(claims)) return 'email is not verified (email_verified)'
  if (length > 0) return `none of the values of ${claim} gives a role (values: ${length})`
  // Entra ID does this for members of more than 200 groups.
  const { _claim_names: elsewhere } = claims as { _claim_names?: unknown }
  const isOverage = (isObject(elsewhere) && claim in elsewhere) || (claim === 'groups' && 'hasgroups' in claims)
  return isOverage ? `${claim} has too many values to be sent (overage): use app roles` : `${claim} is missing or empty`
}

/** What operators see instead of a subject: the verified email address, or the user name. */
export function emailIn(claims: object): string | null {
  const emails = isVerified(claims) ? valuesOf(claims, 'email') : []
  const [shown] = [...emails, ...valuesOf(claims, 'preferred_username')]
  return shown !== undefined && READABLE.test(shown) ? shown : null
}

/** Words with one space between them: nothing that hides or reverses the host, which pages show behind it. */
const READABLE = /^(?=.{1,254}$)[^\p{C}\p{Z}]+( [^\p{C}\p{Z}]+)*$/u

function isVerified(claims: object): boolean {
  return valuesOf(claims, 'email_verified')[0] === 'true'
}
