import { hash, randomBytes } from 'node:crypto'

/** How many budgets are remembered: 16 bytes each, 1 MiB in total. */
const SLOTS = 65_536

/** How many slots can hold the budget of a given name. */
const WAYS = 8

/** `atOnce` is how much can be spent at once, `interval` the milliseconds until one more can be spent. */
export interface Budget {
  readonly atOnce: number
  readonly interval: number
}

/**
 * Creates budgets by name (token buckets) in constant memory: if no slot is free, a name replaces the budget that will be full
 * soonest. So a flood of names can only reset budgets, never spend those of others. The clock must be monotonic.
 */
export function createBudgets(monotonic: () => number, { slots = SLOTS } = {}) {
  // Random, so that no caller can choose names that share slots.
  const key = randomBytes(16).toString('hex')
  const fingerprints = new Float64Array(slots)
  // When each budget will be full again, which implies how much of it is spent (GCRA); 0 if it is full.
  const fullAt = new Float64Array(slots)
  /** Many refusals in a row are of one client. */
  let last: { name: string; fingerprint: number; first: number } | undefined

  /** Spends one and returns 0; if the budget is used up, returns the milliseconds until one can be spent. */
  function spend(name: string, { atOnce, interval }: Budget): number {
    const now = Math.floor(monotonic())
    const { fingerprint, first } = place(name)
    const slot = find(fingerprint, first) ?? soonestFull(first)
    const isOurs = fingerprints[slot] === fingerprint
    const full = Math.max(isOurs ? (fullAt[slot] as number) : 0, now)
    const wait = full + interval - (now + atOnce * interval)
    if (wait > 0) return wait
    fingerprints[slot] = fingerprint
    fullAt[slot] = full + interval
    return 0
  }

  /** Undoes one spending, unless the slot has been replaced. */
  function giveBack(name: string, { interval }: Budget): void {
    const { fingerprint, first } = place(name)
    const slot = find(fingerprint, first)
    if (slot !== undefined) fullAt[slot] = (fullAt[slot] as number) - interval
  }

  /** A hash of the name (52 bits, which a number holds exactly), and the first slot where its budget can be. */
  function place(name: string): { fingerprint: number; first: number } {
    if (last?.name === name) return last
    const digest = hash('sha256', key + name)
    const fingerprint = Number.parseInt(digest.slice(0, 13), 16)
    last = { name, fingerprint, first: (Number.parseInt(digest.slice(13, 21), 16) % (slots / WAYS)) * WAYS }
    return last
  }

  function find(fingerprint: number, first: number): number | undefined {
    for (let slot = first; slot < first + WAYS; slot++) if (fingerprints[slot] === fingerprint) return slot
    return undefined
  }

  function soonestFull(first: number): number {
    let soonest = first
    for (let slot = first; slot < first + WAYS; slot++) {
      if ((fullAt[slot] as number) < (fullAt[soonest] as number)) soonest = slot
    }
    return soonest
  }

  return { spend, giveBack }
}
