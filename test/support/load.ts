import { setTimeout as sleep } from 'node:timers/promises'

/** Between two requests of a client: the load is there to be noticed, not to be heavy. */
const PAUSE_MS = 5

/** Asks again and again, with some clients at a time, until it is stopped. */
export function startLoad(ask: (client: number) => Promise<number>, { clients = 4 } = {}) {
  const statuses = new Set<number>()
  let isOver = false
  const running = Array.from({ length: clients }, async (_, client) => {
    while (!isOver) {
      statuses.add(await ask(client))
      await sleep(PAUSE_MS)
    }
  })
  return {
    /** Resolves to the statuses of all answers. */
    async stop(): Promise<number[]> {
      isOver = true
      await Promise.all(running)
      return [...statuses].sort()
    },
  }
}

const TRIES = 5

/** Asks again after 503, as clients do: while others use the machine, another process may hold the lock for longer than a request waits. */
export async function askAgain(ask: () => Promise<number>): Promise<number> {
  for (let left = TRIES; ; left--) {
    const status = await ask()
    if (status !== 503 || left === 0) return status
  }
}
