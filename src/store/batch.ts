import { StoreUnavailable } from '../domain/store.ts'

/**
 * `add` adds an item to a batch and resolves to that item's result, or rejects with the error of the whole batch. Each batch
 * is one round trip to the database; items that arrive during it form the next batch, so no item is answered by a round trip
 * that began before the item arrived.
 *
 * A batch waits for as long as every turn of the event loop brings more items, for `maxTurns` turns at most: the slower
 * a round trip, the more turns are worth waiting for (docs/performance). `roundTrip` calls `take` when it begins, and
 * again when it retries because the database was locked: items that have arrived since then join the batch. It returns
 * the results in the order of the items.
 *
 * At most `maxItems` may be unanswered. Any further item is rejected at once with StoreUnavailable and never executed, unless it is
 * urgent. `isBusy` tells whether at least half of `maxItems` are unanswered.
 */
export function createBatch<Item, Result>(
  roundTrip: (take: () => Item[]) => Promise<Result[]>,
  { maxTurns, maxItems = Number.POSITIVE_INFINITY }: { maxTurns: number; maxItems?: number },
) {
  let waiting: { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }[] = []
  let isUnderWay = false
  let unanswered = 0

  function add(item: Item, { isUrgent = false } = {}): Promise<Result> {
    if (unanswered >= maxItems && !isUrgent)
      return Promise.reject(new StoreUnavailable(`${maxItems} requests are already waiting`))
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
      for (let at = 0; at < batch.length; at++) batch[at]?.resolve(results[at] as Result)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    unanswered -= batch.length
    // Runs after the answered callers have continued. If `maxTurns` is 1, the items they add next start a batch at once.
    process.nextTick(() => {
      isUnderWay = false
      if (waiting.length > 0 && maxTurns > 1) startSoon()
      else if (waiting.length > 0) void run()
    })
  }

  return { add, isBusy: () => unanswered >= maxItems / 2 }
}
