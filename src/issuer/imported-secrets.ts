import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { matchesImported, type Secret } from '../domain/secret.ts'
import { createTurns, type Party, QUEUE } from './turns.ts'

const CACHE_CAPACITY = 10_000

type Imported = Pick<Secret, 'digest'>
export type ImportedSecrets = ReturnType<typeof createImportedSecrets>

/**
 * Checks imported secrets. Scrypt is slow on purpose, so it runs off the event loop in a fair queue. Verified secrets are cached
 * in memory, as keyed hashes; only this process has the key.
 */
export function createImportedSecrets({ queue = QUEUE, cacheCapacity = CACHE_CAPACITY } = {}) {
  const key = randomBytes(32)
  const verified = new Map<string, Buffer>()
  const turns = createTurns('too many imported secrets to check', queue)

  const fingerprint = (presented: string) => createHmac('sha256', key).update(presented).digest()

  /** Finds the secret that was presented if it was verified before. Takes the same time for a client without secrets. */
  function findVerified<S extends Imported>(secrets: readonly S[], presented: string): S | undefined {
    if (verified.size === 0) return undefined
    const expected = fingerprint(presented)
    return secrets.find(({ digest }) => {
      const known = verified.get(digest)
      return known !== undefined && timingSafeEqual(known, expected)
    })
  }

  /** Compares a presented secret with these once it is its party's turn. Throws RequestRefused if too many checks are waiting. */
  async function verify(secrets: readonly Imported[], presented: string, party: Party): Promise<boolean> {
    const match = await turns.take(party, () => findMatch(secrets, presented))
    if (!match) return false
    if (verified.size >= cacheCapacity) verified.delete(verified.keys().next().value as string)
    verified.set(match.digest, fingerprint(presented))
    return true
  }

  return { findVerified, verify, load: turns.load }
}

/** Always makes all comparisons, so that its duration does not depend on the result. */
async function findMatch(secrets: readonly Imported[], presented: string): Promise<Imported | undefined> {
  let match: Imported | undefined
  for (const secret of secrets) if (await matchesImported(secret, presented)) match ??= secret
  return match
}
