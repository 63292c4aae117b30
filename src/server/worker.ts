import cluster from 'node:cluster'
import type { Store } from '../domain/store.ts'
import { retire } from '../http/wire/connections.ts'
import { type ListenConfig, listenAndServe } from './listen.ts'
import { onLeaderMessage, tellLeader } from './messages.ts'
import { closeOnSignal, type OperatorSignal } from './signals.ts'
import type { Telemetry } from './telemetry.ts'

/** Signals may go to the whole group of processes (Ctrl-C). They are for the leader, which tells its workers what to do. */
const FOR_THE_LEADER: OperatorSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Answers requests until the leader says otherwise or is gone. */
export async function runWorker(open: () => Promise<Store>, telemetry: Telemetry, config: ListenConfig): Promise<void> {
  for (const signal of FOR_THE_LEADER) process.on(signal, () => {})
  try {
    const store = await open()
    const { app, address } = await listenAndServe(store, telemetry.observe, config)
    const close = async () => {
      await app.close()
      await store.close()
    }
    const end = closeOnSignal(telemetry, close, { skip: FOR_THE_LEADER })
    onLeaderMessage({
      close: end,
      retire: async () => {
        await retire(app.server)
        // It does not end yet: a connection may be on its way from the leader, and only a living process gives it back.
        tellLeader({ type: 'retired' })
      },
    })
    tellLeader({ type: 'listening', address })
  } catch (error) {
    // Otherwise the IPC channel keeps the process alive.
    cluster.worker?.disconnect()
    throw error
  }
}
