import { CHECKSUM_LENGTH, checksum } from './base62.ts'
import { randomString } from './random.ts'

/** Lets secret scanners recognize admin keys. */
const PREFIX = 'otsa_'
/** 256 bits. */
const RANDOM_LENGTH = 43

const ADMIN_KEY = new RegExp(`^${PREFIX}[A-Za-z0-9]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`)

/** A new admin key: `otsa_`, 43 random characters, and a checksum over both. */
export function generateAdminKey(): string {
  const unchecked = `${PREFIX}${randomString(RANDOM_LENGTH)}`
  return unchecked + checksum(unchecked)
}

/** Checks prefix, length and checksum; whether the key exists is up to the store. */
export function isAdminKey(text: string): boolean {
  return ADMIN_KEY.test(text) && checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)
}
