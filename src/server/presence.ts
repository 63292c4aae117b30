import { setTimeout as sleep } from 'node:timers/promises'
import { NODE_INTERVAL_MS, type ServerNode } from '../domain/node.ts'
import type { Nodes } from '../domain/store.ts'

/** How long the end of a server waits for it to be noted. Milliseconds. */
const PATIENCE_MS = 1000

/**
 * Tells the others again and again that this node is there and how it is doing, until it is stopped. What cannot be written is
 * told the next time: that the store is away is said by those who need it.
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
    /** Resolves when the others know that this node has ended, or soon. */
    async stop(): Promise<void> {
      stopping.abort()
      const patience = new AbortController()
      await Promise.race([running, sleep(PATIENCE_MS, undefined, patience)])
      patience.abort()
    },
  }
}
