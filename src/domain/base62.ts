import { crc32 } from 'node:zlib'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Enough for 32 bits, and for the seconds of the next 1,700 years. */
const LENGTH = 6

/** How long a checksum is. Characters. */
export const CHECKSUM_LENGTH = LENGTH

/** The CRC-32 of a text in base 62. */
export function checksum(text: string): string {
  return toBase62(crc32(text))
}

/** A number below 62⁶ in six digits of base 62: the digits before the letters, with zeros before it. */
export function toBase62(number: number): string {
  let rest = number
  let digits = ''
  while (digits.length < LENGTH) {
    digits = DIGITS.charAt(rest % DIGITS.length) + digits
    rest = Math.floor(rest / DIGITS.length)
  }
  return digits
}

/** The number that `toBase62` made this of. */
export function fromBase62(digits: string): number {
  return [...digits].reduce((number, digit) => number * DIGITS.length + DIGITS.indexOf(digit), 0)
}
