import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { RequestRefused } from '../domain/refusal.ts'
import { matchesImported, type Secret } from '../domain/secret.ts'
import { createFairQueue } from './fair-queue.ts'

/** Checks under way, and waiting: of one party, and in all. Four of one party take some 0.2 s. */
const QUEUE = { concurrency: 2, perParty: 4, total: 64 }
const CACHE_CAPACITY = 10_000

type Imported = Pick<Secret, 'digest'>
export type ImportedSecrets = ReturnType<typeof createImportedSecrets>

/**
 * Checks imported secrets. Scrypt is slow on purpose, so it runs off the event loop, two checks at a time, for which
 * parties take turns. A secret that was verified is cached: in memory only, as a hash under a key that ends with the
 * process.
 */
export function createImportedSecrets({ queue = QUEUE, cacheCapacity = CACHE_CAPACITY } = {}) {
  const key = randomBytes(32)
  const verified = new Map<string, Buffer>()
  const inTurn = createFairQueue(queue)

  const fingerprint = (presented: string) => createHmac('sha256', key).update(presented).digest()

  /** Whether this secret was presented and verified before. */
  function isVerified(secret: Imported, presented: string): boolean {
    const known = verified.get(secret.digest)
    return known !== undefined && timingSafeEqual(known, fingerprint(presented))
  }

  /** Compares the slow way, when it is this party's turn. Refuses when too many checks are waiting already. */
  async function verify(secret: Imported, presented: string, party: string): Promise<boolean> {
    const matched = await inTurn(party, () => matchesImported(secret, presented))
    if (matched === undefined) throw new RequestRefused('too many imported secrets to check')
    if (matched) cache(secret, presented)
    return matched
  }

  function cache(secret: Imported, presented: string): void {
    if (verified.size >= cacheCapacity) verified.delete(verified.keys().next().value as string)
    verified.set(secret.digest, fingerprint(presented))
  }

  return { isVerified, verify }
}
