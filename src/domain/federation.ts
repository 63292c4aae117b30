import { visibleOnOneLine } from './text.ts'

// Federated credentials: an application authenticates with a JWT that the platform it runs on has signed, instead of a secret.

/** What a JWT must have to authenticate an application. A rule never changes: another rule is another credential. */
export interface FederatedRule {
  /** The claim `iss`: an https URL, or with `keys` also the client id (RFC 7523 §3). */
  readonly issuer: string
  /** The claim `sub`, in which `*` may stand for one segment: see `matchesSubject`. */
  readonly subject: string
  /** One of the values of `aud`; null for PUBLIC_URL. */
  readonly audience: string | null
  /** Further claims, named as in `valuesOf`, and the value that each must have. */
  readonly claims: Readonly<Record<string, string>>
  /** The public keys of the issuer; null to fetch them from it. */
  readonly keys: readonly PublicKey[] | null
}

/** A public key as a JWK (RFC 7517): its members that are texts. */
export type PublicKey = Readonly<Record<string, string>>

/** An issuer whose keys are fetched, for all processes. Times are null before the first attempt. */
export interface Issuer {
  readonly issuer: string
  /** As they were last fetched. */
  readonly keys: readonly PublicKey[]
  readonly fetchedAt: number | null
  readonly triedAt: number | null
  /** When the last attempt was over; before `triedAt` while one is under way. */
  readonly answeredAt: number | null
  /** Why the last attempt failed; null if it did not. */
  readonly problem: string | null
}

/** Whether a JWT has needed the keys of an issuer in the last day. They are fetched only then, so of others nothing is known. */
export function isNeeded({ triedAt }: Pick<Issuer, 'triedAt'>, now: number): boolean {
  return now - Number(triedAt) < 24 * 60 * 60_000
}

/** How long keys are used on while their issuer is away. 24 hours, in milliseconds. */
export const KEPT_MS = 24 * 60 * 60_000

const MAX_KEYS = 50

/** SPIFFE's bundles have keys for JWTs and others. */
const USES: readonly unknown[] = [undefined, 'sig', 'jwt-svid']

/** The public keys of a JWK Set (RFC 7517 §5) that can verify a JWT. Throws an Error that says what is wrong with it. */
export function publicKeysIn(document: unknown): PublicKey[] {
  const { keys = undefined } = isObject(document) ? document : {}
  if (!Array.isArray(keys)) throw new Error('it is not a JWK Set, which has a list of keys')
  const all = keys.filter(isObject)
  if (all.some((key) => 'd' in key || key.kty === 'oct')) throw new Error('it contains a private or a symmetric key')
  const usable = all.filter(({ kty, crv, use }) => {
    return USES.includes(use) && (kty === 'RSA' || crv === 'P-256' || crv === 'Ed25519')
  })
  if (usable.length === 0) throw new Error(`it has no public key for ${ALGORITHMS.join(', ')}`)
  if (usable.length > MAX_KEYS) throw new Error(`it has more than ${MAX_KEYS} keys`)
  return usable.map((key) => {
    const members = ['kty', 'kid', 'alg', 'crv', 'x', 'y', 'n', 'e'].map((name) => [name, key[name]])
    return Object.fromEntries(members.filter(([, value]) => typeof value === 'string'))
  })
}

/** The keys that may have signed a JWT with this header: RFC 7515 §4.1.4. */
export function keysNamed(keys: readonly PublicKey[], { kid }: Claims): readonly PublicKey[] {
  return keys.filter((key) => kid === undefined || key.kid === kid)
}

/** Whether a text can be the issuer of keys that are fetched: an https URL without a user, a query or a fragment. */
export function isIssuerUrl(text: string): boolean {
  return /^https:\/\/[^\s\p{Cc}"\\?#@]+$/u.test(text) && URL.canParse(text)
}

export type Claims = Readonly<Record<string, unknown>>

/** The algorithms of signatures, RFC 7518 §3.1 and RFC 8037 §3.1. */
export const ALGORITHMS: readonly string[] = ['RS256', 'PS256', 'ES256', 'EdDSA']

/** The longest JWT that is examined, in characters. The body of a request is shorter. */
const LONGEST = 8192

/** Whether a text has the form of a JWT, which is signed or says that it is not: RFC 7515 §7.1, RFC 7519 §6. */
export function mayBeJwt(text: string): boolean {
  return text.length >= 64 && text.length <= LONGEST && /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text)
}

/** The header and the claims of a JWT, which may be forged. Undefined if they are not JSON objects. */
export function parseJwt(text: string): { header: Claims; claims: Claims } | undefined {
  try {
    const [header, claims] = text.split('.', 2).map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()))
    return isObject(header) && isObject(claims) ? { header, claims } : undefined
  } catch {
    return undefined
  }
}

/** Whether a value is an object of JSON. */
export function isObject(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value of a claim as the log shows it. */
export function shown(value: unknown): string {
  const text = visibleOnOneLine(JSON.stringify(value) ?? 'missing')
  return text.length > 120 ? `${text.slice(0, 120).toWellFormed()}…` : text
}
