import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { RequestRefused } from '../domain/refusal.ts'
import { matchesImported, type Secret } from '../domain/secret.ts'

/** How many checks run at a time, and how many may wait: for each party, and in total. Four take about 0.2 s. */
const QUEUE = { concurrency: 2, perParty: 4, total: 64 }
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

  /** Compares a presented secret with these when it is its party's turn. Throws RequestRefused if too many checks are waiting. */
  async function verify(secrets: readonly Imported[], presented: string, party: string): Promise<boolean> {
    const check = checks.run(party, () => findMatch(secrets, presented))
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

/**
 * A queue in which parties take turns, so that one that adds much delays only itself. `concurrency`: how many tasks run at the
 * same time. `perParty`, `total`: how many may wait.
 */
export function createFairQueue({ concurrency, perParty, total }: typeof QUEUE) {
  /** The tasks that wait. The party whose turn is next comes first. */
  const waiting = new Map<string, (() => void)[]>()
  let size = 0
  let running = 0

  /** Runs a task when it is its party's turn. Returns undefined if too many wait. */
  function run<Result>(party: string, task: () => Promise<Result>): Promise<Result> | undefined {
    if (running < concurrency) {
      running++
      return task().finally(next)
    }
    const own = waiting.get(party) ?? []
    if (own.length >= perParty || size >= total) return undefined
    const turn = new Promise<void>((resolve) => own.push(resolve))
    waiting.set(party, own)
    size++
    return turn.then(() => task().finally(next))
  }

  /** Begins a task of the next party, and puts the party behind all others. */
  function next(): void {
    const [first] = waiting
    if (!first) {
      running--
      return
    }
    const [party, [begin, ...rest]] = first
    waiting.delete(party)
    if (rest.length > 0) waiting.set(party, rest)
    size--
    begin?.()
  }

  return { run, load: () => ({ running, waiting: size }) }
}
