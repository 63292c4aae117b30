/** How long a row waits for a locked store, and how often it tries. Milliseconds. */
const PATIENCE = 2000
const RETRY = 20

interface Waiting<Row> {
  row: Row
  resolve: () => void
  reject: (error: unknown) => void
}

/**
 * Writes all rows of one turn of the event loop in one transaction: one disk wait for all of them. `write` is one
 * transaction; when it throws what `isBusy` recognises, the rows wait and try again for two seconds. `add` resolves
 * after the commit and rejects with what `write` threw.
 */
export function createGroupCommit<Row>(write: (rows: Row[]) => void, isBusy: (error: unknown) => boolean) {
  let group: Waiting<Row>[] = []
  let giveUpAt = 0

  function add(row: Row): Promise<void> {
    return new Promise((resolve, reject) => {
      if (group.length === 0) {
        giveUpAt = performance.now() + PATIENCE
        setImmediate(commit)
      }
      group.push({ row, resolve, reject })
    })
  }

  function commit(): void {
    const members = group
    try {
      write(members.map(({ row }) => row))
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
