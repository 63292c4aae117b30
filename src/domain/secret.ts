import { hash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { randomString } from './random.ts'

/** A client secret as it is stored. */
export interface Secret {
  id: number
  /** `$sha256$HASH` (generated here) or `$scrypt$ln=…,r=…,p=…$SALT$HASH` (brought along), base64url without padding. */
  digest: string
  /** Milliseconds since the epoch, `endsAt` too: from then on it is refused. Null: it has no end. */
  createdAt: number
  endsAt: number | null
}

/** A client secret that is about to be stored. */
export type NewSecret = Pick<Secret, 'digest' | 'createdAt'>

/** A new client secret: 40 characters, 238 bits. */
export function generateSecret(): string {
  return randomString(40)
}

/** The stored form of a secret that this server generated: a fast hash is safe for 112 bits and more (SP 800-63B). */
export function digestGenerated(secret: string): string {
  return `$sha256$${hash('sha256', secret, 'base64url')}`
}

/** The stored form of a secret that a person brought along and that may be weak: scrypt with a salt of its own. */
export async function digestImported(secret: string): Promise<string> {
  const salt = randomBytes(16)
  const derived = await derive(secret, salt, 32, SCRYPT)
  return `$scrypt$ln=14,r=8,p=5$${salt.toString('base64url')}$${derived.toString('base64url')}`
}

/** Whether a stored secret was brought along by an operator. */
export function isImported(secret: Pick<Secret, 'digest'>): boolean {
  return secret.digest.startsWith('$scrypt$')
}

/** The one among these generated secrets that is presented. Each comparison takes constant time. */
export function findGenerated(secrets: Secret[], presented: string): Secret | undefined {
  const digest = Buffer.from(digestGenerated(presented))
  return secrets.find((secret) => {
    const stored = Buffer.from(secret.digest)
    return stored.length === digest.length && timingSafeEqual(stored, digest)
  })
}

/** Compares a presented secret with an imported one. Throws where the stored form is not one of ours. */
export async function matchesImported(secret: Pick<Secret, 'digest'>, presented: string): Promise<boolean> {
  const [, ln, r, p, salt, hash] = IMPORTED.exec(secret.digest) ?? []
  if (!salt || !hash) throw new Error('a stored secret has an unknown form')
  const stored = Buffer.from(hash, 'base64url')
  const cost = { N: 2 ** Number(ln), r: Number(r), p: Number(p), maxmem: SCRYPT.maxmem }
  return timingSafeEqual(await derive(presented, Buffer.from(salt, 'base64url'), stored.length, cost), stored)
}

/** An imported secret that nobody knows: refusing an unknown client must cost what refusing a known one costs. */
export const DECOY = { digest: `$scrypt$ln=14,r=8,p=5$${'A'.repeat(22)}$${'A'.repeat(43)}` }

const IMPORTED = /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([\w-]+)\$([\w-]+)$/
// 16 MiB and 0.1 s or so a check; one of the OWASP Password Storage settings.
const SCRYPT = { N: 2 ** 14, r: 8, p: 5, maxmem: 64 * 1024 * 1024 }
const derive = promisify<string, Buffer, number, object, Buffer>(scrypt)
