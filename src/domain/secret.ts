import { hash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import type { FederatedRule } from './federation.ts'
import { randomString, sortedByName } from './text.ts'

// Secrets, and the links by which they are handed over.

export interface Secret {
  readonly id: number
  /**
   * `$sha256$HASH` (generated), `$scrypt$ln=…,r=…,p=…$SALT$HASH` (imported) or `$federated$HASH` (of the rule), base64url without
   * padding.
   */
  readonly digest: string
  readonly createdAt: number
  /** Refused from this time on; null if it never expires. */
  readonly endsAt: number | null
  readonly revokedAt: number | null
  /** If it is a federated credential: which JWT stands for the secret. */
  readonly federated: FederatedRule | null
}

/** A secret that is a federated credential. */
export type FederatedCredential = Secret & { readonly federated: FederatedRule }

export function isFederated(secret: Secret): secret is FederatedCredential {
  return secret.federated !== null
}

/** A secret of any application or suite, without its digest. */
export interface OwnedSecret extends Omit<Secret, 'digest'> {
  readonly origin: ReturnType<typeof originOf>
  readonly lastUsedAt: number | null
  /** The address; null if it is not known. */
  readonly lastUsedFrom: string | null
  readonly kind: 'application' | 'suite'
  /** The client id or the suite id. */
  readonly owner: string
  readonly name: string
}

/** Only an active secret is accepted. */
export type SecretState = 'active' | 'expired' | 'revoked'

export type NewSecret = Pick<Secret, 'digest' | 'createdAt'> & Partial<Pick<Secret, 'endsAt' | 'federated'>>

/** The cost of scrypt; `ln`: log2 of N. 16 MiB and about 0.1 s: one of the OWASP Password Storage settings. */
const COST = { ln: 14, r: 8, p: 5 }
const MAX_MEMORY = 64 * 1024 * 1024
const SALT_BYTES = 16
const HASH_BYTES = 32

const IMPORTED = /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([\w-]+)\$([\w-]+)$/

export const SECRET_LENGTH = 40
const GENERATED = new RegExp(`[A-Za-z0-9]{${SECRET_LENGTH}}`)

/** A new client secret: 40 characters, 238 bits. */
export function generateSecret(): string {
  return randomString(SECRET_LENGTH)
}

/** How long ended secrets are kept, so that the log can tell an expired one from a wrong one. 30 days. */
const KEEP_ENDED_MS = 30 * 24 * 60 * 60 * 1000

/** A new client secret, and the rotation that adds it at the given time; the others end `overlap` milliseconds later. */
export function newRotation(at: number, overlap: number) {
  const clientSecret = generateSecret()
  const secret: NewSecret = { digest: digestGenerated(clientSecret), createdAt: at }
  return { clientSecret, rotation: { secret, othersEndAt: at + overlap, deleteEndedBefore: at - KEEP_ENDED_MS } }
}

/** Whether a text contains a run of letters and digits as long as a generated secret. */
export function mayHoldSecret(text: string): boolean {
  return GENERATED.test(text)
}

/** The stored form of a secret that this server generated: a fast hash is safe for 112 bits and more (SP 800-63B). */
export function digestGenerated(secret: string): string {
  return `$sha256$${hash('sha256', secret, 'base64url')}`
}

/** The stored form of an imported secret, which may be weak: scrypt with its own salt. */
export async function digestImported(secret: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  return importedForm(salt, await derive(secret, salt, HASH_BYTES, COST))
}

/** An imported secret that matches nothing: refusing an unknown client must cost as much as refusing a known one. */
export const DECOY = { digest: importedForm(Buffer.alloc(SALT_BYTES), Buffer.alloc(HASH_BYTES)) }

/** The state of a secret or an admin key. */
export function secretState({ endsAt, revokedAt }: Pick<Secret, 'endsAt' | 'revokedAt'>, now: number): SecretState {
  if (revokedAt !== null) return 'revoked'
  return endsAt !== null && endsAt <= now ? 'expired' : 'active'
}

export function isImported(secret: Pick<Secret, 'digest'>): boolean {
  return secret.digest.startsWith('$scrypt$')
}

export function originOf(secret: Pick<Secret, 'digest' | 'federated'>): 'generated' | 'imported' | 'federated' {
  if (secret.federated) return 'federated'
  return isImported(secret) ? 'imported' : 'generated'
}

/** How many unrevoked imported secrets an application may have: every refusal has to check each of them. */
export const MAX_IMPORTED = 2

/** How many unrevoked federated credentials an application may have. */
export const MAX_FEDERATED = 20

/** The imported secrets to compare with a presented one; if all are revoked, the last one, so that the log has the reason. */
export function importedCandidates(secrets: readonly Secret[]): readonly Secret[] {
  const imported = secrets.filter(isImported)
  const unrevoked = imported.filter(({ revokedAt }) => revokedAt === null)
  return unrevoked.length > 0 ? unrevoked : imported.slice(-1)
}

/** A new federated credential. Its digest identifies the rule, and is never that of a secret that somebody can present. */
export function newFederated(rule: FederatedRule, times: Pick<NewSecret, 'createdAt' | 'endsAt'>): NewSecret {
  const { issuer, subject, audience, keys } = rule
  const federated = { issuer, subject, audience, claims: sortedByName(rule.claims), keys }
  return { digest: `$federated$${hash('sha256', JSON.stringify(federated), 'base64url')}`, federated, ...times }
}

/** Finds the generated secret that was presented. Each comparison takes constant time. */
export function findGenerated(secrets: readonly Secret[], presented: string): Secret | undefined {
  const digest = Buffer.from(digestGenerated(presented))
  return secrets.find((secret) => {
    const stored = Buffer.from(secret.digest)
    return stored.length === digest.length && timingSafeEqual(stored, digest)
  })
}

/** Compares a presented secret with an imported one. Throws if the stored form is unknown. */
export async function matchesImported(secret: Pick<Secret, 'digest'>, presented: string): Promise<boolean> {
  const [, ln, r, p, salt, hash] = IMPORTED.exec(secret.digest) ?? []
  if (!salt || !hash) throw new Error('a stored secret has an unknown form')
  const stored = Buffer.from(hash, 'base64url')
  const cost = { ln: Number(ln), r: Number(r), p: Number(p) }
  return timingSafeEqual(await derive(presented, Buffer.from(salt, 'base64url'), stored.length, cost), stored)
}

function importedForm(salt: Buffer, derived: Buffer): string {
  const { ln, r, p } = COST
  return `$scrypt$ln=${ln},r=${r},p=${p}$${salt.toString('base64url')}$${derived.toString('base64url')}`
}

const scryptAsync = promisify<string, Buffer, number, object, Buffer>(scrypt)

function derive(secret: string, salt: Buffer, bytes: number, { ln, r, p }: typeof COST): Promise<Buffer> {
  return scryptAsync(secret, salt, bytes, { N: 2 ** ln, r, p, maxmem: MAX_MEMORY })
}

/** Where hand-over links lead, on the public port. */
export const HAND_OVER_PATH = '/hand-over'

export const HAND_OVER_LIFETIME = 60 * 60_000

/** An unused link that shows a new secret of its application once, without its code. */
export interface HandOverLink {
  readonly id: number
  /** The operator; for commands, the operating system's user. */
  readonly madeBy: string
  readonly createdAt: number
  readonly endsAt: number
  /** How long the other secrets stay valid once it is used. */
  readonly overlapSeconds: number
}
