import { StoreUnavailable } from '../domain/store.ts'

interface Waiting<Item, Result> {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

/**
 * Does many things in one round trip to the database: what comes while one is under way is the next batch. Returns a
 * function that adds an item; it resolves to the item's result when the round trip has ended, or rejects with what that
 * threw. For writes and for reads: no item is answered by a round trip that began before it came.
 *
 * A batch waits for as long as every turn of the event loop brings more items, `maxTurns` at most: the more a round trip
 * costs, the more turns are worth it (docs/performance). `roundTrip` takes the items when it begins, and again whenever it
 * begins anew because the database was locked: those that came meanwhile are then among them, and share its end. It
 * returns a result for each item, in their order.
 *
 * At most `maxItems` wait for an answer; a further one is refused at once with StoreUnavailable, and is never done.
 */
export function createBatch<Item, Result>(
  roundTrip: (take: () => Item[]) => Promise<Result[]>,
  { maxTurns, maxItems = Number.POSITIVE_INFINITY }: { maxTurns: number; maxItems?: number },
): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = []
  let isUnderWay = false
  let unanswered = 0

  function add(item: Item): Promise<Result> {
    if (unanswered >= maxItems) return Promise.reject(new StoreUnavailable(`${maxItems} requests wait already`))
    unanswered++
    return new Promise((resolve, reject) => {
      if (waiting.length === 0 && !isUnderWay) startSoon()
      waiting.push({ item, resolve, reject })
    })
  }

  function startSoon(turns = maxTurns, before = 0): void {
    setImmediate(() => {
      if (turns > 1 && waiting.length > before) startSoon(turns - 1, waiting.length)
      else void run()
    })
  }

  async function run(): Promise<void> {
    const batch = waiting
    waiting = []
    function take(): Item[] {
      batch.push(...waiting)
      waiting = []
      return batch.map(({ item }) => item)
    }

    isUnderWay = true
    try {
      const results = await roundTrip(take)
      for (const [at, { resolve }] of batch.entries()) resolve(results[at] as Result)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    unanswered -= batch.length
    // After those who were answered have gone on: where a batch waits for one turn only, what they ask next is done at once.
    process.nextTick(() => {
      isUnderWay = false
      if (waiting.length > 0 && maxTurns > 1) startSoon()
      else if (waiting.length > 0) void run()
    })
  }

  return add
}
