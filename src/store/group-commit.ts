interface Waiting {
  write: () => void
  resolve: () => void
  reject: (error: unknown) => void
}

/**
 * Makes all writes of one turn of the event loop in one transaction. `transact` does that: at each attempt it asks for
 * the writes, so what came while it waited for a lock is made with the others. The function returned resolves when
 * `sync` has brought the transaction to the disk, and rejects with what either of them threw.
 */
export function createGroupCommit(
  transact: (writes: () => (() => void)[]) => Promise<void>,
  sync: () => Promise<void>,
): (write: () => void) => Promise<void> {
  let group: Waiting[] = []
  let transacting = false

  function add(write: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      if (group.length === 0 && !transacting) setImmediate(commit)
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
    const fail = (error: unknown) => {
      for (const { reject } of members) reject(error)
    }

    transacting = true
    try {
      await transact(gather)
    } catch (error) {
      gather()
      fail(error)
      return
    } finally {
      transacting = false
      if (group.length > 0) setImmediate(commit)
    }
    await sync().then(() => {
      for (const { resolve } of members) resolve()
    }, fail)
  }

  return add
}
