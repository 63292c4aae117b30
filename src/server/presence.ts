import { setTimeout as sleep } from 'node:timers/promises'
import { NODE_INTERVAL_MS, type ServerNode } from '../domain/node.ts'
import type { Nodes } from '../domain/store.ts'

/** How long `stop` waits for the node to be removed from the store. Milliseconds. */
const STOP_TIMEOUT_MS = 1000

/**
 * Records this node and its figures in the store at each interval, until it is stopped. Failures are ignored: the next record
 * makes up for them, and others report that the store is unavailable.
 */
export function startPresence(nodes: Nodes, thisNode: () => ServerNode, { interval = NODE_INTERVAL_MS } = {}) {
  const stopping = new AbortController()

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await nodes.record(thisNode()).catch(() => {})
      await sleep(interval, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
    }
    await nodes.remove(thisNode().id).catch(() => {})
  }

  const running = run()
  return {
    /** Removes the node from the store. Resolves after STOP_TIMEOUT_MS at the latest. */
    async stop(): Promise<void> {
      stopping.abort()
      const timeout = new AbortController()
      await Promise.race([running, sleep(STOP_TIMEOUT_MS, undefined, timeout)])
      timeout.abort()
    },
  }
}
