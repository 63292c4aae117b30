import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { ApplicationKey } from './application.ts'

/** An access token lives 60 minutes, in milliseconds. Fixed by the contract (docs/contract.md). */
export const TOKEN_LIFETIME = 60 * 60 * 1000

const ID_BYTES = 16
const SECRET_BYTES = 32

/** How many tokens one call of the random generator serves: it is expensive (docs/performance). */
const DRAWS = 64
let pool = Buffer.alloc(0)
let used = 0

/** What the store keeps of an access token: enough to recognise it, not enough to forge it. */
export interface StoredToken {
  /** A UUIDv7 (RFC 9562 §5.7) of `issuedAt`, 16 bytes. Public: it is the `jti`, and the log has it. */
  readonly id: Buffer
  /** SHA-256 of the 32 random bytes, 32 bytes. */
  readonly secretHash: Buffer
  /** The application that it was issued to. */
  readonly applicationKey: ApplicationKey
  /** The application's `tokenGeneration` in which it was issued: in any other one it is revoked. */
  readonly generation: number
  /** Milliseconds since the epoch. */
  readonly issuedAt: number
  /** Milliseconds since the epoch; null: it is not revoked. */
  readonly revokedAt: number | null
}

/** A new access token: 64 characters of base64url, id ‖ secret, and what the store keeps of it. */
export function mintToken(
  applicationKey: ApplicationKey,
  issuedAt: number,
  generation = 0,
): { accessToken: string; stored: StoredToken } {
  const bytes = drawRandom()
  bytes.writeUIntBE(issuedAt, 0, 6)
  bytes[6] = 0x70 | ((bytes[6] as number) & 0x0f)
  bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f)
  return {
    accessToken: bytes.toString('base64url'),
    stored: {
      id: bytes.subarray(0, ID_BYTES),
      secretHash: hashTokenSecret(bytes.subarray(ID_BYTES)),
      applicationKey,
      generation,
      issuedAt,
      revokedAt: null,
    },
  }
}

/** Parses an access token. Returns undefined for text that this issuer cannot have issued. */
export function parseToken(accessToken: string): { id: Buffer; secret: Buffer } | undefined {
  if (!/^[A-Za-z0-9_-]{64}$/.test(accessToken)) return undefined
  const bytes = Buffer.from(accessToken, 'base64url')
  return { id: bytes.subarray(0, ID_BYTES), secret: bytes.subarray(ID_BYTES) }
}

/** Whether a presented token secret is the stored one, in constant time. */
export function isTokenSecret(secret: Buffer, stored: StoredToken): boolean {
  return timingSafeEqual(hashTokenSecret(secret), stored.secretHash)
}

/** When a token expires, in milliseconds since the epoch. */
export function expiresAt({ issuedAt }: StoredToken): number {
  return issuedAt + TOKEN_LIFETIME
}

/** A token's id as people and logs write it: a UUID (RFC 9562 §4). */
export function tokenIdText(id: Buffer): string {
  const hex = id.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** The smallest id that a token issued at this time can have: every older token sorts before it. */
export function firstTokenIdAt(time: number): Buffer {
  const id = Buffer.alloc(ID_BYTES)
  id.writeUIntBE(time, 0, 6)
  return id
}

/** By way of text: a digest that is a Buffer from the start is slower in Node.js (docs/performance). */
function hashTokenSecret(secret: Buffer): Buffer {
  return Buffer.from(hash('sha256', secret, 'binary'), 'binary')
}

/** The unguessable bytes of a token, each used once. */
function drawRandom(): Buffer {
  const size = ID_BYTES + SECRET_BYTES
  if (used === pool.length) {
    pool = randomBytes(size * DRAWS)
    used = 0
  }
  used += size
  return pool.subarray(used - size, used)
}
