import { randomBytes, randomInt } from 'node:crypto'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** How many draws one call of the generator serves. */
const DRAWS = 64

/** Unguessable text of `[A-Za-z0-9]`, the same bytes with and without form encoding; 5.95 bits per character. */
export function randomString(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}

/**
 * Returns a function that draws `size` unguessable bytes per call, each byte used once. Many draws share one call of the
 * generator, which is expensive (docs/performance).
 */
export function randomPool(size: number): () => Buffer {
  let pool = Buffer.alloc(0)
  let used = 0
  return () => {
    if (used === pool.length) {
      pool = randomBytes(size * DRAWS)
      used = 0
    }
    used += size
    return pool.subarray(used - size, used)
  }
}
