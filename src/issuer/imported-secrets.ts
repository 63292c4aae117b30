import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { RequestRefused } from '../domain/refusal.ts'
import { matchesImported, type Secret } from '../domain/secret.ts'

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
  const checks = createFairQueue(queue)

  const fingerprint = (presented: string) => createHmac('sha256', key).update(presented).digest()

  /** The one among these secrets that was presented and verified before. Takes as long for a client that has none. */
  function findVerified<S extends Imported>(secrets: readonly S[], presented: string): S | undefined {
    if (verified.size === 0) return undefined
    const expected = fingerprint(presented)
    return secrets.find(({ digest }) => {
      const known = verified.get(digest)
      return known !== undefined && timingSafeEqual(known, expected)
    })
  }

  /**
   * Compares with all of these the slow way, when it is this party's turn. Refuses when too many checks are waiting already.
   */
  async function verify(secrets: readonly Imported[], presented: string, party: string): Promise<boolean> {
    const matched = await checks.run(party, () => findMatch(secrets, presented))
    if (matched === undefined) throw new RequestRefused('too many imported secrets to check')
    if (matched) cache(matched, presented)
    return matched !== false
  }

  async function findMatch(secrets: readonly Imported[], presented: string): Promise<Imported | false> {
    let match: Imported | false = false
    for (const secret of secrets) if (await matchesImported(secret, presented)) match ||= secret
    return match
  }

  function cache(secret: Imported, presented: string): void {
    if (verified.size >= cacheCapacity) verified.delete(verified.keys().next().value as string)
    verified.set(secret.digest, fingerprint(presented))
  }

  return { findVerified, verify, load: checks.load }
}

export interface FairQueueOptions {
  /** How many tasks are under way at the same time. */
  concurrency: number
  /** How many may wait, of one party and in all. */
  perParty: number
  total: number
}

/**
 * A queue in which parties take turns: who brings more waits for longer, and nobody else does. `run` runs a task when it is
 * its turn, and returns undefined at once where too many wait.
 */
export function createFairQueue({ concurrency, perParty, total }: FairQueueOptions) {
  /** Who waits: the party whose turn is next comes first. */
  const waiting = new Map<string, (() => void)[]>()
  let size = 0
  let underWay = 0

  function run<Result>(party: string, task: () => Promise<Result>): Promise<Result> | undefined {
    if (underWay < concurrency) {
      underWay++
      return perform(task)
    }
    const own = waiting.get(party) ?? []
    if (own.length >= perParty || size >= total) return undefined
    const turn = new Promise<void>((resolve) => own.push(resolve))
    waiting.set(party, own)
    size++
    return turn.then(() => perform(task))
  }

  async function perform<Result>(task: () => Promise<Result>): Promise<Result> {
    try {
      return await task()
    } finally {
      handOver()
    }
  }

  /** Lets the next party begin in the place of what has ended, and puts it behind all others. */
  function handOver(): void {
    const [next] = waiting
    if (!next) {
      underWay--
      return
    }
    const [party, [begin, ...rest]] = next
    waiting.delete(party)
    if (rest.length > 0) waiting.set(party, rest)
    size--
    begin?.()
  }

  return { run, load: () => ({ running: underWay, waiting: size }) }
}
