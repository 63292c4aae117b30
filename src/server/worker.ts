import cluster from 'node:cluster'
import type { Logger } from 'pino'
import type { Store } from '../domain/store.ts'
import { retire } from '../http/wire/connections.ts'
import { type EndSignal, endWell, listen, type ServerConfig } from './run.ts'

/** What a leader tells a worker: to end, or to say when no connection needs it any more. */
export type Order = 'close' | 'retire'

/** What a worker tells its leader when it listens. */
export interface Listening {
  address: string
}

/** What a worker tells its leader when no connection needs it any more. */
type Retired = 'retired'

/** Signals go to the whole group of processes on Ctrl-C, say. They are for the leader, who gives orders. */
const FOR_THE_LEADER: EndSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Answers requests until the leader says otherwise or is gone. */
export async function work(open: () => Promise<Store>, log: Logger, config: ServerConfig): Promise<void> {
  for (const signal of FOR_THE_LEADER) process.on(signal, () => {})
  try {
    const store = await open()
    const { app, address } = await listen(store, log, config)
    const close = async () => {
      await app.close()
      await store.close()
    }
    const end = endWell(log, close, { skip: FOR_THE_LEADER })
    process.on('message', async (order: Order) => {
      if (order === 'close') return end()
      await retire(app.server)
      // Not the end yet: a connection may be on its way from the leader, and is given back only while this process lives.
      process.send?.('retired' satisfies Retired)
    })
    process.send?.({ address } satisfies Listening)
  } catch (error) {
    // Else the process would wait for orders.
    cluster.worker?.disconnect()
    throw error
  }
}
