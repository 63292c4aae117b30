import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { RequestRefused } from '../domain/refusal.ts'
import { matchesImported, type Secret } from '../domain/secret.ts'
import { createFairQueue, type Places } from '../limits/fair-queue.ts'

/** How many checks run at a time, and how many may wait, per address prefix and in total. Four take about 0.2 s. */
const QUEUE = { concurrency: 2, perParty: 4, total: 64 }

/** How many may wait for a prefix that many clients share. */
const PER_SHARED = 32

/** The share of those places that unregistered client ids may take: a caller can make up any number of them. */
const UNREGISTERED = 1 / 2

const CACHE_CAPACITY = 10_000

/** A caller that waits for a check. */
export interface Party {
  prefix: string
  /** Whether many clients share the prefix. */
  isShared: boolean
  isRegistered: boolean
}

type Imported = Pick<Secret, 'digest'>
export type ImportedSecrets = ReturnType<typeof createImportedSecrets>

/**
 * Checks imported secrets. Scrypt is slow on purpose, so it runs off the event loop in a fair queue. Verified secrets are cached
 * in memory, as keyed hashes; only this process has the key.
 */
export function createImportedSecrets({ queue = QUEUE, cacheCapacity = CACHE_CAPACITY } = {}) {
  const key = randomBytes(32)
  const verified = new Map<string, Buffer>()
  const checks = createFairQueue(queue)

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
    const check = checks.run(party.prefix, () => findMatch(secrets, presented), placesOf(party, queue))
    if (!check) throw new RequestRefused('too many imported secrets to check')
    const match = await check
    if (!match) return false
    if (verified.size >= cacheCapacity) verified.delete(verified.keys().next().value as string)
    verified.set(match.digest, fingerprint(presented))
    return true
  }

  return { findVerified, verify, load: checks.load }
}

/** Always makes all comparisons, so that its duration does not depend on the result. */
async function findMatch(secrets: readonly Imported[], presented: string): Promise<Imported | undefined> {
  let match: Imported | undefined
  for (const secret of secrets) if (await matchesImported(secret, presented)) match ??= secret
  return match
}

function placesOf({ isShared, isRegistered }: Party, { perParty, total }: Places): Places {
  const part = isRegistered ? 1 : UNREGISTERED
  return { perParty: isShared ? PER_SHARED * part : perParty, total: total * part }
}
