import cluster from 'node:cluster'
import type { Config } from '../config.ts'
import { VERSION } from '../version.ts'
import { type LeaderOptions, runLeader } from './leader.ts'
import { openStores } from './open-stores.ts'
import { run } from './run.ts'
import { createTelemetry } from './telemetry.ts'
import { keepTicksFast } from './ticks.ts'
import { runWorker } from './worker.ts'

/** How long a request waits for another process that has locked the store; then it gets a 503. */
const LOCK_TIMEOUT_MS = 2000

interface ServeOptions {
  isTTY: boolean
  settingsNow: LeaderOptions['settingsNow']
}

/** Migrates, listens, says when it is ready. With several WORKERS this process leads them and they answer. */
export async function serve(config: Config, { isTTY, settingsNow }: ServeOptions): Promise<void> {
  keepTicksFast()
  const { LOG_LEVEL, FAILURE_LIMIT: limitRefusals, WORKERS: workers } = config
  const counts = config.OPS_ADDRESS !== undefined || config.ADMIN_ADDRESS !== undefined
  const telemetry = await createTelemetry(LOG_LEVEL, { isTTY, shared: workers > 1, limitRefusals, counts })
  const options = { lockTimeout: LOCK_TIMEOUT_MS, recover: !cluster.isWorker, observe: telemetry.observe }
  const open = () => openStores(config, options, cluster.isWorker ? () => {} : telemetry.observe)

  if (cluster.isWorker) return runWorker(open, telemetry, config)
  if (workers === 1) telemetry.observe({ type: 'ready', version: VERSION, ...(await run(open, telemetry, config)) })
  else await runLeader(open, telemetry, { workers, settingsNow, config })
  void telemetry.flush()
}
