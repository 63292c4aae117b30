import { CHECKSUM_LENGTH, checksum } from './base62.ts'
import { randomString } from './random.ts'

/** What an admin key begins with, so that secret scanners know one. */
const PREFIX = 'otsa_'
/** 256 bits. */
const RANDOM_LENGTH = 43

const ADMIN_KEY = new RegExp(`^${PREFIX}[A-Za-z0-9]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`)

/** A new admin key: `otsa_`, 43 random characters, and the checksum of all that. */
export function generateAdminKey(): string {
  const unchecked = `${PREFIX}${randomString(RANDOM_LENGTH)}`
  return unchecked + checksum(unchecked)
}

/** Whether a text can be an admin key: prefix, length and checksum are right. It need not be known to the store. */
export function isAdminKey(text: string): boolean {
  return ADMIN_KEY.test(text) && checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)
}
