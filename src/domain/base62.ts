import { crc32 } from 'node:zlib'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Digits: enough for 32 bits, and for Unix seconds until the year 3769. */
const LENGTH = 6

/** Characters. */
export const CHECKSUM_LENGTH = LENGTH

/** The CRC-32 of a text, in base 62. */
export function checksum(text: string): string {
  return toBase62(crc32(text))
}

/** Writes a number below 62⁶ as six base-62 digits (0-9, A-Z, a-z), padded with zeros. */
export function toBase62(number: number): string {
  let rest = number
  let digits = ''
  while (digits.length < LENGTH) {
    digits = DIGITS.charAt(rest % DIGITS.length) + digits
    rest = Math.floor(rest / DIGITS.length)
  }
  return digits
}

/** The inverse of `toBase62`. */
export function fromBase62(digits: string): number {
  return [...digits].reduce((number, digit) => number * DIGITS.length + DIGITS.indexOf(digit), 0)
}
