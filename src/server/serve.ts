import cluster from 'node:cluster'
import type { Config } from '../config.ts'
import { openStore } from '../store/open.ts'
import { runLeader } from './leader.ts'
import { run } from './run.ts'
import { createTelemetry } from './telemetry.ts'
import { keepTicksFast } from './ticks.ts'
import { runWorker } from './worker.ts'

/** How long a request waits for another process that has locked the store; then it gets a 503. */
const LOCK_TIMEOUT_MS = 2000

/** Migrates, listens, says when it is ready. With several WORKERS this process leads them and they answer. */
export async function serve(config: Config, { isTTY }: { isTTY: boolean }): Promise<void> {
  keepTicksFast()
  const { DATABASE_URL, LOG_LEVEL, WORKERS } = config
  const telemetry = await createTelemetry(LOG_LEVEL, { isTTY, shared: WORKERS > 1 })
  const open = () => openStore(DATABASE_URL, { lockTimeout: LOCK_TIMEOUT_MS })

  if (cluster.isWorker) return runWorker(open, telemetry, config)
  const store = await open()
  const { database } = store
  if (WORKERS === 1) telemetry.observe({ type: 'ready', address: await run(store, telemetry, config), database })
  else {
    const address = await runLeader(store, telemetry, WORKERS)
    telemetry.observe({ type: 'ready', address, database, workers: WORKERS })
  }
  void telemetry.flush()
}
