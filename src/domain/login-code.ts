import { CHECKSUM_LENGTH, checksum, fromBase62, toBase62 } from './base62.ts'
import { randomString } from './random.ts'

/** 190 bits. */
const RANDOM_LENGTH = 32

const LOGIN_CODE = /^[A-Za-z0-9]{44}$/

/** What a login link that ends then has: the end in seconds, 32 random characters, and the checksum of all that. */
export function generateLoginCode(endsAt: number): string {
  const unchecked = toBase62(Math.floor(endsAt / 1000)) + randomString(RANDOM_LENGTH)
  return unchecked + checksum(unchecked)
}

/**
 * When a login code ends, in milliseconds since the epoch; undefined: it is none. Anybody can make one that looks right: whether
 * it lets somebody in is for the store to say.
 */
export function endOfLoginCode(code: string): number | undefined {
  if (!LOGIN_CODE.test(code) || checksum(code.slice(0, -CHECKSUM_LENGTH)) !== code.slice(-CHECKSUM_LENGTH)) return
  return fromBase62(code.slice(0, -RANDOM_LENGTH - CHECKSUM_LENGTH)) * 1000
}
