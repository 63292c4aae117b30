import cluster from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../domain/store.ts'
import { retire } from '../listener/protect.ts'
import { type ListenConfig, listenAndServe } from './listen.ts'
import { onLeaderMessage, tellLeader } from './messages.ts'
import { startReporting } from './reporting.ts'
import { CLOSE_TIMEOUT_MS, closeOnSignal, endProcess, type OperatorSignal, untilFilesRest } from './signals.ts'
import type { Telemetry } from './telemetry.ts'

/** Signals may go to the whole group of processes (Ctrl-C). They are for the leader, which tells its workers what to do. */
const FOR_THE_LEADER: OperatorSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Less than its leader has, which ends after its workers. */
const WORKER_CLOSE_TIMEOUT_MS = CLOSE_TIMEOUT_MS - 1000

/** How long operations on files may take when the leader is gone. */
const ORPHAN_TIMEOUT_MS = 1000

/** Answers requests until the leader says otherwise or is gone. */
export async function runWorker(open: () => Promise<Store>, telemetry: Telemetry, config: ListenConfig): Promise<void> {
  for (const signal of FOR_THE_LEADER) process.on(signal, () => {})
  process.prependListener('disconnect', endAsOrphan)
  const store = await open()
  const { app, address, load } = await listenAndServe(store, telemetry, config)
  const reporting = startReporting(telemetry.numbers, load)
  const close = async () => {
    await app.close()
    await store.close()
    await reporting.stop()
  }
  const { end } = closeOnSignal(telemetry, close, { signals: [], timeout: WORKER_CLOSE_TIMEOUT_MS })
  let isClosing = false
  onLeaderMessage({
    close() {
      // A second time to a worker that has retired, when the server ends meanwhile: that is no reason to hurry.
      if (!isClosing) end()
      isClosing = true
    },
    retire: async () => {
      await retire(app.server)
      // It does not end yet: a connection may be on its way from the leader, and only a living process gives it back.
      tellLeader({ type: 'retired' })
    },
    ping: () => tellLeader({ type: 'pong' }),
  })
  tellLeader({ type: 'listening', address })
}

/** Ends without a leader. Node.js would exit at once, which a disk that hangs holds up for ever. */
async function endAsOrphan(): Promise<void> {
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
  await Promise.race([untilFilesRest(), sleep(ORPHAN_TIMEOUT_MS)])
  endProcess(0)
}
