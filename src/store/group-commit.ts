interface Waiting {
  write: () => void
  resolve: () => void
  reject: (error: unknown) => void
}

/**
 * Makes all writes of one turn of the event loop in one transaction; those that come before it is on disk are the next
 * one. `transact` makes a transaction: at each attempt it asks for the writes, so what came while it waited for a lock
 * is made with the others. The function returned resolves when `sync` has brought the transaction to the disk, and
 * rejects with what either of them threw.
 */
export function createGroupCommit(
  transact: (writes: () => (() => void)[]) => Promise<void>,
  sync: () => Promise<void>,
): (write: () => void) => Promise<void> {
  let group: Waiting[] = []
  let committing = false

  function add(write: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      if (group.length === 0 && !committing) setImmediate(commit)
      group.push({ write, resolve, reject })
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
    if (group.length > 0) setImmediate(commit)
  }

  return add
}
