/** How many tasks may wait: per party, and in total. */
export interface Places {
  perParty: number
  total: number
}

/**
 * A queue in which parties take turns, so that a party that adds many tasks delays only itself. `concurrency`: how many tasks
 * run at the same time.
 */
export function createFairQueue({ concurrency, ...places }: Places & { concurrency: number }) {
  /** The tasks that wait. The party whose turn is next comes first. */
  const waiting = new Map<string, (() => void)[]>()
  let size = 0
  let running = 0

  /** Runs a task when it is its party's turn. Returns undefined if too many already wait. */
  function run<Result>(
    party: string,
    task: () => Promise<Result>,
    { perParty, total }: Places = places,
  ): Promise<Result> | undefined {
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
