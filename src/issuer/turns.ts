import type { RequestReason } from '../domain/reasons.ts'
import { RequestRefused } from '../domain/refusal.ts'
import { createFairQueue, type Places } from '../limits/fair-queue.ts'

/** How many checks run at a time, and how many may wait, per address prefix and in total. Four of scrypt take about 0.2 s. */
export const QUEUE = { concurrency: 2, perParty: 4, total: 64 }

/** How many may wait for a prefix that many clients share. */
const PER_SHARED = 32

/** The share of those places that unregistered client ids may take: a caller can make up any number of them. */
const UNREGISTERED = 1 / 2

/** A caller that waits for a check. */
export interface Party {
  prefix: string
  /** Whether many clients share the prefix. */
  isShared: boolean
  isRegistered: boolean
}

/** A fair queue of checks that are expensive. `take` throws RequestRefused, for this reason, if too many wait. */
export function createTurns(reason: RequestReason, queue = QUEUE) {
  const checks = createFairQueue(queue)

  async function take<Result>(party: Party, check: () => Promise<Result>): Promise<Result> {
    const turn = checks.run(party.prefix, check, placesOf(party, queue))
    if (!turn) throw new RequestRefused(reason)
    return turn
  }

  return { take, load: checks.load }
}

function placesOf({ isShared, isRegistered }: Party, { perParty, total }: Places): Places {
  const part = isRegistered ? 1 : UNREGISTERED
  return { perParty: isShared ? PER_SHARED * part : perParty, total: total * part }
}
