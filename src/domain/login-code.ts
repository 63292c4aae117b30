import { CHECKSUM_LENGTH, checksum, fromBase62, toBase62 } from './base62.ts'
import { randomString } from './random.ts'

/** 190 bits. */
const RANDOM_LENGTH = 32

const LOGIN_CODE = /^[A-Za-z0-9]{44}$/

/** A new code for a login link: its expiry in seconds, 32 random characters, and a checksum over both. */
export function generateLoginCode(endsAt: number): string {
  const unchecked = toBase62(Math.floor(endsAt / 1000)) + randomString(RANDOM_LENGTH)
  return unchecked + checksum(unchecked)
}

/**
 * When a login code expires, in milliseconds since the epoch; undefined if it is malformed. Proves nothing: anyone can make up a
 * well-formed code, and only the store knows which ones are valid.
 */
export function endOfLoginCode(code: string): number | undefined {
  if (!LOGIN_CODE.test(code) || checksum(code.slice(0, -CHECKSUM_LENGTH)) !== code.slice(-CHECKSUM_LENGTH)) return
  return fromBase62(code.slice(0, -RANDOM_LENGTH - CHECKSUM_LENGTH)) * 1000
}
