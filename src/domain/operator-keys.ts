import { crc32 } from 'node:zlib'
import { randomString } from './random.ts'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Digits: enough for 32 bits, and for Unix seconds until the year 3769. */
const CHECKSUM_LENGTH = 6

/** Lets secret scanners recognize admin keys. */
const PREFIX = 'otsa_'
/** 256 bits. */
const KEY_RANDOM_LENGTH = 43

const ADMIN_KEY = new RegExp(`^${PREFIX}[A-Za-z0-9]{${KEY_RANDOM_LENGTH + CHECKSUM_LENGTH}}$`)

/** A new admin key: `otsa_`, 43 random characters, and a checksum over both. */
export function generateAdminKey(): string {
  const unchecked = `${PREFIX}${randomString(KEY_RANDOM_LENGTH)}`
  return unchecked + checksum(unchecked)
}

/** Checks prefix, length and checksum; whether the key exists is up to the store. */
export function isAdminKey(text: string): boolean {
  return ADMIN_KEY.test(text) && checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)
}

/** 190 bits. */
const CODE_RANDOM_LENGTH = 32

const LOGIN_CODE = /^[A-Za-z0-9]{44}$/

/** A new code for a login link: its expiry in seconds, 32 random characters, and a checksum over both. */
export function generateLoginCode(endsAt: number): string {
  const unchecked = toBase62(Math.floor(endsAt / 1000)) + randomString(CODE_RANDOM_LENGTH)
  return unchecked + checksum(unchecked)
}

/**
 * When a login code expires, in milliseconds since the epoch; undefined if it is malformed. Proves nothing: anyone can make up a
 * well-formed code, and only the store knows which ones are valid.
 */
export function endOfLoginCode(code: string): number | undefined {
  if (!LOGIN_CODE.test(code) || checksum(code.slice(0, -CHECKSUM_LENGTH)) !== code.slice(-CHECKSUM_LENGTH)) return
  return fromBase62(code.slice(0, -CODE_RANDOM_LENGTH - CHECKSUM_LENGTH)) * 1000
}

/** The CRC-32 of a text, in base 62. */
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

/** The inverse of `toBase62`. */
function fromBase62(digits: string): number {
  return [...digits].reduce((number, digit) => number * DIGITS.length + DIGITS.indexOf(digit), 0)
}
