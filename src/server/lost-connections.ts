import type { Worker } from 'node:cluster'

interface Handle {
  close(): void
}

/**
 * Mends what Node.js leaves open: it hands a connection to a worker and keeps its own handle until the worker says that it
 * has got it. Where a worker ends before that, the handle stays in the leader, open and unanswered for ever. Here such a
 * connection goes to another worker, as one does that a worker gives back; nobody has read from it. Where there is no other
 * worker, it is closed.
 *
 * This knows the messages of Node.js's cluster module (lib/internal/cluster). Where they change, nothing is found here, and
 * such connections stay open as before.
 */
export function passOnLostConnections(worker: Worker, isAnotherListening: () => boolean): void {
  const { process: child } = worker
  const handed = new Map<number, Handle>()

  const send = child.send as (...args: unknown[]) => boolean
  child.send = (...args: unknown[]) => {
    const [message, handle] = args as [{ act?: unknown; seq?: unknown }, Handle | undefined]
    if (message.act === 'newconn' && typeof message.seq === 'number' && handle) handed.set(message.seq, handle)
    return send.apply(child, args)
  }
  child.on('internalMessage', ({ ack }: { ack?: number }) => {
    if (ack !== undefined) handed.delete(ack)
  })

  // By then all that it had said is read. Not 'disconnect', which does not come while a connection is on its way.
  child.once('close', () => {
    // Otherwise it may get connections still.
    worker.disconnect()
    for (const [seq, handle] of handed) {
      if (isAnotherListening()) child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack: seq, accepted: false })
      else handle.close()
    }
  })
}
