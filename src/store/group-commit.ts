/** How long a write waits for a locked store, and how often it tries. Milliseconds. */
const PATIENCE = 2000
const RETRY = 20

interface Waiting {
  write: () => void
  resolve: () => void
  reject: (error: unknown) => void
}

/**
 * Makes all writes of one turn of the event loop in one transaction: one disk wait for all of them. `transact` is
 * one transaction; when it throws what `isBusy` recognises, the writes wait and are tried again for two seconds.
 * `add` resolves after the commit and rejects with what `transact` threw; then none of the group was made.
 */
export function createGroupCommit(transact: (writes: (() => void)[]) => void, isBusy: (error: unknown) => boolean) {
  let group: Waiting[] = []
  let giveUpAt = 0

  function add(write: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      if (group.length === 0) {
        giveUpAt = performance.now() + PATIENCE
        setImmediate(commit)
      }
      group.push({ write, resolve, reject })
    })
  }

  function commit(): void {
    const members = group
    try {
      transact(members.map(({ write }) => write))
    } catch (error) {
      if (isBusy(error) && performance.now() < giveUpAt) {
        setTimeout(commit, RETRY)
        return
      }
      group = []
      for (const { reject } of members) reject(error)
      return
    }
    group = []
    for (const { resolve } of members) resolve()
  }

  return { add }
}
