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
