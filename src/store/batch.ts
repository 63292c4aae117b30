interface Waiting {
  write: () => void
  resolve: () => void
  reject: (error: unknown) => void
}

/** How many turns of the event loop a group waits at most. */
const TURNS = 9

/**
 * Makes writes in groups, each in one transaction. A group waits for as long as every turn of the event loop brings more,
 * for a transaction costs much and a write in it little: to wait for one turn only gave 64 connections a tenth fewer
 * tokens and 8 a quarter. Those that come before it is on disk are the next group. `transact` makes a transaction: at
 * each attempt it asks for the writes, so what came while it waited for a lock is made with the others. The function
 * returned resolves when `sync` has brought the transaction to the disk, and rejects with what either of them threw.
 */
export function createGroupCommit(
  transact: (writes: () => (() => void)[]) => Promise<void>,
  sync: () => Promise<void>,
): (write: () => void) => Promise<void> {
  let group: Waiting[] = []
  let committing = false

  function add(write: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      if (group.length === 0 && !committing) commitSoon()
      group.push({ write, resolve, reject })
    })
  }

  function commitSoon(turns = TURNS, before = 0): void {
    setImmediate(() => {
      if (turns > 1 && group.length > before) commitSoon(turns - 1, group.length)
      else void commit()
    })
  }

  async function commit(): Promise<void> {
    const members: Waiting[] = []
    function gather(): (() => void)[] {
      members.push(...group)
      group = []
      return members.map(({ write }) => write)
    }

    committing = true
    try {
      await transact(gather).catch((error) => {
        // Those who came meanwhile, for the same lock, fail too.
        gather()
        throw error
      })
      await sync()
      for (const { resolve } of members) resolve()
    } catch (error) {
      for (const { reject } of members) reject(error)
    }
    committing = false
    if (group.length > 0) commitSoon()
  }

  return add
}
