import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { ApplicationKey } from './application.ts'

/** 60 minutes, in milliseconds. Fixed by the contract (docs/contract.md). */
export const TOKEN_LIFETIME = 60 * 60 * 1000

const ID_BYTES = 16
const SECRET_BYTES = 32

/** How many tokens share a call of the random generator, which is expensive (docs/performance). */
const TOKENS_PER_DRAW = 64
let pool = Buffer.alloc(0)
let used = 0

/** An access token as it is stored: enough to recognise it, not enough to forge it. */
export interface StoredToken {
  /** A UUIDv7 (RFC 9562 §5.7) of `issuedAt`, 16 bytes. Public: it is the `jti`, and it is logged. */
  readonly id: Buffer
  /** SHA-256 of the token's secret, 32 bytes. */
  readonly secretHash: Buffer
  readonly applicationKey: ApplicationKey
  /**
   * The application's `tokenGeneration` when it was issued. If that has changed since, the token is revoked. With an audience,
   * minus one minus that number, which is no generation: a program that does not know audiences refuses the token.
   */
  readonly generation: number
  /** The id of the only suite where it is valid; null: every suite that its application is approved for. */
  readonly audience: string | null
  readonly issuedAt: number
  readonly revokedAt: number | null
}

/** A new access token: 64 characters of base64url, id ‖ secret; and its stored form. */
export function mintToken(
  applicationKey: ApplicationKey,
  issuedAt: number,
  generation = 0,
  audience: string | null = null,
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
      generation: audience === null ? generation : -1 - generation,
      audience,
      issuedAt,
      revokedAt: null,
    },
  }
}

/** Whether a token was issued in this generation of its application. */
export function isOfGeneration({ generation, audience }: StoredToken, current: number): boolean {
  return generation === (audience === null ? current : -1 - current)
}

/** Splits a token into id and secret. Undefined for text that this issuer cannot have issued. */
export function parseToken(accessToken: string): { id: Buffer; secret: Buffer } | undefined {
  if (!/^[A-Za-z0-9_-]{64}$/.test(accessToken)) return undefined
  const bytes = Buffer.from(accessToken, 'base64url')
  return { id: bytes.subarray(0, ID_BYTES), secret: bytes.subarray(ID_BYTES) }
}

/** Whether a secret belongs to a stored token. Compares in constant time. */
export function isTokenSecret(secret: Buffer, stored: StoredToken): boolean {
  return timingSafeEqual(hashTokenSecret(secret), stored.secretHash)
}

export function expiresAt({ issuedAt }: StoredToken): number {
  return issuedAt + TOKEN_LIFETIME
}

/** The id as a UUID (RFC 9562 §4). */
export function tokenIdText(id: Buffer): string {
  const hex = id.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** The smallest id of a token issued at this time: every older token sorts before it. */
export function firstTokenIdAt(time: number): Buffer {
  const id = Buffer.alloc(ID_BYTES)
  id.writeUIntBE(time, 0, 6)
  return id
}

/** Gets the digest as text, because getting it as a Buffer is slower in Node.js (docs/performance). */
function hashTokenSecret(secret: Buffer): Buffer {
  return Buffer.from(hash('sha256', secret, 'binary'), 'binary')
}

function drawRandom(): Buffer {
  const size = ID_BYTES + SECRET_BYTES
  if (used === pool.length) {
    pool = randomBytes(size * TOKENS_PER_DRAW)
    used = 0
  }
  used += size
  return pool.subarray(used - size, used)
}
